/** Definitions with one mistake each. */
import type { KnownTest, PlainRepository, PlainSubmission } from "./model.ts";
import { fingerprint } from "../../lib/analysis/failure_groups.ts";
import { compareText, Oracle, type Row, type Term } from "./oracle.ts";
import type { OracleClass } from "./in_memory_model.ts";

/** The wrong definitions by their mistake. */
export const MUTANTS: Record<string, OracleClass> = {
  "the edge of the window is outside": class extends Oracle {
    override inWindow(recordedAt: number): boolean {
      return recordedAt > this.now - this.windowSeconds;
    }
  },
  "the window ends now": class extends Oracle {
    override inWindow(recordedAt: number): boolean {
      return super.inWindow(recordedAt) && recordedAt <= this.now;
    }
  },
  "the window is always 14 days": class extends Oracle {
    override inWindow(recordedAt: number): boolean {
      return recordedAt >= this.now - 14 * 86_400;
    }
  },
  "a tree and a commit of one spelling are one version": class extends Oracle {
    override code(submission: PlainSubmission): string {
      return submission.tree ?? submission.commit;
    }
  },
  "trees are ignored": class extends Oracle {
    override code(submission: PlainSubmission): string {
      return submission.commit;
    }
  },
  "code is the same in every environment": class extends Oracle {
    override codeVersion(submission: PlainSubmission): string {
      return this.code(submission);
    }
  },
  "a submission without an environment is in all of them": class extends Oracle {
    override isInEnvironment(submission: PlainSubmission): boolean {
      return submission.environment === "" || super.isInEnvironment(submission);
    }
  },
  "causes are those of the window": class extends Oracle {
    override causesOf(test: KnownTest): string[] {
      return this.causesOfRows(this.disruptionsInWindow(test));
    }
  },
  "every failure is a known cause": class extends Oracle {
    override causesOf(test: KnownTest): string[] {
      const rows = this.rowsOf(test).filter((row) =>
        this.isNegative(row) && !row.submission.isPruned
      );
      return this.causesOfRows(rows);
    }
  },
  "the cause of a failure's message is its only one": class extends Oracle {
    override causesOfRows(rows: Row[]): string[] {
      return [...new Set(rows.map((row) => fingerprint(this.cause(row))))].sort();
    }
  },
  "most of a few tests are an outage": class extends Oracle {
    override isMassFailure(submission: PlainSubmission): boolean {
      const ran = this.testsThat(submission, "ran").size;
      return this.testsThat(submission, "failed").size > ran / 5;
    }
  },
  "environments do not filter": class extends Oracle {
    override isInEnvironment(): boolean {
      return true;
    }
  },
  "symbolic commits identify code": class extends Oracle {
    override code(submission: PlainSubmission): string {
      return submission.tree === null ? `commit ${submission.commit}` : `tree ${submission.tree}`;
    }
  },
  "submissions that failed or are processing make builds": class extends Oracle {
    override makesBuild(): boolean {
      return true;
    }
  },
  "the same tree under two commits is not the same code": class extends Oracle {
    override code(submission: PlainSubmission): string {
      return `${submission.tree} ${submission.commit}`;
    }
  },
  "uploads without a build URL are one build": class extends Oracle {
    override build(submission: PlainSubmission): string {
      return submission.buildUrl;
    }
  },
  "every submission is a build": class extends Oracle {
    override build(submission: PlainSubmission): string {
      return submission.id;
    }
  },
  "errors are not negative": class extends Oracle {
    override isNegative(row: Row): boolean {
      return row.result.conclusion === "failure";
    }
  },
  "skips are positive": class extends Oracle {
    override isPositive(row: Row): boolean {
      return super.isPositive(row) || row.result.conclusion === "skipped";
    }
  },
  "unknown is positive": class extends Oracle {
    override isPositive(row: Row): boolean {
      return super.isPositive(row) || row.result.conclusion === "unknown";
    }
  },
  "ids do not break ties in time": class extends Oracle {
    override compareInTime(a: Row, b: Row): number {
      return a.submission.recordedAt - b.submission.recordedAt || a.position - b.position;
    }
  },
  "positions do not break ties in time": class extends Oracle {
    override compareInTime(a: Row, b: Row): number {
      return a.submission.recordedAt - b.submission.recordedAt ||
        compareText(a.submission.id, b.submission.id) || b.position - a.position;
    }
  },
  "the order of arrival is the order in time": class extends Oracle {
    override compareInTime(a: Row, b: Row): number {
      const arrived = (row: Row) => this.state.submissions.indexOf(row.submission);
      return arrived(a) - arrived(b) || a.position - b.position;
    }
  },
  "only a pass in the window proves a disruption": class extends Oracle {
    override isNondeterministicAt(rows: Row[], codeVersion: string): boolean {
      const recent = rows.filter((row) =>
        this.isNegative(row) || this.inWindow(row.submission.recordedAt)
      );
      return super.isNondeterministicAt(recent, codeVersion);
    }
  },
  "a retry in one submission proves nothing": class extends Oracle {
    override isNondeterministicAt(rows: Row[], codeVersion: string): boolean {
      return super.isNondeterministicAt(rows, codeVersion) &&
        new Set(
            rows.filter((row) => this.codeVersion(row.submission) === codeVersion)
              .map((row) => row.submission.id),
          ).size > 1;
    }
  },
  "every failure is a disruption": class extends Oracle {
    override disruptionsOf(test: KnownTest): Row[] {
      const rows = this.rowsOf(test);
      return super.disruptionsOf(test).length > 0 ? rows.filter((row) => this.isNegative(row)) : [];
    }
  },
  "the first disruption is that of the window": class extends Oracle {
    override firstDisruption(test: KnownTest): Row | undefined {
      return this.disruptionsInWindow(test).at(0);
    }
  },
  "the latest disruption is that of the window": class extends Oracle {
    override latestDisruption(test: KnownTest): Row | undefined {
      return this.disruptionsInWindow(test).at(-1);
    }
  },
  "any pass may be the latest positive result": class extends Oracle {
    override latestNondeterministicPositive(test: KnownTest): Row | undefined {
      const passes = this.rowsOf(test).filter((row) => this.isPositive(row));
      return super.latestNondeterministicPositive(test) && passes.at(-1);
    }
  },
  "skips count in the ratio": class extends Oracle {
    override countedResults(test: KnownTest): number {
      return this.rowsInWindow(test).length;
    }
  },
  "the ratio counts all time": class extends Oracle {
    override countedResults(test: KnownTest): number {
      return this.rowsOf(test).filter((row) => this.isPositive(row) || this.isNegative(row)).length;
    }
  },
  "the ratio is rounded": class extends Oracle {
    override ratioThousandths(test: KnownTest): number {
      const counted = Math.max(1, this.countedResults(test));
      return Math.round(this.disruptionsInWindow(test).length * 1000 / counted);
    }
  },
  "sorted by the ratio as it is shown": class extends Oracle {
    override compareRatios(a: KnownTest, b: KnownTest): number {
      return this.ratioThousandths(a) - this.ratioThousandths(b);
    }
  },
  "only passes take time": class extends Oracle {
    override timeConsumed(test: KnownTest): number {
      const rows = this.rowsInWindow(test);
      return rows.filter((row) => this.isPositive(row))
        .reduce((sum, row) => sum + row.result.durationMicroseconds, 0);
    }
  },
  "the latest attempt of a run is its duration": class extends Oracle {
    override latestDurations(...of: Parameters<Oracle["latestDurations"]>): number[] {
      const [repository, by, key] = of;
      const tests = this.testsOf([repository]).filter((test) => this.durationKey(test, by) === key);
      return this.submissionsInWindow(repository).flatMap(({ id }) => {
        const rows = tests.flatMap((test) => this.rowsOf(test))
          .filter((row) => row.submission.id === id);
        return rows.slice(-1).map(({ result }) => result.durationMicroseconds);
      }).slice(0, 20);
    }
  },
  "a percentile is between two values": class extends Oracle {
    override percentile(values: number[], percent: number): number {
      if (percent !== 50) return super.percentile(values, percent);
      return Math.floor((super.percentile(values, 50) + super.percentile(values, 51)) / 2);
    }
  },
  "tests without a file are in one": class extends Oracle {
    override durationKey(test: KnownTest, by: "file" | "class" | "test"): string {
      return super.durationKey(test, by) || "none";
    }
  },
  "deleted repositories are listed": class extends Oracle {
    override repositories(): PlainRepository[] {
      const deleted = this.state.repositories.filter(({ isThere }) => !isThere);
      return [...super.repositories(), ...deleted];
    }
  },
  "capitals sort before small letters": class extends Oracle {
    override repositories(): PlainRepository[] {
      const key = ({ owner, name }: PlainRepository) => `${owner}/${name}`;
      return super.repositories().sort((a, b) => compareText(key(a), key(b)));
    }
  },
  "skips pass": class extends Oracle {
    override passRate(test: KnownTest): number | null {
      const rows = this.rowsInWindow(test);
      if (this.countedResults(test) === 0) return null;
      const failed = rows.filter((row) => this.isNegative(row)).length;
      return Math.floor(1000 * (rows.length - failed) / rows.length) / 1000;
    }
  },
  "the pass rate is without disruptions": class extends Oracle {
    override passRate(test: KnownTest): number | null {
      if (this.countedResults(test) === 0) return null;
      return (1000 - this.ratioThousandths(test)) / 1000;
    }
  },
  "a test without results passes": class extends Oracle {
    override passRate(test: KnownTest): number | null {
      return super.passRate(test) ?? 0;
    }
  },
  "the average is over passes and failures": class extends Oracle {
    override averageDuration(test: KnownTest): number | null {
      const counted = this.countedResults(test);
      return counted === 0 ? null : Math.round(this.timeConsumed(test) / counted / 100) / 10;
    }
  },
  "the average duration is cut": class extends Oracle {
    override averageDuration(test: KnownTest): number | null {
      const rows = this.rowsInWindow(test);
      if (rows.length === 0) return null;
      return Math.floor(this.timeConsumed(test) / rows.length / 100) / 10;
    }
  },
  "tags of the window only": class extends Oracle {
    override tagsOf(test: KnownTest): string[] {
      const rows = this.rowsOf(test).filter((row) => this.inWindow(row.submission.recordedAt));
      return [...new Set(rows.flatMap((row) => row.submission.tags))].sort();
    }
  },
  "tags of all tests only": class extends Oracle {
    override tagsOf(test: KnownTest): string[] {
      return [...new Set(this.rowsOf(test).flatMap((row) => row.submission.tags))].sort();
    }
  },
  "tags regardless of case": class extends Oracle {
    override tagsOf(test: KnownTest): string[] {
      return [...new Set(super.tagsOf(test).map((tag) => tag.toLowerCase()))].sort();
    }
  },
  "% and _ are wildcards": class extends Oracle {
    override matches(test: KnownTest, term: Term): boolean {
      if (term.kind !== "text" || !/[%_]/.test(term.text)) return super.matches(test, term);
      return [test.suite, test.name, test.file, test.class].some((field) => field !== "");
    }
  },
  "lower case is that of ASCII": class extends Oracle {
    override fold(text: string): string {
      return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
    }
  },
  "quarantined tests are in both views": class extends Oracle {
    override inventory(repositories: number[], quarantined: boolean): KnownTest[] {
      return quarantined
        ? super.inventory(repositories, quarantined)
        : this.disruptiveTests(repositories);
    }
  },
  "a quarantined test must be disruptive": class extends Oracle {
    override inventory(repositories: number[], quarantined: boolean): KnownTest[] {
      return super.inventory(repositories, quarantined)
        .filter((test) => this.disruptionsInWindow(test).length > 0);
    }
  },
  "quarantined tests are not in the repository's list": class extends Oracle {
    override disruptiveTests(repositories: number[]): KnownTest[] {
      return super.disruptiveTests(repositories).filter((test) => !this.quarantineOf(test));
    }
  },
  "a submission without a branch is on all of them": class extends Oracle {
    override isOnBranch(submission: PlainSubmission): boolean {
      return submission.branch === null || super.isOnBranch(submission);
    }
  },
  "branches regardless of case": class extends Oracle {
    override isOnBranch({ branch, ...submission }: PlainSubmission): boolean {
      return super.isOnBranch({ ...submission, branch: branch && branch.toLowerCase() });
    }
  },
  "only a pass on the branch proves a disruption": class extends Oracle {
    override isNondeterministicAt(rows: Row[], codeVersion: string): boolean {
      return super.isNondeterministicAt(
        rows.filter((row) => this.counts(row.submission)),
        codeVersion,
      );
    }
  },
  "the first disruption is that of the branch": class extends Oracle {
    override firstDisruption(test: KnownTest): Row | undefined {
      return this.disruptionsOf(test).find((row) => this.isOnBranch(row.submission));
    }
  },
  "the latest disruption is that of all branches": class extends Oracle {
    override latestDisruption(test: KnownTest): Row | undefined {
      return this.disruptionsOf(test).at(-1);
    }
  },
  "the latest positive result is that of the branch": class extends Oracle {
    override latestNondeterministicPositive(test: KnownTest): Row | undefined {
      const rows = this.rowsOf(test);
      return rows.filter((row) =>
        this.isPositive(row) && this.isOnBranch(row.submission) &&
        this.isNondeterministicAt(rows, this.codeVersion(row.submission))
      ).at(-1);
    }
  },
  "the ratio counts all branches": class extends Oracle {
    override countedResults(test: KnownTest): number {
      return this.onBranches([]).rowsInWindow(test)
        .filter((row) => this.isPositive(row) || this.isNegative(row)).length;
    }
  },
  "coverage is that of the greatest time": class extends Oracle {
    override latestCoverage(repository: number): { covered: number; total: number } | null {
      const report = this.state.coverage.filter((one) => one.repository === repository)
        .sort((a, b) => a.recordedAt - b.recordedAt).at(-1);
      return report
        ? { covered: report.report.coveredLineCount, total: report.report.lineCount }
        : null;
    }
  },
  "percentages are cut": class extends Oracle {
    override tenthsOfPercent(part: number, whole: number): number {
      return Math.min(999, Math.max(part ? 1 : 0, Math.floor(1000 * part / whole))) +
        (part === whole ? 1 : 0);
    }
  },
  "almost nothing is 0 %": class extends Oracle {
    override tenthsOfPercent(part: number, whole: number): number {
      return Math.floor((2000 * part + whole) / (2 * whole));
    }
  },
};
