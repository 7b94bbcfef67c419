/**
 * The definitions over plain rows, in the slowest and most obvious way.
 *
 * Shares only the ids with the program, so that a mistake there is not repeated here. Each definition
 * is a method: `mutants.ts` replaces them one at a time to check that the comparison notices.
 */
import { fingerprint } from "../../lib/analysis/failure_groups.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { isNoCause } from "../../lib/report/says_nothing.ts";
import { plainCause } from "./causes/plain_cause.ts";
import {
  isSameTest,
  type KnownTest,
  type PlainRepository,
  type PlainSubmission,
  type State,
} from "./model.ts";
import { type PlainPolicy, PolicyRules } from "./policy_rules.ts";
import { isActive, type LoggedEvent, logWithEnds, type PlainQuarantine } from "./quarantines.ts";
import type { TestResult } from "../../lib/report/result.ts";

/** One result and its submission. */
export interface Row {
  submission: PlainSubmission;
  /** Position in the report, from 0. */
  position: number;
  result: TestResult;
}

export type Operator = "" | "<" | "<=" | ">" | ">=";

/** One term of a `q`, before it is formatted. */
export type Term =
  | { kind: "first-seen" | "last-seen"; operator: Operator; day: string }
  | { kind: "tags"; tags: string[] }
  | { kind: "text"; text: string };

export type Sort = "disruptivenessRatio" | "recency";

/** The definitions applied to a state at a moment. */
export class Oracle {
  readonly #rows = new Map<KnownTest, Row[]>();

  constructor(
    readonly state: State,
    /** Seconds since 1970. */
    readonly now: number,
    readonly windowSeconds: number,
    /** Patterns of the branches that count, none for all submissions. */
    readonly branches: readonly string[] = [],
    /** Patterns of the environments that count. */
    readonly environments: readonly string[] = [],
  ) {}

  /** The same definitions for some branches and environments. */
  onBranches(branches: readonly string[], environments: readonly string[] = []): Oracle {
    const Definitions = this.constructor as typeof Oracle;
    return new Definitions(this.state, this.now, this.windowSeconds, branches, environments);
  }

  isFiltered(): boolean {
    return this.branches.length + this.environments.length > 0;
  }

  /** Whether a submission is of the requested branches and environments. */
  counts(submission: PlainSubmission): boolean {
    return this.isOnBranch(submission) && this.isInEnvironment(submission);
  }

  isInEnvironment({ environment }: PlainSubmission): boolean {
    return this.environments.length === 0 ||
      environment !== "" && this.environments.some((pattern) => fits(environment, pattern));
  }

  /** Whether a submission is on one of the branches. */
  isOnBranch({ branch }: PlainSubmission): boolean {
    return this.branches.length === 0 ||
      branch !== null && this.branches.some((pattern) => fits(branch, pattern));
  }

  inWindow(recordedAt: number): boolean {
    return recordedAt >= this.now - this.windowSeconds;
  }

  codeVersion(submission: PlainSubmission): string {
    const { environment, job, workflow = "" } = submission;
    return JSON.stringify([this.code(submission), environment, job, workflow]);
  }

  code(submission: PlainSubmission): string {
    if (submission.tree !== null) return `tree ${submission.tree}`;
    if (!/^[0-9a-fA-F]{7,64}$/.test(submission.commit)) return `submission ${submission.id}`;
    return `commit ${submission.commit}`;
  }

  build(submission: PlainSubmission): string {
    if (submission.buildUrl === "") return `submission ${submission.id}`;
    return `url ${submission.buildUrl}`;
  }

  isPositive(row: Row): boolean {
    return row.result.conclusion === "passing";
  }

  isNegative(row: Row): boolean {
    return row.result.conclusion === "failure" || row.result.conclusion === "error";
  }

  /** Below 0 when `a` is the earlier one. */
  compareInTime(a: Row, b: Row): number {
    return a.submission.recordedAt - b.submission.recordedAt ||
      compareText(a.submission.id, b.submission.id) ||
      a.position - b.position;
  }

  submissionsOf(repository: number): PlainSubmission[] {
    return this.state.submissions.filter((submission) => submission.repository === repository);
  }

