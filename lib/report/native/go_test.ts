// Tests: tests/lib/report/archive/contents_test.ts tests/lib/report/native/formats_test.ts
/** `go test -json`: one event in each line, among lines of other tools. */
import type { ReportedTool } from "../report_tool.ts";
import { GO_FAILURE_OUTSIDE } from "../go_output.ts";
import { TextEnd } from "../bounded_text.ts";
import { type NamedTest, NameNormalizer } from "../normalize_names.ts";
import { REPORT_LIMITS } from "../limits.ts";
import { excerpt, limitError } from "../report_error.ts";
import { type ReportOptions, type ReportReader, ResultSink } from "../report_reader.ts";
import { caseOf, FORMATS, type Outcome, toolOf } from "./format.ts";
import { isWhole, malformed, nameIn, numberIn, textIn } from "./json_text.ts";

/** A test that began. */
interface RunningTest {
  packageName: string;
  name: string;
  output: TextEnd;
  /** Whether its output has a data race, which may be of something else that ran at the time. */
  hasRace: boolean;
}

/** A package that began. */
interface OpenPackage {
  hasFailedTest: boolean;
  /** Whether anything was written outside of its tests; some keep no output. */
  hasOutput: boolean;
  /** Whether it wrote that its tests are done and that one failed, which is the last thing they do. */
  saysFailed: boolean;
  /** What failed in it outside of a test, with its place; `""` if nothing says so. */
  outside: string;
}

interface Event {
  Action?: unknown;
  Package?: unknown;
  Test?: unknown;
  Output?: unknown;
  Elapsed?: unknown;
  /** What was built, in place of a package. */
  ImportPath?: unknown;
  /** The build whose failure let a package fail. */
  FailedBuild?: unknown;
}

const OUTCOMES: ReadonlyMap<string, Outcome["conclusion"] | "passing"> = new Map([
  ["pass", "passing"],
  ["bench", "passing"],
  ["fail", "failure"],
  ["skip", "skipped"],
]);

// The events of a package, without a test, that end it.
const PACKAGE_ENDS: ReadonlySet<string> = new Set(["pass", "fail", "skip"]);
const NOT_BUILT = /^FAIL\s+(\S+) \[(?:build|setup) failed\]/;

const DATA_RACE = "WARNING: DATA RACE";
/** Of `m.Run`, maybe after something that has no line end. */
const TESTS_FAILED = /FAIL$/m;
/** Of a process whose tests were done: failed tests are 1. */
const OTHER_EXIT = /^exit status (?!1$).*/m;

/** Builds whose output is kept; the packages of others are named without it. */
const MAX_BUILDS = 1_000;

export class GoTestReader implements ReportReader {
  readonly tool: ReportedTool;
  readonly #options: ReportOptions;
  readonly #sink: ResultSink;
  readonly #names: NameNormalizer;
  /** By package and name. */
  readonly #running = new Map<string, RunningTest>();
  /** Packages that began and did not end. */
  readonly #openPackages = new Map<string, OpenPackage>();
  /** Packages that were not built, each of which is a result. */
  readonly #notBuilt = new Set<string>();
  /** What compilers wrote, by build. */
  readonly #builds = new Map<string, TextEnd>();
  /** Builds that failed, whose packages are not known yet. */
  readonly #failedBuilds = new Set<string>();
  #rest = "";
  #line = 0;

  constructor(options: ReportOptions) {
    this.#options = options;
    this.#sink = new ResultSink(options);
    this.#names = new NameNormalizer(options.checkoutFolder, options.pathPrefix);
    this.tool = toolOf(FORMATS.goTest, options.file);
  }

  get resultCount(): number {
    return this.#sink.resultCount;
  }

  write(text: string): void {
    // Only what has a whole line is cut: a long line would be searched with each piece that belongs to it.
    const lines = text.includes("\n") ? (this.#rest + text).split("\n") : [this.#rest + text];
    this.#rest = lines.pop()!;
    if (this.#rest.length > REPORT_LIMITS.attributeCharacters) {
      const limit = REPORT_LIMITS.attributeCharacters;
      throw limitError(this.#options.file, `a line of more than ${limit} characters`);
    }
    for (const line of lines) this.#readLine(line);
  }

  end(): void {
    if (this.#rest.trim() !== "") this.#readLine(this.#rest, "incomplete");
    // The output was cut off, or go was killed.
    for (const test of this.#running.values()) this.#add(test, "failure", 0);
    for (const [packageName, { outside }] of this.#openPackages) {
      this.#options.onUnlisted?.(`${this.#place}: package ${excerpt(packageName)} did not end`);
      if (outside !== "") this.#options.onFailureOutside?.(outside);
    }
    for (const _ of this.#failedBuilds) this.#failureOutside("a package did not compile");
  }

  #readLine(line: string, errorKind?: "incomplete"): void {
    this.#line++;
    if (!line.startsWith("{")) {
      // Go before 1.24 says it outside of the events.
      const packageName = NOT_BUILT.exec(line)?.[1];
      if (packageName !== undefined) this.#packageNotBuilt(packageName, line);
      return;
    }
    let event: Event;
    try {
      event = JSON.parse(line);
    } catch {
      const expected = "one event of go test -json in a line";
      throw malformed(this.#options.file, this.#line, line, expected, errorKind);
    }
    const action = textIn(event.Action);
    const packageName = nameIn(event.Package);
    const name = nameIn(event.Test);
    if (action === "build-output") {
      this.#buildOutput(nameIn(event.ImportPath), textIn(event.Output));
    } else if (action === "build-fail") this.#failedBuilds.add(nameIn(event.ImportPath));
    else if (packageName === "") return;
    else if (name !== "") this.#testEvent(action, { packageName, name, event });
    else if (action === "fail") {
      const build = nameIn(event.FailedBuild);
      if (build === "") this.#packageFailed(packageName);
      else this.#packageNotBuilt(packageName, this.#builds.get(build)?.toString() ?? "");
      this.#failedBuilds.delete(build);
    } else if (PACKAGE_ENDS.has(action)) this.#openPackages.delete(packageName);
    else this.#packageOutput(packageName, textIn(event.Output));
  }

  #packageOf(packageName: string): OpenPackage {
    let own = this.#openPackages.get(packageName);
    if (!own) {
      own = { hasFailedTest: false, hasOutput: false, saysFailed: false, outside: "" };
      this.#openPackages.set(packageName, own);
    }
    return own;
  }

  /** What it writes outside of its tests; `""` of an event without output. */
  #packageOutput(packageName: string, text: string): void {
    const own = this.#packageOf(packageName);
    if (text === "") return;
    own.hasOutput = true;
    const match = GO_FAILURE_OUTSIDE.exec(text) ?? (own.saysFailed ? OTHER_EXIT.exec(text) : null);
    if (match) this.#noteOutside(packageName, excerpt(match[0]));
    own.saysFailed ||= TESTS_FAILED.test(text);
  }

  #noteOutside(packageName: string, what: string): void {
    this.#packageOf(packageName).outside ||=
      `${this.#place}: ${what} outside of a test in package ${excerpt(packageName)}`;
  }

  get #place(): string {
    return `${this.#options.file}:${this.#line}`;
  }

  #failureOutside(what: string): void {
    this.#options.onFailureOutside?.(`${this.#place}: ${what}`);
  }

