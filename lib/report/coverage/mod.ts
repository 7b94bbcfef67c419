/** Coverage reports in, covered lines and lines that can be covered out. */
import { decodeXml } from "../xml/decode.ts";
import { quote, ReportError } from "../report_error.ts";
import { CoverageMap, type CoverageTotals } from "./coverage_map.ts";
import { addGoLine, beginsGoProfile } from "./go.ts";
import { type JsonFormat, readJson } from "./json.ts";
import { beginsLcov, LcovReader } from "./lcov.ts";
import { type CoverageLimits, DEFAULT_COVERAGE_LIMITS } from "./limits.ts";
import { readLines } from "./lines.ts";
import { NotCoverageError } from "./refusal.ts";
import { readXml, type XmlFormat } from "./xml.ts";

export { type CoverageTotals } from "./coverage_map.ts";
export { type CoverageLimits, DEFAULT_COVERAGE_LIMITS } from "./limits.ts";
export { NotCoverageError } from "./refusal.ts";

/** How a report was read; `empty` is a file without anything in it, as some tools leave behind. */
export type CoverageFormat = XmlFormat | JsonFormat | "lcov" | "go" | "empty";

/**
 * Collects the coverage reports of one upload.
 *
 * Reports with lines are merged by source file and line: a line is covered when it is covered in
 * any report. Totals of reports without lines are added. Discard the collector after any error
 * except {@link NotCoverageError}: it contains part of the refused report.
 */
export class CoverageCollector {
  readonly #map: CoverageMap;

  constructor(limits: Readonly<CoverageLimits> = DEFAULT_COVERAGE_LIMITS) {
    this.#map = new CoverageMap(limits);
  }

  /**
   * Reads one report, whose format is recognized by its content. @throws {NotCoverageError} when
   * the file is something else, {ReportError} when it is broken or exceeds a limit
   */
  async add(
    bytes: AsyncIterable<Uint8Array>,
    { file }: { file: string },
  ): Promise<CoverageFormat> {
    const chunks = decodeXml(bytes, file);
    try {
      return await this.#read(chunks, file);
    } finally {
      // Closes the file also when reading ended early.
      await chunks.return();
    }
  }

  /** The merged totals of all reports so far. */
  totals(): CoverageTotals {
    return this.#map.totals();
  }

  async #read(chunks: AsyncGenerator<string, void>, file: string): Promise<CoverageFormat> {
    const map = this.#map;
    const { head, all } = await peek(chunks, { file, limits: map.limits });
    const [firstLine = ""] = head.replace(/^(?:#.*\n\s*)+/, "").split("\n", 1);
    if (head === "") return "empty";
    if (head.startsWith("<")) return await readXml(all, map, file);
    if (head.startsWith("{")) return await readJson(all, map, file);
    if (beginsGoProfile(firstLine)) {
      const take = (line: string) => addGoLine(line, map);
      await readLines(all, { take }, { file, limits: map.limits });
      return "go";
    }
    if (beginsLcov(firstLine)) {
      await readLines(all, new LcovReader(map), { file, limits: map.limits });
      return "lcov";
    }
    throw new NotCoverageError({ file, found: quote(firstLine.trim()) });
  }
}

// Enough to recognize the format of a text report.
const HEAD_CHARACTERS = 100;

/**
 * Looks at the beginning of a text without consuming it: the first characters without leading
 * blanks, and all chunks from the first.
 */
async function peek(
  chunks: AsyncGenerator<string, void>,
  options: { file: string; limits: CoverageLimits },
): Promise<{ head: string; all: AsyncGenerator<string, void> }> {
  const { file, limits } = options;
  const seen: string[] = [];
  let beginning = "";
  let head = "";
  while (head.length < HEAD_CHARACTERS) {
    const { value, done } = await chunks.next();
    if (done) break;
    seen.push(value);
    beginning += value;
    head = beginning.trimStart();
    if (head === "" && beginning.length > limits.tokenCharacters) {
      const problem = `found more than ${limits.tokenCharacters} blanks, expected a report`;
      throw new ReportError({ file, kind: "limit", problem });
    }
  }
  return { head, all: replay() };

  async function* replay(): AsyncGenerator<string, void> {
    yield* seen;
    yield* chunks;
  }
}