  /** The processed submissions of 90 days that are stored. */
  recentSubmissions(repository: number): PlainSubmission[] {
    const since = this.now - 90 * 86_400;
    return this.submissionsOf(repository).filter((one) =>
      one.status === "processed" && !one.isPruned && one.recordedAt >= since
    );
  }

  /** The first usual name with builds in 90 days, otherwise the branch with most of them. */
  baseBranch(repository: number): string {
    const recent = this.recentSubmissions(repository).filter(({ branch }) => branch);
    const buildsOn = (branch: string) =>
      new Set(recent.filter((one) => one.branch === branch).map((one) => this.build(one))).size;
    const usual = ["main", "master", "trunk", "develop"].find((branch) => buildsOn(branch) > 0);
    const branches = recent.map(({ branch }) => branch!)
      .sort((a, b) => buildsOn(b) - buildsOn(a) || compareCharacters(a, b));
    return usual ?? branches[0] ?? "main";
  }

  /** A submission that is not pruned. */
  storedSubmission(repository: number, id: string): PlainSubmission | undefined {
    return this.submissionsOf(repository).find((one) => one.id === id && !one.isPruned);
  }

  /** All results of a test, earliest first. */
  rowsOf(test: KnownTest): Row[] {
    // Read many times for one response.
    const known = this.#rows.get(test);
    if (known) return known;
    const rows: Row[] = [];
    for (const submission of this.submissionsOf(test.repository)) {
      for (const [position, result] of submission.results.entries()) {
        if (isSameTest(test, result)) rows.push({ submission, position, result });
      }
    }
    this.#rows.set(test, rows.sort((a, b) => this.compareInTime(a, b)));
    return rows;
  }

  isNondeterministicAt(rows: Row[], codeVersion: string): boolean {
    const there = rows.filter((row) => this.codeVersion(row.submission) === codeVersion);
    const failures = there.filter((row) => this.isNegative(row));
    const passes = [
      ...there.filter((row) => this.isPositive(row)),
      ...failures.slice(0, 1).flatMap((row) =>
        this.impliedPasses(row.submission.repository, row.result)
      ).filter((row) => this.codeVersion(row.submission) === codeVersion),
    ];
    return passes.some((pass) =>
      failures.some((failure) => this.repeats(pass, failure, rows, codeVersion))
    );
  }

  /** Whether a case stands for a file, class or hook that failed, as those of the pool do. */
  isSetUp({ class: className, name, file }: TestIdentity): boolean {
    return /^"(before|after) (each|all)" hook/.test(name) || file !== "" && name === file ||
      file === "" && name === className && /\w\.\w/.test(name);
  }

  /** Whether two tests are of one file, of one class without a file, or of one suite without either. */
  isOfOneFile(a: TestIdentity, b: TestIdentity): boolean {
    const groupOf = (
      { suite, class: className, file }: TestIdentity,
    ) => [file, file === "" ? className : "", file + className === "" ? suite : ""];
    return JSON.stringify(groupOf(a)) === JSON.stringify(groupOf(b));
  }

  /** A pass in each submission in which tests of the file of a set-up ran, and no case of its set-ups stands. */
  impliedPasses(repository: number, setUp: TestIdentity): Row[] {
    if (!this.isSetUp(setUp)) return [];
    const { suite, class: className, name, file } = setUp;
    return this.submissionsOf(repository).flatMap((submission) => {
      const own = submission.results.map((result, position) => ({ submission, position, result }))
        .filter(({ result }) => this.isOfOneFile(result, setUp));
      if (!this.impliesPass(own)) return [];
      const result: TestResult = {
        ...{ suite, class: className, name, file },
        conclusion: "passing",
        durationMicroseconds: 0,
        message: "",
        body: "",
      };
      return [{ submission, position: -1, result }];
    });
  }

  /** Whether the rows of a file in one submission show that its set-up passed. */
  impliesPass(rows: Row[]): boolean {
    return !rows.some(({ result }) => this.isSetUp(result)) &&
      rows.some((row) => this.isPositive(row) || this.isNegative(row));
  }