  #testEvent(
    action: string,
    { packageName, name, event }: { packageName: string; name: string; event: Event },
  ): void {
    const key = `${packageName}\0${name}`;
    let test = this.#running.get(key);
    if (!test) {
      this.#checkNames(packageName, name);
      test = { packageName, name, output: new TextEnd(), hasRace: false };
      if (this.#running.size >= REPORT_LIMITS.resultCount) {
        throw limitError(this.#options.file, "more tests at a time than results in one upload");
      }
      this.#running.set(key, test);
    }
    if (action === "output") {
      const text = textIn(event.Output);
      test.output.add(text);
      test.hasRace ||= text.includes(DATA_RACE);
    }
    const own = this.#packageOf(packageName);
    const outcome = OUTCOMES.get(action);
    if (outcome === undefined) return;
    this.#running.delete(key);
    if (outcome === "failure") own.hasFailedTest = true;
    // The test that had it would have failed.
    else if (test.hasRace) this.#noteOutside(packageName, "a data race");
    this.#add(test, outcome, numberIn(event.Elapsed));
  }

  #checkNames(...names: string[]): void {
    const { nameCharacters } = REPORT_LIMITS;
    if (names.some((name) => name.length > nameCharacters)) {
      throw limitError(this.#options.file, "a name", `at most ${nameCharacters} characters`);
    }
    if (!names.every(isWhole)) {
      throw malformed(this.#options.file, this.#line, names.join(" "), "names in UTF-8");
    }
  }

  #buildOutput(build: string, text: string): void {
    let output = this.#builds.get(build);
    if (!output) {
      if (this.#builds.size >= MAX_BUILDS) return;
      this.#builds.set(build, output = new TextEnd());
    }
    output.add(text);
  }

  /** A result of its own, since none of its tests has one. */
  #packageNotBuilt(packageName: string, text: string): void {
    if (this.#notBuilt.has(packageName)) return;
    this.#checkNames(packageName);
    this.#notBuilt.add(packageName);
    this.#openPackages.delete(packageName);
    const test = this.#testOf(packageName, packageName);
    // The line that names what was built says nothing about the cause.
    const message = text.split("\n").find((line) => !/^(?:#|FAIL\b|\s*$)/.test(line));
    this.#sink.add(caseOf(test, FORMATS.goTest, {
      seconds: 0,
      outcomes: [{ conclusion: "error", message, text }],
    }));
  }

  #packageFailed(packageName: string): void {
    const { hasFailedTest, hasOutput, saysFailed, outside } = this.#packageOf(packageName);
    this.#openPackages.delete(packageName);
    // After a panic or a time-out no event ends the tests that were running.
    let runningCount = 0;
    for (const [key, test] of this.#running) {
      if (test.packageName !== packageName) continue;
      runningCount++;
      this.#running.delete(key);
      this.#add(test, "failure", 0);
    }
    if (this.#notBuilt.has(packageName)) return;
    if (!saysFailed && (runningCount > 0 || hasFailedTest && hasOutput)) {
      const name = excerpt(packageName);
      this.#options.onUnlisted?.(
        `${this.#place}: package ${name} ended before its tests were done`,
      );
    }
    if (outside !== "") this.#options.onFailureOutside?.(outside);
    else if (!hasFailedTest && runningCount === 0) {
      this.#failureOutside(`package ${packageName} failed outside of a test`);
    }
  }

  #add(
    { packageName, name, output }: RunningTest,
    outcome: Outcome["conclusion"] | "passing",
    seconds: number,
  ): void {
    const text = outcome === "failure" ? output.toString() : "";
    this.#sink.add(caseOf(this.#testOf(packageName, name), FORMATS.goTest, {
      seconds,
      outcomes: outcome === "passing" ? [] : [{ conclusion: outcome, text }],
    }));
  }

  #testOf(packageName: string, name: string): NamedTest {
    return this.#names.test({ suite: packageName, class: packageName, name, file: "" });
  }
}
