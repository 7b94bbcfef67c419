/**
 * The JUnit XML reader: bytes in, results out, in memory that does not grow with the report.
 *
 * There is no one JUnit format, only what tools write. Suites may be nested or missing, and whatever
 * is not known is passed over.
 */
import { detach } from "../xml/characters.ts";
import type { TestIdentity } from "../../base/identity.ts";
import { decodeXml } from "../xml/decode.ts";
import { DEFAULT_REPORT_LIMITS, type ReportLimits } from "../limits.ts";
import { quote, shorten } from "../report_error.ts";
import type { TestResult } from "../result.ts";
import { StableNames } from "./stable_names.ts";
import { type Attributes, Outcome, OUTCOME_KINDS, resultOfEmpty, TestCase } from "./test_case.ts";
import { XmlReader } from "../xml/reader.ts";
import type { XmlHandler } from "../xml/handler.ts";

/** What {@link readJUnit} needs besides the bytes. */
export interface JUnitOptions {
  /** What errors and notes call the report: its path. */
  file: string;
  /**
   * Called for each result, in the order of the report. Its name may be cut from the piece of the
   * report that is being read: who keeps it keeps that piece, unless it is copied.
   */
  onResult(result: TestResult): void;
  /** Called with what the reader had to repair, one line each. */
  onNote?(note: string): void;
  /** Other limits than the defaults. */
  limits?: Partial<ReportLimits>;
  /** Where the repository was checked out: paths below it become paths inside the repository. */
  checkoutFolder?: string | undefined;
  /** How many results other files of the same upload brought: they count for the limit. */
  earlierResultCount?: number;
}

/**
 * Reads one JUnit report to its end.
 *
 * @returns the number of results, in which each attempt of a test counts
 * @throws {ReportError} `malformed`, `not-junit` or `limit`; results that came before it were told
 */
export async function readJUnit(
  bytes: AsyncIterable<Uint8Array>,
  options: JUnitOptions,
): Promise<{ resultCount: number }> {
  const reader = new JUnitReader(options);
  for await (const piece of decodeXml(bytes, options.file)) reader.xml.write(piece);
  reader.xml.end();
  const { replacementCount: count, firstReplacement: first } = reader.xml;
  if (first) {
    options.onNote?.(
      `${options.file}:${first.line}:${first.column}: ${count} ` +
        `${count === 1 ? "character" : "characters"} that XML forbids or that cannot be decoded, ` +
        `the first here, ${count === 1 ? "was" : "were"} replaced by U+FFFD`,
    );
  }
  return { resultCount: reader.resultCount };
}

// What tests are told apart by.
const NAME_ATTRIBUTES: ReadonlySet<string> = new Set(["name", "classname", "file"]);

interface Suite {
  name: string;
  /** Of this suite or the nearest around it that has one. */
  file: string;
  depth: number;
}

const NO_SUITE: Suite = { name: "", file: "", depth: 0 };

// What a first upload often names by mistake, and what to name instead.
const HINTS: Readonly<Record<string, string>> = {
  "test-run": "; this is NUnit's own format, which its console or a converter writes as JUnit",
  "test-results": "; this is NUnit's own format, which its console or a converter writes as JUnit",
  "assemblies": "; this is xUnit.net's own format, which a converter or logger writes as JUnit",
  "TestRun": "; this is a TRX file, which the JUnit logger for dotnet test replaces",
  "failsafe-summary": "; the results are in the TEST-*.xml files beside it",
  "testng-results": "; TestNG writes JUnit reports into the folder junitreports",
};

class JUnitReader implements XmlHandler {
  readonly xml: XmlReader;
  resultCount = 0;

  readonly #options: JUnitOptions;
  readonly #limits: ReportLimits;
  // The path from the outermost element to the one that is being read.
  #depth = 0;
  readonly #suites: Suite[] = [];
  #testCase: { value: TestCase; depth: number } | null = null;
  #outcome: { value: Outcome; depth: number } | null = null;
  readonly #stable: StableNames;
  // Tests of a class stand together: the name that came last is kept once for all of them.
  readonly #lastClass = { written: "", stable: "" };
  readonly #lastFile = { written: "", stable: "" };

  constructor(options: JUnitOptions) {
    this.#options = options;
    this.#stable = new StableNames(options.checkoutFolder);
    this.#limits = { ...DEFAULT_REPORT_LIMITS, ...options.limits };
    this.xml = new XmlReader({
      file: options.file,
      limits: this.#limits,
      handler: this,
      nameAttributes: NAME_ATTRIBUTES,
    });
  }