  /** Whether one of two results of a test at a code version repeats the other. */
  repeats(a: Row, b: Row, rows: Row[], codeVersion: string): boolean {
    if (a.submission.id === b.submission.id) return true;
    const { job, repository } = a.submission;
    if (job === "") return true;
    if (this.hasLegs(repository, codeVersion)) return false;
    if (this.isOneAttempt(a.submission, b.submission)) return false;
    // A file may be split: tests of it in another shard say nothing about its set-up.
    return !this.isSetUp(a.result) && rows.some(({ result }) => result.file !== "") ||
      this.mayBeOneShard(a.submission, b.submission);
  }

  isOneAttempt(a: PlainSubmission, b: PlainSubmission): boolean {
    return a.buildUrl !== "" && a.buildUrl === b.buildUrl && !!a.attempt &&
      a.attempt === b.attempt;
  }

  mayBeOneShard({ shard: a = "" }: PlainSubmission, { shard: b = "" }: PlainSubmission): boolean {
    return a === b || a === "" || b === "";
  }

  /** Whether two submissions of a code version have a test in common and nothing tells them apart. */
  hasLegs(repository: number, codeVersion: string): boolean {
    const there = this.submissionsOf(repository).filter((one) =>
      this.codeVersion(one) === codeVersion
    );
    return there.some((a) =>
      there.some((b) =>
        a.id < b.id && this.isOneAttempt(a, b) && this.mayBeOneShard(a, b) &&
        a.results.some((one) => b.results.some((other) => isSameTest(one, other)))
      )
    );
  }

  /** The test's disruptions ever, earliest first. */
  disruptionsOf(test: KnownTest): Row[] {
    const rows = this.rowsOf(test);
    return rows.filter((row) =>
      this.isNegative(row) && this.isNondeterministicAt(rows, this.codeVersion(row.submission))
    );
  }

  disruptionsInWindow(test: KnownTest): Row[] {
    return this.disruptionsOf(test).filter(({ submission }) =>
      this.inWindow(submission.recordedAt) && this.counts(submission)
    );
  }

  firstDisruption(test: KnownTest): Row | undefined {
    return this.disruptionsOf(test).at(0);
  }

  latestDisruption(test: KnownTest): Row | undefined {
    // With branches, one that they do not show may be later or older than the window.
    if (this.isFiltered()) return this.disruptionsInWindow(test).at(-1);
    return this.disruptionsOf(test).at(-1);
  }

  latestNondeterministicPositive(test: KnownTest): Row | undefined {
    const rows = this.rowsOf(test);
    const passes = [
      ...rows.filter((row) => this.isPositive(row)),
      ...this.impliedPasses(test.repository, test),
    ];
    return passes.filter((row) => this.isNondeterministicAt(rows, this.codeVersion(row.submission)))
      .sort((a, b) => this.compareInTime(a, b)).at(-1);
  }

  /** The results of a test in the window, earliest first. */
  rowsInWindow(test: KnownTest): Row[] {
    return this.rowsOf(test).filter(({ submission }) =>
      this.inWindow(submission.recordedAt) && this.counts(submission)
    );
  }

  /** Whether a row is a disruption. */
  isDisruption(test: KnownTest, row: Row): boolean {
    return this.isNegative(row) &&
      this.isNondeterministicAt(this.rowsOf(test), this.codeVersion(row.submission));
  }

  /** 1 for the first attempt of a test in its submission. */
  runCount({ submission, position, result }: Row): number {
    return submission.results.slice(0, position + 1).filter((other) => isSameTest(other, result))
      .length;
  }

  /** Whether a value of `status` or `conclusion` selects a row. */
  hasStatus(row: Row, status: string): boolean {
    if (status === "all") return true;
    if (status === "failed") return this.isNegative(row);
    if (status === "passed") return this.isPositive(row);
    return row.result.conclusion === status;
  }

  /** The attempts of a test in the window, newest first. */
  runs(test: KnownTest, status: string): Row[] {
    return this.rowsInWindow(test).filter((row) => this.hasStatus(row, status)).reverse();
  }

