// Tests: tests/lib/report/read_report_files_test.ts
/** What the readers of all formats of reports share. */
import type { TestIdentity } from "../base/identity.ts";
import type { ReportedTool } from "./report_tool.ts";
import type { TestCase } from "./test_case.ts";
import type { Dialect } from "./junit/dialect.ts";
import { REPORT_LIMITS } from "./limits.ts";
import { excerpt, limitError } from "./report_error.ts";
import { isNegative, PLAIN_CASE, type Reported, type TestResult } from "./result.ts";
import type { XmlHandler, XmlReader } from "./xml/reader.ts";
import type { XmlAttributes } from "./xml/start_tag.ts";

/** What a suite took beyond its tests. */
export interface SuiteOverhead {
  microseconds: number;
  /** Whether all tests of the suite have one class; otherwise they have one file. */
  isOneClass: boolean;
}

export interface ReportOptions {
  /** Path of the report, for errors and notes. */
  file: string;
  /** Called for each result, in order. Its strings may be slices of a chunk: copy what is kept. */
  onResult(result: TestResult, reported: Reported): void;
  /** Called with what was repaired or ignored, one line each. */
  onNote?(note: string): void;
  /**
   * Called with what and where for a failure or error that gives no result: one outside of a test, or
   * one that only the totals of a suite count.
   */
  onFailureOutside?(failure: string): void;
  /** Called with what and where for a suite whose totals declare more tests than it lists. */
  onUnlisted?(suite: string): void;
  /**
   * Called at the end of a suite of one file or class that took a millisecond or more beyond its tests, with
   * its first test.
   */
  onOverhead?(test: TestIdentity, overhead: SuiteOverhead): void;
  /** Where the repository was checked out: paths below it become paths inside the repository. */
  checkoutFolder?: string | undefined;
  /** The folder in the checkout that relative paths of files begin at. */
  pathPrefix?: string | undefined;
  /** How many more results the upload may have, after its other files. */
  maxResultCount?: number;
  /** The table of JUnit's dialects; empty to read every report as one of an unknown tool. */
  dialects?: readonly Dialect[];
}

/** Takes the text of one report in chunks. */
export interface ReportReader {
  write(text: string): void;
  /** Ends the report. @throws {ReportError} when it is not complete */
  end(): void;
  /** The number of results; each attempt counts. */
  readonly resultCount: number;
  /** The tool that wrote the report, which decides what equal cases are. */
  readonly tool: ReportedTool;
  /** The number of tests that its totals declare; absent when the format has none. */
  readonly declaredCaseCount?: number;
}

/** Takes the elements of one report in XML. */
export interface XmlFormatReader extends XmlHandler, Omit<ReportReader, "write"> {}

const FURTHER_ATTEMPT: Reported = { ...PLAIN_CASE, isNewCase: false };

/** Passes on the results of cases, and counts them. */
export class ResultSink {
  resultCount = 0;
  /** The sum of all durations. */
  microseconds = 0;
  readonly #options: ReportOptions;
  readonly #fail: (found: string) => never;

  /** @param fail throws the error of a limit, by default without a position */
  constructor(
    options: ReportOptions,
    fail = (found: string): never => {
      throw limitError(options.file, found);
    },
  ) {
    this.#options = options;
    this.#fail = fail;
  }

  /** Returns whether an attempt failed. @throws {ReportError} `limit` */
  add(testCase: TestCase): boolean {
    const { resultCount: limit } = REPORT_LIMITS;
    let hasFailed = false;
    let reported = testCase.reported;
    for (const result of testCase.results()) {
      hasFailed ||= isNegative(result.conclusion);
      this.resultCount++;
      this.microseconds += result.durationMicroseconds;
      if (this.resultCount > (this.#options.maxResultCount ?? limit)) {
        this.#fail(`more than ${limit} results in one upload`);
      }
      this.#options.onResult(result, reported);
      reported = FURTHER_ATTEMPT;
    }
    return hasFailed;
  }
}

/**
 * Refuses an element in whose names bytes were lost: as one U+FFFD stands for all of them, two tests
 * could become one. @throws {ReportError}
 */
export function refuseUndecodable(
  xml: XmlReader,
  element: string,
  attributes: XmlAttributes,
): void {
  const attribute = xml.undecodableName;
  if (attribute === undefined) return;
  xml.input.fail(
    "malformed",
    `bytes that cannot be decoded in ${attribute}=${excerpt(attributes[attribute] ?? "")} of a ` +
      `<${element}>`,
    "names in the encoding that the file declares, or in UTF-8 when it declares none",
    xml.elementPosition,
  );
}