  open(name: string, attributes: Attributes): void {
    this.#depth++;
    if (this.#depth === 1 && name !== "testsuites" && name !== "testsuite") {
      this.xml.fail(
        "not-junit",
        `<${shorten(name)}> as the outermost element`,
        "<testsuites> or <testsuite>, as JUnit reports have it" + (HINTS[name] ?? ""),
        this.xml.elementPosition,
      );
    }
    if (this.#outcome) this.#openInOutcome(name);
    else if (this.#testCase) this.#openInTestCase(name, attributes);
    else if (name === "testsuite") this.#openSuite(attributes);
    else if (name === "testcase") this.#openTestCase(attributes);
  }

  empty(name: string, attributes: Attributes): void {
    // As nearly all of a report: a test that passed at once.
    if (name === "testcase" && this.#depth > 0 && !this.#testCase) {
      this.#tell(resultOfEmpty(this.#identityOf(attributes), attributes));
    } else {
      this.open(name, attributes);
      this.close();
    }
  }

  close(): void {
    if (this.#outcome) this.#closeInOutcome();
    else if (this.#testCase?.depth === this.#depth) this.#closeTestCase(this.#testCase.value);
    else if (this.#suites.at(-1)?.depth === this.#depth) this.#suites.pop();
    this.#depth--;
  }

  #openSuite(attributes: Attributes): void {
    const { name = "", file, timestamp } = attributes;
    this.#refuseUndecodable("testsuite", attributes);
    const around = this.#suites.at(-1) ?? NO_SUITE;
    this.#suites.push({
      name: detach(this.#stable.suite(name, timestamp)),
      file: file ? detach(this.#stable.file(file)) : around.file,
      depth: this.#depth,
    });
  }

  #openTestCase(attributes: Attributes): void {
    const testCase = new TestCase(this.#identityOf(attributes), attributes);
    this.#testCase = { value: testCase, depth: this.#depth };
  }

  #identityOf(attributes: Attributes): TestIdentity {
    const { name, classname = "", file } = attributes;
    this.#refuseUndecodable("testcase", attributes);
    if (!name) {
      this.xml.fail(
        "malformed",
        name === "" ? 'a <testcase> with name=""' : "a <testcase> without a name",
        "each to have a name that tells it from the others",
        this.xml.elementPosition,
      );
    }
    const suite = this.#suites.at(-1) ?? NO_SUITE;
    if (classname !== this.#lastClass.written) {
      this.#lastClass.written = detach(classname);
      this.#lastClass.stable = detach(this.#stable.class(classname));
    }
    if (file && file !== this.#lastFile.written) {
      this.#lastFile.written = detach(file);
      this.#lastFile.stable = detach(this.#stable.file(file));
    }
    return {
      suite: suite.name,
      class: this.#lastClass.stable,
      name: this.#stable.name(name, suite.name, this.#lastClass.stable),
      file: file ? this.#lastFile.stable : suite.file,
    };
  }

  // What replaces lost bytes is the same for all of them: two tests could become one.
  #refuseUndecodable(element: string, attributes: Attributes): void {
    if (this.xml.undecodableAttributes.size === 0) return;
    for (const attribute of this.xml.undecodableAttributes) {
      if (!NAME_ATTRIBUTES.has(attribute)) continue;
      this.xml.fail(
        "malformed",
        `bytes that cannot be decoded in ${attribute}=${quote(attributes[attribute] ?? "")} of a ` +
          `<${element}>`,
        "names in the encoding that the file declares, or in UTF-8 when it declares none",
        this.xml.elementPosition,
      );
    }
  }

  #openInTestCase(name: string, attributes: Attributes): void {
    const kind = OUTCOME_KINDS.get(name);
    if (!kind || this.#depth !== this.#testCase!.depth + 1) return;
    const outcome = new Outcome(kind, attributes);
    this.#outcome = { value: outcome, depth: this.#depth };
    this.xml.readText((piece) => outcome.text.add(piece));
  }

  // Only the text of the outcome itself and of its stack trace matters, not that of the output that
  // retries carry along.
  #openInOutcome(name: string): void {
    const { value, depth } = this.#outcome!;
    const isStackTrace = name === "stackTrace" && this.#depth === depth + 1;
    this.xml.readText(isStackTrace ? (piece) => value.stackTrace.add(piece) : null);
  }

  #closeInOutcome(): void {
    const { value, depth } = this.#outcome!;
    if (this.#depth === depth) {
      this.xml.readText(null);
      this.#outcome = null;
      this.#addOutcome(value);
    } else if (this.#depth === depth + 1) {
      this.xml.readText((piece) => value.text.add(piece));
    }
  }

  #addOutcome(outcome: Outcome): void {
    const testCase = this.#testCase!.value;
    testCase.add(outcome);
    if (testCase.attemptCount <= this.#limits.attemptCount) return;
    const limit = this.#limits.attemptCount;
    this.xml.fail("limit", `more than ${limit} attempts of one test`, "fewer");
  }

  #closeTestCase(testCase: TestCase): void {
    this.#testCase = null;
    for (const result of testCase.results()) this.#tell(result);
  }

  #tell(result: TestResult): void {
    this.resultCount++;
    const { resultCount: limit } = this.#limits;
    if (this.resultCount + (this.#options.earlierResultCount ?? 0) > limit) {
      this.xml.fail("limit", `more than ${limit} results in one upload`, "fewer");
    }
    this.#options.onResult(result);
  }
}
