// Tests: tests/lib/report/read_report_files_test.ts tests/lib/report/report_advice_test.ts
/** Reads reports of any format, which is recognized by content and not by name. */
import { plural } from "../base/text.ts";
import type { ReportedTool } from "./report_tool.ts";
import { JUnitReader } from "./junit/read_junit.ts";
import { CtrfReader } from "./native/ctrf.ts";
import { GoTestReader } from "./native/go_test.ts";
import { NUnitReader } from "./native/nunit.ts";
import { TrxReader } from "./native/trx.ts";
import { type OtherFormat, otherFormat } from "./other_formats.ts";
import { ReportError } from "./report_error.ts";
import type { ReportOptions, ReportReader, XmlFormatReader } from "./report_reader.ts";
import { decodeXml } from "./xml/decode.ts";
import { type XmlHandler, XmlReader } from "./xml/reader.ts";
import type { XmlAttributes } from "./xml/start_tag.ts";

// What precedes the events of `go test -json`, such as downloads and errors of the compiler.
const HEAD_CHARACTERS = 64 * 1024;

const GO_EVENT = /^\{(?=[^\n]*"Action":")"(?:Time|Action|ImportPath|Package)":/m;

/**
 * Reads one report to its end: JUnit, TRX, NUnit 3, CTRF or `go test -json`. Returns the number of
 * results, in which each attempt counts, and the tool that wrote it.
 * @throws {ReportError}, after `onResult` was called for the results before it
 */
export async function readReport(
  bytes: AsyncIterable<Uint8Array>,
  options: ReportOptions,
): Promise<{ resultCount: number; tool: ReportedTool }> {
  let reader: ReportReader | undefined;
  let head = "";
  // JSON has the same byte order marks, and no declaration.
  for await (const chunk of decodeXml(bytes, options.file)) {
    if (reader) {
      reader.write(chunk);
    } else {
      head += chunk;
      reader = readerFor(head, options, head.length < HEAD_CHARACTERS);
      reader?.write(head);
    }
  }
  if (!reader) {
    reader = readerFor(head, options, false)!;
    reader.write(head);
  }
  reader.end();
  if (reader.resultCount === 0) {
    const { declaredCaseCount = 0 } = reader;
    const declared = declaredCaseCount > 0 &&
      `, although it declares ${plural(declaredCaseCount, "test")}`;
    options.onNote?.(`${options.file}: found no test result${declared || ""}`);
  }
  return { resultCount: reader.resultCount, tool: reader.tool };
}

/** The reader for a report with this beginning; `undefined` if more of it is needed. */
function readerFor(
  head: string,
  options: ReportOptions,
  isMoreToCome: boolean,
): ReportReader | undefined {
  const first = head.trimStart().charAt(0);
  if (first === "<") return new XmlReportReader(options);
  if (GO_EVENT.test(head)) return new GoTestReader(options);
  // The same decision whatever the chunks.
  if (isMoreToCome) return undefined;
  const other = otherFormat(head);
  if (other) throw otherFormatError(options.file, other);
  return first === "{" ? new CtrfReader(options) : new XmlReportReader(options);
}

function otherFormatError(
  file: string,
  { name, instead, isCompressed }: OtherFormat,
): ReportError {
  return new ReportError({
    file,
    kind: isCompressed ? "malformed" : "not-junit",
    problem: `found ${name}, expected ${instead}`,
    position: { line: 1, column: 1 },
  });
}

const CTRF_RESULTS = /^\s*\{[^]*?"results"\s*:\s*\{/;

/** Whether a file with this beginning is a report, except for XML of another kind. */
export function looksLikeReport(head: string): boolean {
  return /<(?:testsuites?|TestRun|test-run)[\s>/]/.test(head) || GO_EVENT.test(head) ||
    CTRF_RESULTS.test(head);
}

const XML_REPORT =
  /^\s*(?:(?:<\?[^>]*>|<!--(?:(?!-->)[^])*-->|<!DOCTYPE[^>]*>)\s*)*<(?:testsuites?|TestRun|test-run)[\s>/]/;

/** Only CTRF has one of these in its `results`. */
const CTRF_FIELD =
  /"(?:tool"\s*:\s*\{[^{}]*"name|summary"\s*:\s*\{[^{}]*"tests|tests"\s*:\s*\[\s*\{[^{}]*"status)"\s*:/;

/** Whether a file with this beginning is a report, whatever its name and where it lies. */
export function beginsReport(head: string): boolean {
  if (XML_REPORT.test(head) || GO_EVENT.test(head)) return true;
  const results = CTRF_RESULTS.exec(head);
  return results !== null && CTRF_FIELD.test(head.slice(results[0].length));
}

/** The formats in XML by their outermost element; any other is refused by the reader of JUnit. */
const XML_FORMATS: ReadonlyMap<
  string,
  new (options: ReportOptions, xml: XmlReader) => XmlFormatReader
> = new Map<string, new (options: ReportOptions, xml: XmlReader) => XmlFormatReader>([
  ["TestRun", TrxReader],
  ["test-run", NUnitReader],
]);

class XmlReportReader implements ReportReader, XmlHandler {
  readonly #options: ReportOptions;
  readonly #xml: XmlReader;
  #reader: XmlFormatReader | undefined;

  constructor(options: ReportOptions) {
    this.#options = options;
    this.#xml = new XmlReader(options.file, this);
  }

  get resultCount(): number {
    return this.#reader!.resultCount;
  }

  get tool(): ReportedTool {
    return this.#reader!.tool;
  }

  get declaredCaseCount(): number {
    return this.#reader!.declaredCaseCount ?? 0;
  }

  write(text: string): void {
    this.#xml.write(text);
  }

  open(name: string, attributes: XmlAttributes): void {
    if (!this.#reader) {
      const Format = XML_FORMATS.get(name) ?? JUnitReader;
      this.#reader = new Format(this.#options, this.#xml);
    }
    this.#reader.open(name, attributes);
  }

  close(name: string): void {
    this.#reader!.close(name);
  }

  /** `cargo test` writes a document for each of its binaries to one output. */
  takesAnother(): boolean {
    return this.#reader instanceof JUnitReader;
  }

  end(): void {
    // Without an element it throws.
    this.#xml.end();
    this.#reader!.end();
  }
}