  /** The attempts of a submission: negative ones first, then by the names of the test. */
  attempts(submission: PlainSubmission, status: string): Row[] {
    const rows = submission.results.map((result, position) => ({ submission, position, result }));
    return rows.filter((row) => this.hasStatus(row, status)).sort((a, b) =>
      Number(this.isNegative(b)) - Number(this.isNegative(a)) ||
      compareCharacters(a.result.suite, b.result.suite) ||
      compareCharacters(a.result.class, b.result.class) ||
      compareCharacters(a.result.name, b.result.name) ||
      compareCharacters(a.result.file, b.result.file) ||
      a.position - b.position
    );
  }

  /** The failures of tests in the window, earliest first. */
  failures(tests: KnownTest[]): { test: KnownTest; row: Row }[] {
    return tests.flatMap((test) =>
      this.rowsInWindow(test).filter((row) => this.isNegative(row)).map((row) => ({ test, row }))
    ).sort((a, b) => this.compareInTime(a.row, b.row));
  }

  /** What failures of one cause have in common. */
  cause({ result: { message, body } }: Row): string {
    const lines = [message, ...body.split("\n")].map((line) => line.trim());
    const line = lines.find((line) => line !== "") ?? "";
    return isNoCause(line) ? "" : plainCause(line);
  }

  /** The fingerprints of the disruptions of a test that are stored, sorted. */
  causesOf(test: KnownTest): string[] {
    const stored = this.disruptionsOf(test).filter(({ submission }) => !submission.isPruned);
    return this.causesOfRows(stored);
  }

  /** The fingerprint of a failure, then those of its other messages, sorted, without unknown ones. */
  causesOfFailure(row: Row): string[] {
    const own = fingerprint(this.cause(row));
    const others = new Set(
      (row.result.otherMessages ?? []).map((line) => fingerprint(plainCause(line))),
    );
    others.delete(own);
    others.delete(fingerprint(""));
    return [own, ...[...others].sort()];
  }

  /** The fingerprints of all failures of some results, sorted. */
  causesOfRows(rows: Row[]): string[] {
    const causes = rows.flatMap((row) => [
      this.cause(row),
      ...(row.result.otherMessages ?? []).map(plainCause),
    ]);
    return [...new Set(causes.map(fingerprint))].sort();
  }

  /** Tests of a submission: that passed or failed, that failed, or that have nothing but skips. */
  testsThat(submission: PlainSubmission, what: "ran" | "failed" | "were skipped"): Set<string> {
    const rows = submission.results.map((result, position) => ({ submission, position, result }));
    const keyOf = ({ result: { suite, class: className, name, file } }: Row) =>
      JSON.stringify([suite, className, name, file]);
    const others = rows.filter(({ result }) => result.conclusion !== "skipped").map(keyOf);
    const found = rows.filter((row) => {
      if (what === "were skipped") return !others.includes(keyOf(row));
      return this.isNegative(row) || what === "ran" && this.isPositive(row);
    });
    return new Set(found.map(keyOf));
  }

  /** More than a fifth of at least 20 tests failed. */
  isMassFailure(submission: PlainSubmission): boolean {
    const ran = this.testsThat(submission, "ran").size;
    return ran >= 20 && this.testsThat(submission, "failed").size > ran / 5;
  }

  /** Positive and negative results in the window. */
  countedResults(test: KnownTest): number {
    return this.rowsInWindow(test).filter((row) => this.isPositive(row) || this.isNegative(row))
      .length;
  }

  /** Thousandths, cut. */
  ratioThousandths(test: KnownTest): number {
    const counted = this.countedResults(test);
    if (counted === 0) return 0;
    return Math.floor(this.disruptionsInWindow(test).length * 1000 / counted);
  }

  /** Microseconds that all results in the window took. */
  timeConsumed(test: KnownTest): number {
    let sum = 0;
    for (const { result } of this.rowsInWindow(test)) sum += result.durationMicroseconds;
    return sum;
  }

  /** The value of a test that durations are added up by, `""` for none. */
  durationKey(test: KnownTest, by: "file" | "class" | "test"): string {
    return by === "test" ? test.id : test[by];
  }

