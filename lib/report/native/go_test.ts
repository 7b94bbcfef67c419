// Tests: tests/lib/report/archive/contents_test.ts tests/lib/report/native/formats_test.ts
/** `go test -json`: one event in each line, among lines of other tools. */
import type { ReportedTool } from "../report_tool.ts";
import type { TestIdentity } from "../../base/identity.ts";
import { TextEnd } from "../bounded_text.ts";
import { NameNormalizer } from "../normalize_names.ts";
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

/** Builds whose output is kept; the packages of others are named without it. */
const MAX_BUILDS = 1_000;

export class GoTestReader implements ReportReader {
  readonly tool: ReportedTool;
  readonly #options: ReportOptions;
  readonly #sink: ResultSink;
  readonly #names: NameNormalizer;
  /** By package and name. */
  readonly #running = new Map<string, RunningTest>();
  /** Packages with a failed test that did not end. */
  readonly #failedPackages = new Set<string>();
  /** Packages that began and did not end. */
  readonly #openPackages = new Set<string>();
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
    for (const packageName of this.#openPackages) {
      this.#options.onUnlisted?.(`${this.#place}: package ${excerpt(packageName)} did not end`);
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
    if (packageName !== "") {
      if (name === "" && PACKAGE_ENDS.has(action)) this.#openPackages.delete(packageName);
      else this.#openPackages.add(packageName);
    }
    if (name !== "" && packageName !== "") this.#testEvent(action, { packageName, name, event });
    else if (action === "fail" && packageName !== "") {
      const build = nameIn(event.FailedBuild);
      if (build === "") this.#packageFailed(packageName);
      else this.#packageNotBuilt(packageName, this.#builds.get(build)?.toString() ?? "");
      this.#failedBuilds.delete(build);
    } else if (action === "build-output") {
      this.#buildOutput(nameIn(event.ImportPath), textIn(event.Output));
    } else if (action === "build-fail") this.#failedBuilds.add(nameIn(event.ImportPath));
    else if (action === "output" && textIn(event.Output).startsWith("panic: ")) {
      this.#failureOutside(`package ${packageName} panicked outside of a test`);
    }
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
      test = { packageName, name, output: new TextEnd() };
      if (this.#running.size >= REPORT_LIMITS.resultCount) {
        throw limitError(this.#options.file, "more tests at a time than results in one upload");
      }
      this.#running.set(key, test);
    }
    if (action === "output") test.output.add(textIn(event.Output));
    const outcome = OUTCOMES.get(action);
    if (outcome === undefined) return;
    this.#running.delete(key);
    if (outcome === "failure") this.#failedPackages.add(packageName);
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
    const identity = this.#identityOf(packageName, packageName);
    // The line that names what was built says nothing about the cause.
    const message = text.split("\n").find((line) => !/^(?:#|FAIL\b|\s*$)/.test(line));
    this.#sink.add(caseOf(identity, FORMATS.goTest, {
      seconds: 0,
      outcomes: [{ conclusion: "error", message, text }],
    }));
  }

  // After a panic or a time-out no event ends the tests that were running.
  #packageFailed(packageName: string): void {
    for (const [key, test] of this.#running) {
      if (test.packageName !== packageName) continue;
      this.#running.delete(key);
      this.#failedPackages.add(packageName);
      this.#add(test, "failure", 0);
    }
    if (!this.#failedPackages.delete(packageName) && !this.#notBuilt.has(packageName)) {
      this.#failureOutside(`package ${packageName} failed outside of a test`);
    }
  }

  #add(
    { packageName, name, output }: RunningTest,
    outcome: Outcome["conclusion"] | "passing",
    seconds: number,
  ): void {
    const text = outcome === "failure" ? output.toString() : "";
    this.#sink.add(caseOf(this.#identityOf(packageName, name), FORMATS.goTest, {
      seconds,
      outcomes: outcome === "passing" ? [] : [{ conclusion: outcome, text }],
    }));
  }

  #identityOf(packageName: string, name: string): TestIdentity {
    const suite = this.#names.suite(packageName, undefined);
    const className = this.#names.class(packageName);
    return {
      suite,
      class: className,
      name: this.#names.name(name, suite, className),
      file: "",
    };
  }
}
