/**
 * The JUnit XML reader: elements in, results out, in memory that does not grow with the report.
 *
 * There is no one JUnit format, only what tools write: suites may be nested or missing. Unknown
 * elements are ignored outside of a `testcase`.
 */
import type { TestIdentity } from "../../base/identity.ts";
import { REPORT_LIMITS } from "../limits.ts";
import { excerpt, shorten } from "../report_error.ts";
import type { ReportedTool } from "../report_tool.ts";
import { otherXmlFormat } from "../other_formats.ts";
import {
  refuseUndecodable,
  type ReportOptions,
  ResultSink,
  type XmlFormatReader,
} from "../report_reader.ts";
import { isNegative } from "../result.ts";
import { detach, plural } from "../../base/text.ts";
import type { XmlReader } from "../xml/reader.ts";
import type { XmlAttributes } from "../xml/start_tag.ts";
import type { Dialect } from "./dialect.ts";
import { NameNormalizer } from "../normalize_names.ts";
import { ToolRecognizer } from "./recognize_tool.ts";
import { CaseOutcome, TestCase } from "../test_case.ts";
import { factsOf, outcomeKindOf, parseDuration, variantOfSuite } from "./case_attributes.ts";

// A broken reporter repeats its mistake for every test.
const MAX_NOTES = 100;