  /** Microseconds of the latest runs with this key in the window, newest first. */
  latestDurations(repository: number, by: "file" | "class" | "test", key: string): number[] {
    const tests = this.testsOf([repository]).filter((test) => this.durationKey(test, by) === key);
    return this.submissionsInWindow(repository).flatMap(({ id }) => {
      const rows = tests.flatMap((test) => this.rowsOf(test))
        .filter((row) => row.submission.id === id);
      if (rows.length === 0) return [];
      return [rows.reduce((sum, { result }) => sum + result.durationMicroseconds, 0)];
    }).slice(0, 20);
  }

  /** The smallest value that at least this share of the values does not exceed. */
  percentile(values: number[], percent: number): number {
    const sorted = values.toSorted((a, b) => a - b);
    return sorted.find((value) =>
      100 * sorted.filter((other) => other <= value).length >= percent * sorted.length
    )!;
  }

  /** Positive results of the positive and negative ones in the window, cut after three digits. */
  passRate(test: KnownTest): number | null {
    const counted = this.countedResults(test);
    if (counted === 0) return null;
    const positive = this.rowsInWindow(test).filter((row) => this.isPositive(row));
    return Math.floor(1000 * positive.length / counted) / 1000;
  }

  /** Milliseconds that a result in the window took on average, rounded to one digit. */
  averageDuration(test: KnownTest): number | null {
    const rows = this.rowsInWindow(test);
    if (rows.length === 0) return null;
    const sum = rows.reduce((sum, row) => sum + row.result.durationMicroseconds, 0);
    return Math.round(sum / rows.length / 100) / 10;
  }

  tagsOf(test: KnownTest): string[] {
    const tags = this.rowsOf(test).flatMap(({ submission }) => [
      ...submission.tags,
      ...submission.testTags.filter((one) => isSameTest(one.test, test)).flatMap((one) => one.tags),
    ]);
    return [...new Set(tags)].sort();
  }

  /** The owners of a test's file. */
  ownersOf(test: KnownTest): string[] {
    const owners = this.tagsOf(test).filter((tag) => tag.startsWith("owner:"));
    return owners.map((tag) => tag.slice("owner:".length));
  }

  quarantineOf(test: KnownTest): PlainQuarantine | undefined {
    return this.state.quarantines.find((entry) => entry.testId === test.id && this.isActive(entry));
  }

  /** Whether a quarantine entry has not ended. */
  isActive(entry: PlainQuarantine): boolean {
    return isActive(entry, this.now);
  }

  /** All changes and ends of quarantine entries, in no particular order. */
  quarantineLog(): LoggedEvent[] {
    return logWithEnds(this.state.quarantineLog, this.now);
  }

  /** The rules of a quarantine policy. */
  rules(policy: PlainPolicy): PolicyRules {
    return new PolicyRules(this, policy);
  }

  /** All repositories by owner/name, regardless of case. */
  repositories(): PlainRepository[] {
    const key = ({ owner, name }: PlainRepository) => this.fold(`${owner}/${name}`);
    return this.state.repositories.filter(({ isThere }) => isThere)
      .sort((a, b) => compareText(key(a), key(b)));
  }

  testsOf(repositories: number[]): KnownTest[] {
    return this.state.tests.filter((test) => repositories.includes(test.repository));
  }

  /** Tests with a disruption in the window, quarantined or not. */
  disruptiveTests(repositories: number[]): KnownTest[] {
    return this.testsOf(repositories).filter((test) => this.disruptionsInWindow(test).length > 0);
  }

  /** The tests of one of the two views of the inventory. */
  inventory(repositories: number[], quarantined: boolean): KnownTest[] {
    if (quarantined) return this.testsOf(repositories).filter((test) => this.quarantineOf(test));
    return this.disruptiveTests(repositories).filter((test) => !this.quarantineOf(test));
  }

  sorted(tests: KnownTest[], sort: Sort): KnownTest[] {
    return [...tests].sort((a, b) => {
      const aLatest = this.latestDisruption(a)?.submission.recordedAt;
      const bLatest = this.latestDisruption(b)?.submission.recordedAt;
      // Tests that were never disruptive come last in both orders.
      if ((aLatest === undefined) !== (bLatest === undefined)) {
        return aLatest === undefined ? 1 : -1;
      }
      const byRatio = sort === "disruptivenessRatio" ? this.compareRatios(b, a) : 0;
      return byRatio || (bLatest ?? 0) - (aLatest ?? 0) || compareText(a.id, b.id);
    });
  }

