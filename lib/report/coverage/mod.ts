// Tests: tests/lib/report/coverage/refusal_test.ts tests/lib/report/growth_test.ts
/** Coverage reports in, covered lines and lines that can be covered out. */
import { otherFormat } from "../other_formats.ts";
import { excerpt, ReportError } from "../report_error.ts";
import { decodeXml } from "../xml/decode.ts";
import {
  type CoverageLimits,
  CoverageMap,
  type CoverageTotals,
  DEFAULT_COVERAGE_LIMITS,
} from "./coverage_map.ts";
import { CoverageFormatError, type FormatReader, notCoverage } from "./format_reader.ts";
import { FORMAT_NAMES, TEXT_FORMATS } from "./formats.ts";
import { JsonReader } from "./json.ts";
import { XmlCoverageReader } from "./xml.ts";

export { type CoverageLimits, type CoverageTotals, DEFAULT_COVERAGE_LIMITS };

const EXPECTED = `a coverage report (${FORMAT_NAMES.slice(0, -1).join(", ")} or ${
  FORMAT_NAMES.at(-1)
})`;

/** The format is recognized by this much of a report, after blank lines and comments. */
const BEGINNING_CHARACTERS = 1_024;

/**
 * Collects the coverage reports of one upload.
 *
 * Reports with lines are merged by source file and line: a line is covered when it is covered in
 * any report. Totals of reports without lines are added. Discard the collector after any error
 * except `not-coverage`: it contains part of the refused report.
 */
export class CoverageCollector {
  readonly #map: CoverageMap;

  constructor(limits: CoverageLimits = DEFAULT_COVERAGE_LIMITS) {
    this.#map = new CoverageMap(limits);
  }

  /**
   * Reads one report, whose format is recognized by its content. @throws {ReportError}
   * `not-coverage` when the file is something else; nothing of it was read
   */
  async add(bytes: AsyncIterable<Uint8Array>, { file }: { file: string }): Promise<void> {
    let reader: FormatReader | undefined;
    const preamble = new Preamble();
    let beginning = "";
    try {
      for await (const chunk of decodeXml(bytes, file)) {
        if (reader) {
          reader.write(chunk);
          continue;
        }
        beginning += beginning === "" ? preamble.skip(chunk) : chunk;
        if (beginning.length < BEGINNING_CHARACTERS) continue;
        reader = readerFor(beginning, this.#map, file);
        reader.write(beginning);
      }
      // Blanks alone are an empty report, which some tools leave behind.
      if (!reader && beginning !== "") {
        reader = readerFor(beginning, this.#map, file);
        reader.write(beginning);
      }
      reader?.end();
    } catch (error) {
      if (!(error instanceof CoverageFormatError)) throw error;
      const { kind, message } = error;
      const problem = kind === "not-coverage" ? `${message}, expected ${EXPECTED}` : message;
      const at = reader?.position;
      const position = at && { ...at, line: at.line + preamble.lineCount };
      throw new ReportError({ file, kind, problem, position });
    }
  }

  /** The merged totals of all reports so far. */
  totals(): CoverageTotals {
    return this.#map.totals();
  }
}

/** Blank lines and comments before a report, of any length. */
class Preamble {
  lineCount = 0;
  #isInComment = false;

  /** What follows them in a chunk, from the beginning of its line; `""` if nothing does. */
  skip(chunk: string): string {
    for (let at = 0; at < chunk.length;) {
      const end = chunk.indexOf("\n", at);
      const line = chunk.slice(at, end === -1 ? undefined : end).trimStart();
      if (!this.#isInComment && line !== "" && !line.startsWith("#")) return chunk.slice(at);
      this.#isInComment = end === -1 && (this.#isInComment || line !== "");
      if (end === -1) break;
      this.lineCount++;
      at = end + 1;
    }
    return "";
  }
}

function readerFor(beginning: string, map: CoverageMap, file: string): FormatReader {
  const head = beginning.trimStart();
  if (head.startsWith("<")) return new XmlCoverageReader(map, file);
  if (head.startsWith("{")) return new JsonReader(map);
  const [firstLine = ""] = head.split("\n", 1);
  const format = TEXT_FORMATS.find(({ start }) => start.test(firstLine));
  if (!format) throw notCoverage(otherFormat(head)?.name ?? excerpt(firstLine.trim()));
  return format.open(map);
}