const DIGITS = /^\d*$/;
const FINE_TIME = /\.\d{4}/;
const THOUSANDS_SEPARATOR = /(?<=\d)[,.' ](?=\d{3}(\D|$))/g;

// Elements that report a failure.
const FAILURES: ReadonlySet<string> = new Set(["failure", "error"]);

// Attributes of open suites that are kept: their number, and the characters of each.
const MAX_ATTRIBUTES = 30;
const MAX_ATTRIBUTE_CHARACTERS = 1_000;
// Sums of rounded times differ by less.
const MIN_OVERHEAD_MICROSECONDS = 1_000;
// What tools write that do not know it.
const UNKNOWN_HOSTNAME = /^(?:localhost(?:\.localdomain)?|127\.0\.0\.1|unknown|none|tbd|n\/a|)$/i;
const MAX_NAME_CHARACTERS = 100;
// Of a line in the output of a suite.
const MAX_LINE_CHARACTERS = 1_000;
// Names of suites that are kept to number them.
const MAX_NAMES = 100_000;

/** A suite; the element around all suites is one without a name. */
interface Suite {
  /** Without what its dialect removes. */
  ownName: string;
  /** As tests have it; not known before the first test. */
  name: string | undefined;
  attributes: XmlAttributes;
  variant: number;
  /** Which suite of the report it is, from 0. */
  no: number;
  /** How many suites of this name precede it. */
  earlierCount: number;
  caseCount: number;
  hasProperties: boolean;
  /** File of this suite, or of the nearest suite around it that has one. */
  file: string;
  depth: number;
  /** Tests that its totals say it has, NaN if they do not. */
  declaredCases: number;
  /** Failures and errors that its totals say it has. */
  declaredCount: number;
  /** Failures and errors read before it. */
  countBefore: number;
  /** Attempts read before it. */
  attemptsBefore: number;
  /** Time of its tests and of the suites in it. */
  testMicroseconds: number;
  firstTest: TestIdentity | null;
  /** Whether its own tests have one file, and one class. */
  isOneFile: boolean;
  isOneClass: boolean;
}

/** The output of a suite, while it is read. */
interface SuiteOutput {
  /** What is a failure in it. */
  pattern: RegExp;
  depth: number;
  /** Its last line, as far as it is read. */
  rest: string;
  failure: string;
}

export class JUnitReader implements XmlFormatReader {
  readonly #xml: XmlReader;
  readonly #options: ReportOptions;
  readonly #sink: ResultSink;
  readonly #names: NameNormalizer;
  // How many elements are open, the outermost and the innermost included.
  #depth = 0;
  readonly #suites: Suite[] = [];
  /** `value` is `null` for a test without any name, which gives no result. */
  #testCase: { value: TestCase | null; depth: number; countBefore: number } | null = null;
  #outcome: { value: CaseOutcome; depth: number } | null = null;
  #suiteOutput: SuiteOutput | null = null;
  #failureCount = 0;
  /** Attempts that were read, and cases without any name. */
  #attemptCount = 0;
  readonly #recognizer: ToolRecognizer;
  #rootElement = "";
  #openedCount = 0;
  /** The suite that was closed last. */
  #latestSuite: Suite | null = null;
  readonly #suiteCounts = new Map<string, number>();
  /** File of the latest suite at the top that has one and no tests. */
  #rootSuiteFile = "";
  /** Machines that its suites name, at most two. */
  readonly #hostnames = new Set<string>();
  #hasFineTimes = false;
  #noteCount = 0;
  /** The greatest `tests` of a suite, or of all. */
  declaredCaseCount = 0;

  constructor(options: ReportOptions, xml: XmlReader) {
    this.#options = options;
    this.#recognizer = new ToolRecognizer(options.dialects);
    this.#names = new NameNormalizer(options.checkoutFolder, options.pathPrefix);
    this.#xml = xml;
    this.#sink = new ResultSink(options, (found) => xml.input.fail("limit", found, "fewer"));
  }

  get resultCount(): number {
    return this.#sink.resultCount;
  }

  get tool(): ReportedTool {
    const [hostname, ...others] = this.#hostnames;
    return {
      ...this.#recognizer.tool(this.#options.file),
      ...hostname !== undefined && others.length === 0 && { hostname },
    };
  }

  open(name: string, attributes: XmlAttributes): void {
    this.#depth++;
    if (this.#depth === 1) this.#rootElement = name;
    const other = this.#depth === 1 ? otherXmlFormat(name, attributes["xmlns"]) : undefined;
    if (this.#depth === 1 && (other || name !== "testsuites" && name !== "testsuite")) {
      this.#xml.input.fail(
        "not-junit",
        `<${shorten(name)}> as the outermost element${other ? `: ${other.name}` : ""}`,
        other?.instead ?? "<testsuites> or <testsuite>, as JUnit reports have it",
        this.#xml.elementPosition,
      );
    }
    if (this.#testCase) {
      if (name === "testcase") this.#note("a <testcase> inside another gives no result");
      if (this.#outcome) this.#openInOutcome(name);
      else this.#openInTestCase(name, attributes);
    } else if (name === "testcase") {
      this.#testCase = {
        value: this.#newTestCase(attributes),
        depth: this.#depth,
        countBefore: this.#failureCount,
      };
    } else if (name === "testsuite" || this.#depth === 1) {
      this.#openSuite(name, attributes);
    } else if (FAILURES.has(name.toLowerCase())) {
      if (this.#suites.at(-1)?.depth === this.#depth - 1) {
        this.#note(`<${name}> outside of a <testcase> gives no result`);
      }
      this.#failureOutside(`<${name}> outside of a <testcase>`);
    } else if (name === "property") {
      this.#recognizer.addProperty(attributes["name"]);
      const suite = this.#suites.at(-1);
      if (suite) suite.hasProperties = true;
    } else if (name === "system-out" && this.#suites.at(-1)!.depth === this.#depth - 1) {
      this.#openSuiteOutput(this.#suites.at(-1)!);
    }
  }

  close(): void {
    if (this.#outcome) this.#closeInOutcome();
    else if (this.#testCase?.depth === this.#depth) this.#closeTestCase(this.#testCase);
    else if (this.#testCase?.depth === this.#depth - 1) this.#xml.readText(null);
    else if (this.#suiteOutput?.depth === this.#depth) this.#closeSuiteOutput(this.#suiteOutput);
    else if (this.#suites.at(-1)?.depth === this.#depth) {
      const suite = this.#suites.pop()!;
      this.#latestSuite = suite;
      if (suite.caseCount === 0 && this.#suites.length === 1 && suite.file !== "") {
        this.#rootSuiteFile = suite.file;
      }
      this.#addOverhead(suite);
      this.#checkTotals(suite);
    }
    this.#depth--;
  }

  end(): void {
    const { replacementCount, firstReplacement } = this.#xml.input;
    if (!firstReplacement) return;
    const { line, column } = firstReplacement;
    this.#options.onNote?.(
      `${this.#options.file}:${line}:${column}: found a character that XML forbids or that cannot ` +
        `be decoded: replaced by U+FFFD (${replacementCount} in this file)`,
    );
  }

  #openSuiteOutput({ declaredCount }: Suite): void {
    const pattern = this.#recognizer.current?.failureInOutput;
    if (!pattern || declaredCount === 0) return;
    const output: SuiteOutput = { pattern, depth: this.#depth, rest: "", failure: "" };
    this.#suiteOutput = output;
    this.#xml.readText((text) => {
      const end = text.lastIndexOf("\n");
      if (end === -1) {
        // The beginning of a long line is enough.
        if (output.rest.length < MAX_LINE_CHARACTERS) output.rest += text;
      } else {
        output.failure ||= pattern.exec(output.rest + text.slice(0, end))?.[0] ?? "";
        output.rest = text.slice(end + 1);
      }
    });
  }

  #closeSuiteOutput({ pattern, rest, failure: earlier }: SuiteOutput): void {
    this.#suiteOutput = null;
    this.#xml.readText(null);
    const failure = earlier || (pattern.exec(rest)?.[0] ?? "");
    if (failure !== "") this.#failureOutside(`${excerpt(failure)} in the output of a suite`);
  }

  #addOverhead({ attributes, testMicroseconds, firstTest, isOneFile, isOneClass }: Suite): void {
    const time = parseDuration(attributes["time"]);
    const outer = this.#suites.at(-1);
    if (outer) outer.testMicroseconds += Math.max(time, testMicroseconds);
    const microseconds = time - testMicroseconds;
    if (!firstTest || microseconds < MIN_OVERHEAD_MICROSECONDS) return;
    // The suite of a tool that has one for all files says nothing about any of them.
    if (firstTest.file !== "" ? !isOneFile : !isOneClass) return;
    this.#options.onOverhead?.(firstTest, { microseconds, isOneClass });
  }

  // Some tools count a file that could not be loaded and report no test for it.
  #checkTotals(suite: Suite): void {
    const { declaredCases, declaredCount, countBefore, attemptsBefore, caseCount } = suite;
    if (caseCount > declaredCases) this.#recognizer.addSurplus(caseCount - declaredCases);
    const listed = this.#attemptCount - attemptsBefore;
    if (
      declaredCases > listed && !this.#recognizer.current?.hasOtherTotals &&
      declaredCases > listed + this.#skippedCount(suite)
    ) {
      this.#options.onUnlisted?.(
        `${this.#place}: ${plural(declaredCases, "test")} in the totals, ${listed} listed`,
      );
      this.#attemptCount += declaredCases - listed;
    }
    const count = this.#failureCount - countBefore;
    const isDoubled = this.#recognizer.current?.hasDoubleTotals === true;
    if (count >= (isDoubled ? Math.ceil(declaredCount / 2) : declaredCount)) return;
    this.#failureOutside(`${declaredCount} failures and errors in the totals, ${count} in tests`);
    this.#failureCount += declaredCount - count;
  }

  /** Some tools do not list skipped tests, and count them at the outermost element alone. */
  #skippedCount(suite: Suite): number {
    return Math.max(
      ...[...this.#suites, suite].map(({ attributes }) => skippedCount(attributes)),
    );
  }

  get #place(): string {
    const { line, column } = this.#xml.elementPosition;
    return `${this.#options.file}:${line}:${column}`;
  }

  #failureOutside(what: string): void {
    this.#options.onFailureOutside?.(`${this.#place}: ${what}`);
  }

  #note(what: string): void {
    this.#noteCount++;
    if (this.#noteCount > MAX_NOTES) return;
    const rest = this.#noteCount === MAX_NOTES ? "; further notes of this file are omitted" : "";
    this.#options.onNote?.(`${this.#place}: ${what}${rest}`);
  }

  #openSuite(element: string, attributes: XmlAttributes): void {
    const { tests, failures, errors } = attributes;
    const declaredCount = this.#readTotal(failures) + this.#readTotal(errors);
    const declaredCases = tests ? this.#readTotal(tests) : NaN;
    if (declaredCases > this.declaredCaseCount) this.declaredCaseCount = declaredCases;
    if (this.#suites.length === 1) this.#recognizer.startSuite();
    this.#hasFineTimes ||= FINE_TIME.test(attributes["time"] ?? "");
    // Only the totals of the element around all suites count.
    const { name = "", file, timestamp } = element === "testsuite" ? attributes : {};
    if (element === "testsuite") refuseUndecodable(this.#xml, element, attributes);
    const ownName = detach(this.#names.suite(name, timestamp));
    const earlierCount = this.#suiteCounts.get(ownName) ?? 0;
    if (this.#suiteCounts.size < MAX_NAMES) this.#suiteCounts.set(ownName, earlierCount + 1);
    this.#suites.push({
      ownName,
      name: undefined,
      attributes: isSmall(attributes) ? attributes : {},
      variant: variantOfSuite(attributes),
      no: this.#openedCount++,
      earlierCount,
      caseCount: 0,
      hasProperties: false,
      file: file ? detach(this.#names.path(file)) : this.#suites.at(-1)?.file ?? "",
      depth: this.#depth,
      declaredCases,
      declaredCount,
      countBefore: this.#failureCount,
      attemptsBefore: this.#attemptCount,
      testMicroseconds: 0,
      firstTest: null,
      isOneFile: true,
      isOneClass: true,
    });
  }

  /** A total of a suite, 0 without one. One that cannot be read may hide failures. */
  #readTotal(text = ""): number {
    const count = Number(
      DIGITS.test(text) ? text : text.trim().replaceAll(THOUSANDS_SEPARATOR, ""),
    );
    if (Number.isInteger(count) && count >= 0) return count;
    this.#failureOutside(`the total ${excerpt(text)} of a suite, expected a number`);
    return 0;
  }

  #newTestCase(attributes: XmlAttributes): TestCase | null {
    const dialect = this.#recognizer.known ?? this.#recognizer.recognize({
      rootElement: this.#rootElement,
      elements: this.#suites.map((suite) => suite.attributes),
      testCase: attributes,
      resultCount: this.#sink.resultCount,
    });
    const suite = this.#suites.at(-1)!;
    if (suite.caseCount++ === 0) {
      if (!dialect.hasOtherHostname) this.#addHostname(suite);
      const latest = this.#latestSuite;
      if (dialect.repeatsSuites && latest && isRepeated(latest, suite)) suite.no = latest.no;
    }
    if (dialect.hasNamelessCases && !attributes["name"] && !attributes["classname"]) {
      this.#note(
        "a <testcase> without name and classname, as after an interruption, is not a test",
      );
      return null;
    }
    const identity = this.#identityOf(attributes, dialect);
    if (identity.name !== "") {
      return new TestCase(
        identity,
        factsOf(attributes, dialect, {
          suiteNo: suite.no,
          suiteVariant: suite.variant + (dialect.hasProjects ? suite.earlierCount : 0),
          hasFineTimes: this.#hasFineTimes,
        }),
        dialect,
      );
    }
    this.#note("a <testcase> without name and classname, in a suite without a name, is skipped");
    return null;
  }

  #addHostname({ attributes: { hostname = "" } }: Suite): void {
    const name = hostname.trim();
    if (this.#hostnames.size > 1 || UNKNOWN_HOSTNAME.test(name)) return;
    if (name.length <= MAX_NAME_CHARACTERS) this.#hostnames.add(detach(name));
  }

  #identityOf(attributes: XmlAttributes, dialect: Dialect): TestIdentity {
    const { name, classname = "", file } = attributes;
    refuseUndecodable(this.#xml, "testcase", attributes);
    const suite = this.#suites.at(-1)!;
    suite.name ??= this.#suiteName(dialect);
    const className = this.#names.class(classname);
    const identity = {
      suite: suite.name,
      class: className,
      name: name ? this.#names.name(name) : className || suite.name,
      file: file
        ? this.#names.path(file)
        : suite.file || (dialect.hasFileInRootSuite ? this.#rootSuiteFile : ""),
    };
    const own = dialect.identity?.({ identity, suite: suite.attributes }) ?? identity;
    // Without it the suite says nothing about the time beyond its tests.
    if (suite.attributes["time"] !== undefined) noteTest(suite, own);
    return own;
  }

  /** The name of the innermost suite as its dialect has it. */
  #suiteName(dialect: Dialect): string {
    const { ownName } = this.#suites.at(-1)!;
    if (!dialect.suite) return ownName;
    const outer = this.#suites.slice(0, -1).map((suite) => suite.ownName);
    const names = { name: ownName, outer: outer.filter((name) => name !== "") };
    return detach(dialect.suite(names));
  }

  #openInTestCase(name: string, attributes: XmlAttributes): void {
    const isDirect = this.#depth === this.#testCase!.depth + 1;
    const kind = isDirect || name === "property"
      ? outcomeKindOf(this.#recognizer.current?.meaningOf?.(name, attributes) ?? name)
      : null;
    if (!kind) {
      const testCase = this.#testCase!.value;
      if (name === "system-out" && isDirect && testCase) {
        this.#xml.readText((text) => testCase.addOutput(text));
      }
      if (FAILURES.has(name.toLowerCase())) {
        this.#failureOutside(`<${name}> not directly in a <testcase>`);
      }
      return;
    }
    if (kind.conclusion === "unknown") {
      if (name !== "testcase") {
        this.#note(`<${shorten(name)}> in a <testcase> is unknown: it does not count as passed`);
      }
      this.#testCase!.value?.add(new CaseOutcome(kind, {}));
      return;
    }
    const outcome = new CaseOutcome(kind, {
      message: attributes["message"] ?? "",
      durationMicroseconds: parseDuration(attributes["time"]),
    });
    this.#outcome = { value: outcome, depth: this.#depth };
    this.#xml.readText((text) => outcome.text.add(text));
  }

  // Only the text of the outcome itself and of its stack trace counts, not the output of a retry.
  #openInOutcome(name: string): void {
    const { value, depth } = this.#outcome!;
    const isStackTrace = name === "stackTrace" && this.#depth === depth + 1;
    this.#xml.readText(isStackTrace ? (text) => value.stackTrace.add(text) : null);
  }

  #closeInOutcome(): void {
    const { value, depth } = this.#outcome!;
    if (this.#depth === depth) {
      this.#xml.readText(null);
      this.#outcome = null;
      this.#addOutcome(value);
    } else if (this.#depth === depth + 1) {
      this.#xml.readText((text) => value.text.add(text));
    }
  }

  #addOutcome(outcome: CaseOutcome): void {
    const testCase = this.#testCase!.value;
    testCase?.add(outcome);
    if (isNegative(outcome.kind.conclusion)) {
      this.#failureCount++;
      if (!testCase) this.#failureOutside("a failure of a <testcase> without a name");
    }
    const limit = REPORT_LIMITS.attemptCount;
    if (testCase && testCase.attemptCount > limit) {
      this.#xml.input.fail("limit", `more than ${limit} attempts of one test`, "fewer");
    }
  }

  #closeTestCase(
    { value: testCase, countBefore }: { value: TestCase | null; countBefore: number },
  ): void {
    this.#testCase = null;
    if (!testCase) {
      this.#attemptCount++;
      return;
    }
    const resultsBefore = this.#sink.resultCount;
    const microsecondsBefore = this.#sink.microseconds;
    const hasFailed = this.#sink.add(testCase);
    this.#suites.at(-1)!.testMicroseconds += this.#sink.microseconds - microsecondsBefore;
    this.#attemptCount += this.#sink.resultCount - resultsBefore;
    // By its status alone.
    if (hasFailed && this.#failureCount === countBefore) this.#failureCount++;
  }
}