  /** Below 0 when the exact ratio of `a` is the smaller one. */
  compareRatios(a: KnownTest, b: KnownTest): number {
    // a/b < c/d by multiplication, without rounding; the ratio of no results is 0.
    return this.disruptionsInWindow(a).length * Math.max(1, this.countedResults(b)) -
      this.disruptionsInWindow(b).length * Math.max(1, this.countedResults(a));
  }

  /** Lower case of each letter for itself; both small sigmas are equal. */
  fold(text: string): string {
    return [...text].map((letter) => letter.toLowerCase()).join("").replaceAll("ς", "σ");
  }

  matches(test: KnownTest, term: Term): boolean {
    if (term.kind === "text") {
      return [test.suite, test.name, test.file, test.class].some((field) =>
        this.fold(field).includes(this.fold(term.text))
      );
    }
    if (term.kind === "tags") {
      const wanted = term.tags.filter((tag) => tag !== "").map((tag) => this.fold(tag));
      return this.tagsOf(test).some((tag) => wanted.includes(this.fold(tag)));
    }
    const seen = term.kind === "first-seen"
      ? this.firstDisruption(test)
      : this.latestDisruption(test);
    if (!seen) return false;
    const day = timestamp(seen.submission.recordedAt).slice(0, 10);
    if (term.operator === "<") return day < term.day;
    if (term.operator === "<=") return day <= term.day;
    if (term.operator === ">") return day > term.day;
    if (term.operator === ">=") return day >= term.day;
    return day === term.day;
  }

  /** Newest first. */
  submissionsInWindow(repository: number): PlainSubmission[] {
    return this.submissionsOf(repository)
      .filter((submission) => this.inWindow(submission.recordedAt) && this.counts(submission))
      .sort((a, b) => compareText(b.id, a.id));
  }

  makesBuild(submission: PlainSubmission): boolean {
    return submission.status === "processed";
  }

  /** Number of builds in the window, and of those with a disruption in the window. */
  builds(repository: number): { all: number; disrupted: number } {
    const processed = this.submissionsInWindow(repository).filter((one) => this.makesBuild(one));
    const all = new Set(processed.map((submission) => this.build(submission)));
    const disrupted = new Set<string>();
    for (const test of this.testsOf([repository])) {
      for (const row of this.disruptionsInWindow(test)) disrupted.add(this.build(row.submission));
    }
    return { all: all.size, disrupted: disrupted.size };
  }

  /** The most recently uploaded coverage report, whatever its time. */
  latestCoverage(repository: number): { covered: number; total: number } | null {
    const latest = this.state.coverage.filter((report) => report.repository === repository).at(-1);
    if (!latest) return null;
    return { covered: latest.report.coveredLineCount, total: latest.report.lineCount };
  }

  /** The percentage on a badge in tenths: rounded half up, but 0 and 100 only when exact. */
  tenthsOfPercent(part: number, whole: number): number {
    if (part === 0) return 0;
    if (part === whole) return 1000;
    return Math.min(999, Math.max(1, Math.floor((2000 * part + whole) / (2 * whole))));
  }
}

/** Whether a branch fits a pattern: what is between its stars occurs one after the other. */
function fits(branch: string, pattern: string): boolean {
  const star = pattern.indexOf("*");
  if (star < 0) return branch === pattern;
  if (!branch.startsWith(pattern.slice(0, star))) return false;
  const rest = pattern.slice(star + 1);
  for (let at = star; at <= branch.length; at++) if (fits(branch.slice(at), rest)) return true;
  return false;
}

/** Seconds since 1970 as `YYYY-MM-DDTHH:MM:SSZ`. */
export function timestamp(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}

/** By code points. */
function compareCharacters(a: string, b: string): number {
  const [left, right] = [[...a], [...b]].map((text) => text.map((one) => one.codePointAt(0)!));
  const index = left!.findIndex((point, index) => point !== right![index]);
  if (index < 0) return left!.length - right!.length;
  return index >= right!.length ? 1 : left![index]! - right![index]!;
}

/** By code units, as the ids' hex digits sort. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
