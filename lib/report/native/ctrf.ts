// Tests: tests/lib/report/archive/contents_test.ts tests/lib/report/native/formats_test.ts
/** CTRF, the Common Test Report Format: https://ctrf.io. */
import type { TestIdentity } from "../../base/identity.ts";
import type { ReportedTool } from "../report_tool.ts";
import { type NamedTest, NameNormalizer } from "../normalize_names.ts";
import { REPORT_LIMITS } from "../limits.ts";
import { limitError, ReportError } from "../report_error.ts";
import { type ReportOptions, type ReportReader, ResultSink } from "../report_reader.ts";
import { caseOf, FORMATS, type Outcome, toolOf } from "./format.ts";
import { JsonStream } from "./json_stream.ts";
import { arrayIn, isWhole, malformed, nameIn, numberIn, objectIn, textIn } from "./json_text.ts";
import { Totals } from "./totals.ts";

const MILLISECONDS = 1_000;

type Test = Readonly<Record<string, unknown>>;

/** How the names of a test in CTRF become the names in its tool's JUnit report. */
type Names = (test: { name: string; suite: string[]; file: string }) => TestIdentity;

const NAMES: ReadonlyMap<string, Names> = new Map<string, Names>([
  ["jest", ({ name, file }) => ({ suite: "", class: name, name, file })],
  ["vitest", ({ name, file }) => ({ suite: file, class: file, name, file })],
  ["playwright", playwrightNames],
]);

export class CtrfReader implements ReportReader {
  readonly tool: ReportedTool;
  readonly #options: ReportOptions;
  readonly #json: JsonStream;
  readonly #sink: ResultSink;
  readonly #names: NameNormalizer;
  readonly #totals: Totals;
  /** The totals with their line; `null` without any. */
  #summary: { totals: Test; line: number } | null = null;
  #toolName = "";
  #isCtrf = false;