/** Notes what the overhead of a suite is about. */
function noteTest(suite: Suite, test: TestIdentity): void {
  suite.firstTest ??= {
    suite: detach(test.suite),
    class: detach(test.class),
    name: detach(test.name),
    file: detach(test.file),
  };
  suite.isOneFile &&= test.file === suite.firstTest.file;
  suite.isOneClass &&= test.class === suite.firstTest.class;
}

// Of a suite, what its rounds may differ in.
const TOTALS: ReadonlySet<string> = new Set(
  ["tests", "failures", "errors", "skipped", "disabled", "assertions", "time"],
);

/** Whether the second of two suites that follow each other is the first once more. */
function isRepeated(first: Suite, second: Suite): boolean {
  const keysOf = ({ attributes }: Suite) =>
    Object.keys(attributes).filter((key) => !TOTALS.has(key)).sort();
  const keys = keysOf(first);
  return first.depth === second.depth && !first.hasProperties && !second.hasProperties &&
    keys.length > 0 && keys.join() === keysOf(second).join() &&
    keys.every((key) => first.attributes[key] === second.attributes[key]);
}

/** Tests that the totals of a suite say were skipped or disabled. */
function skippedCount({ skipped, disabled, ignored }: XmlAttributes): number {
  return [skipped, disabled, ignored].reduce((sum, text) => sum + (Number(text) || 0), 0);
}

function isSmall(attributes: XmlAttributes): boolean {
  const values = Object.values(attributes);
  return values.length <= MAX_ATTRIBUTES &&
    values.every((value) => value!.length <= MAX_ATTRIBUTE_CHARACTERS);
}