  constructor(options: ReportOptions) {
    this.#options = options;
    this.tool = toolOf(FORMATS.ctrf, options.file);
    this.#sink = new ResultSink(options);
    this.#names = new NameNormalizer(options.checkoutFolder, options.pathPrefix);
    this.#totals = new Totals(options);
    this.#json = new JsonStream(options.file, {
      "results.tool": (tool) => this.#readTool(objectIn(tool)),
      "results.summary": (summary, line) => {
        this.#summary = { totals: objectIn(summary), line };
      },
      "results.tests[]": (test, line) => this.#readTest(objectIn(test), line),
    });
  }

  get resultCount(): number {
    return this.#sink.resultCount;
  }

  write(text: string): void {
    this.#json.write(text);
  }

  end(): void {
    this.#json.end();
    if (this.#isCtrf) return this.#checkTotals();
    throw new ReportError({
      file: this.#options.file,
      kind: "not-junit",
      problem:
        "found JSON without results.tool, expected CTRF (https://ctrf.io), `go test -json`, " +
        "or a JUnit report in XML",
      position: { line: 1, column: 1 },
    });
  }

  #checkTotals(): void {
    if (!this.#summary) return;
    const { totals, line } = this.#summary;
    this.#totals.check({ tests: totals["tests"], failures: [totals["failed"]] }, String(line));
  }

  #readTool({ name }: Test): void {
    this.#isCtrf = true;
    this.#toolName = textIn(name).toLowerCase();
  }

  #readTest(test: Test, line: number): void {
    const named = this.#namesOf(test, line);
    const status = statusOf(test);
    const outcomes = [...this.#attemptsOf(test, status), ...endingOf(test, status)];
    this.#totals.testCount++;
    this.#totals.failureCount +=
      outcomes.filter(({ conclusion }) => conclusion !== "skipped").length;
    this.#sink.add(caseOf(named, FORMATS.ctrf, {
      seconds: numberIn(test["duration"]) / MILLISECONDS,
      // Any other word leaves the outcome open.
      conclusion: outcomes.length > 0 || status === "passed" ? "passing" : "unknown",
      outcomes,
      endsLast: true,
      output: arrayIn(test["stdout"]).map(textIn).join("\n"),
    }));
  }

  #namesOf({ name, suite, filePath }: Test, line: number): NamedTest {
    // Older versions join the names of suites.
    const suites = typeof suite === "string"
      ? nameIn(suite).split(" > ")
      : arrayIn(suite).map(nameIn);
    const names = [nameIn(name), nameIn(filePath), ...suites];
    const { file } = this.#options;
    const { nameCharacters } = REPORT_LIMITS;
    if (names.some((each) => each.length > nameCharacters)) {
      throw limitError(file, "a name", `at most ${nameCharacters} characters`);
    }
    if (names[0] === "") throw malformed(file, line, "a test without a name", "a name");
    if (!names.every(isWhole)) throw malformed(file, line, names[0]!, "names in UTF-8");
    return this.#names.test((NAMES.get(this.#toolName) ?? plainNames)({
      name: names[0]!,
      suite: suites.filter((each) => each !== ""),
      file: this.#names.path(names[1]!),
    }));
  }

  /** The failed attempts before the last. */
  #attemptsOf({ retries, retryAttempts, message }: Test, status: string): Outcome[] {
    const listed = arrayIn(retryAttempts).map(objectIn);
    const count = Math.floor(numberIn(retries));
    const limit = REPORT_LIMITS.attemptCount;
    if (Math.max(count, listed.length) > limit) {
      throw limitError(this.#options.file, `more than ${limit} attempts of one test`);
    }
    if (listed.length > 0) {
      // Some list the last attempt as well.
      const last = listed.at(-1)!;
      const isLast = statusOf(last) === status &&
        (status === "passed" || textIn(last["message"]) === textIn(message));
      const isWhole = count > 0 ? listed.length > count : isLast;
      return (isWhole ? listed.slice(0, -1) : listed)
        .filter((attempt) => statusOf(attempt) === "failed")
        .map((attempt) => ({
          conclusion: "failure",
          isAttempt: true,
          ...textsOf(attempt),
          seconds: numberIn(attempt["duration"]) / MILLISECONDS,
        }));
    }
    const hasFailed = status === "passed" || status === "failed";
    return hasFailed
      ? Array.from({ length: count }, () => ({ conclusion: "failure", isAttempt: true }))
      : [];
  }
}

/** Words of tools for a failure, where they call it `other`. */
const FAILED = /^(?:failed|failure|error|errored|broken|crashed|timed ?out)$/i;

function statusOf({ status, rawStatus }: Test): string {
  const text = textIn(status);
  return text === "other" && FAILED.test(textIn(rawStatus)) ? "failed" : text;
}

function endingOf(test: Test, status: string): Outcome[] {
  if (status === "failed") return [{ conclusion: "failure", ...textsOf(test) }];
  const isSkipped = status === "skipped" || status === "pending" ||
    status === "other" && textIn(test["rawStatus"]) === "todo";
  return isSkipped ? [{ conclusion: "skipped" }] : [];
}

function textsOf({ message, trace }: Test): Pick<Outcome, "message" | "text"> {
  return { message: textIn(message), text: textIn(trace) };
}

function plainNames({ name, suite, file }: { name: string; suite: string[]; file: string }) {
  return { suite: suite.join(" > "), class: "", name, file };
}

/** Suites are the project, the file, and titles. */
function playwrightNames(
  { name, suite, file }: { name: string; suite: string[]; file: string },
): TestIdentity {
  const at = suite.findIndex((each) => file.replaceAll("\\", "/").endsWith(each));
  if (at === -1) return plainNames({ name, suite, file });
  const project = suite.slice(0, at).map((each) => `[${each}] `).join("");
  const title = [...suite.slice(at + 1), name].join(" › ");
  return { suite: suite[at]!, class: suite[at]!, name: project + title, file: "" };
}
