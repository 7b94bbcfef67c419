/** The rules of the quarantine policy over plain rows. */
import { isSameTest, type KnownTest, type PlainSubmission } from "./model.ts";
import { compareText, type Oracle, type Row } from "./oracle.ts";
import { addQuarantine, isActive, type PlainQuarantine, removeQuarantine } from "./quarantines.ts";
import type { PolicyChange } from "./service.ts";

/** Values of a policy; durations in seconds. */
export interface PlainPolicy {
  disruptions: number;
  codeVersions: number;
  minResults: number;
  maxTests: number;
  releasePasses: number;
  releaseAfter: number;
  expires: number;
}

/** Ids of tests that enter and leave, sorted. */
export interface PolicyOutcome {
  entering: string[];
  leaving: string[];
}

/** The rules of one policy; mutants replace a method. */
export class PolicyRules {
  constructor(readonly oracle: Oracle, readonly policy: PlainPolicy) {}

  outcome(repository: number): PolicyOutcome {
    const tests = this.oracle.testsOf([repository]).sort((a, b) => compareText(a.id, b.id));
    const automatic = tests.filter((test) => this.entryOf(test)?.type === "automatic");
    const leaving = automatic.filter((test) => this.isReleased(test));
    const free = Math.max(0, this.policy.maxTests - automatic.length + leaving.length);
    const entering = tests.filter((test) => !this.entryOf(test) && this.mayEnter(test))
      .sort((a, b) => this.compareUrgency(a, b))
      .slice(0, free);
    const ids = (some: KnownTest[]) => some.map(({ id }) => id).sort();
    return { entering: ids(entering), leaving: ids(leaving) };
  }

  /** Below 0 when `a` gets a place first. */
  compareUrgency(a: KnownTest, b: KnownTest): number {
    return this.disruptions(b).length - this.disruptions(a).length;
  }

  entryOf(test: KnownTest): PlainQuarantine | undefined {
    return this.oracle.quarantineOf(test);
  }

  mayEnter(test: KnownTest): boolean {
    return (this.isProven(test) || this.isBack(test)) &&
      !this.isBroken(test) && !this.isOneStretch(test) && !this.isReleased(test) &&
      !this.failsOnBase(test) && !this.isAmbiguous(test);
  }

  isProven(test: KnownTest): boolean {
    const { policy } = this;
    const disruptions = this.disruptions(test);
    return disruptions.length >= policy.disruptions &&
      new Set(disruptions.map((row) => this.version(row))).size >= policy.codeVersions &&
      this.evidence(test).length >= policy.minResults;
  }

  /** The policy released it, and it failed again within 60 days: not of one change alone. */
  isBack(test: KnownTest): boolean {
    const releases = this.oracle.state.quarantineLog.filter((event) =>
      event.testId === test.id && event.action === "removed" && event.by === "policy"
    );
    const releasedAt = Math.max(0, ...releases.map(({ at }) => at));
    const soon = this.disruptions(test).filter(({ submission }) =>
      submission.recordedAt < releasedAt + 60 * 86_400
    );
    return releasedAt === this.leftAt(test) &&
      (soon.some((row) => !this.isOfChange(row)) ||
        new Set(soon.map((row) => this.version(row))).size > 1);
  }

  /** What counts as a code version: all of a change is one. */
  version(row: Row): string {
    const { submission } = row;
    return this.isOfChange(row)
      ? `change ${submission.branch}`
      : this.oracle.codeVersion(submission);
  }

  /** It is on a branch that is not known to be the base branch. */
  isOfChange(row: Row): boolean {
    const { branch } = row.submission;
    const isNamedLikeBase = ["main", "master", "trunk", "develop"].some((name) => name === branch);
    return branch !== null && !(this.isOnBase(row) && isNamedLikeBase);
  }

  /** Its final attempt failed in each of its last five runs on the base branch. */
  failsOnBase(test: KnownTest): boolean {
    const rows = this.evidence(test).filter((row) => this.isOnBase(row));
    const runs = new Map(rows.map((row) => [row.submission.id, row]));
    const latest = [...runs.values()].slice(-5);
    return latest.length === 5 && latest.every((row) => this.oracle.isNegative(row));
  }

  isOnBase({ submission: { branch, repository } }: Row): boolean {
    return branch === this.oracle.baseBranch(repository);
  }

  /** In a report of the window it stood for several tests of one name. */
  isAmbiguous(test: KnownTest): boolean {
    return this.oracle.rowsInWindow(test).some(({ submission }) =>
      submission.ambiguous?.some((one) => isSameTest(one, test))
    );
  }

  /** It has several disruptions, and never passed between the first and the last. */
  isOneStretch(test: KnownTest): boolean {
    const disruptions = this.disruptions(test);
    const [first, last] = [disruptions[0]!, disruptions.at(-1)!];
    return disruptions.length > 1 &&
      !this.evidence(test).some((row) =>
        this.oracle.isPositive(row) && this.oracle.compareInTime(first, row) < 0 &&
        this.oracle.compareInTime(row, last) < 0
      );
  }

  /** Less than half of its last 20 results passed. */
  isBroken(test: KnownTest): boolean {
    const latest = this.evidence(test).slice(-20);
    return latest.filter((row) => this.oracle.isPositive(row)).length < latest.length / 2;
  }

  disruptions(test: KnownTest): Row[] {
    const evidence = this.evidence(test);
    return this.oracle.disruptionsInWindow(test).filter((disruption) =>
      evidence.some((row) => this.isSame(row, disruption)) &&
      this.isRepeatedSafely(disruption, evidence)
    );
  }

  /** It was repeated in a known job, or it passed in the same upload. */
  isRepeatedSafely({ submission }: Row, evidence: readonly Row[]): boolean {
    return submission.job !== "" ||
      evidence.some((row) => row.submission.id === submission.id && this.oracle.isPositive(row));
  }

  isSame(a: Row, b: Row): boolean {
    return a.submission.id === b.submission.id && a.position === b.position;
  }

  /** The results that count for entering, earliest first. */
  evidence(test: KnownTest): Row[] {
    return this.oracle.rowsInWindow(test).filter((row) =>
      this.isCounted(row) && row.submission.recordedAt >= this.leftAt(test) &&
      !this.isMassFailure(row.submission)
    );
  }

  isCounted(row: Row): boolean {
    return this.oracle.isPositive(row) || this.oracle.isNegative(row);
  }

  /** When it was removed last, or the end of a manual entry. */
  leftAt(test: KnownTest): number {
    const { state, now } = this.oracle;
    const removals = state.quarantineLog.filter((event) =>
      event.testId === test.id && event.action === "removed"
    );
    const ends = state.quarantines.filter((entry) =>
      entry.testId === test.id && entry.type === "manual" && !isActive(entry, now)
    );
    return Math.max(
      0,
      ...removals.map(({ at }) => at),
      ...ends.map(({ expiresAt }) => expiresAt ?? 0),
    );
  }

  /** More than a fifth of at least 20 tests failed. */
  isMassFailure(submission: PlainSubmission): boolean {
    const [ran, failed] = [new Set<string>(), new Set<string>()];
    for (const [position, result] of submission.results.entries()) {
      const row = { submission, position, result };
      const { suite, class: className, name, file } = result;
      const key = JSON.stringify([suite, className, name, file]);
      if (this.isCounted(row)) ran.add(key);
      if (this.oracle.isNegative(row)) failed.add(key);
    }
    return ran.size >= 20 && failed.size > ran.size / 5;
  }

  /** Whether a test passed often and long enough since its last failure, or since its quarantine. */
  isReleased(test: KnownTest): boolean {
    const rows = this.oracle.rowsOf(test);
    const last = rows.findLastIndex((row) => this.oracle.isNegative(row));
    const { now } = this.oracle;
    const since = rows[last]?.submission.recordedAt ?? this.entryOf(test)?.at ?? now;
    const passes = rows.slice(last + 1).filter((row) =>
      this.oracle.isPositive(row) && row.submission.recordedAt >= since
    );
    return passes.length >= this.policy.releasePasses && now - since >= this.policy.releaseAfter;
  }

  /** The owners of a test's file. */
  ownerOf(test: KnownTest): string | null {
    return this.oracle.ownersOf(test).join(", ") || null;
  }
}

/** Records in a state which tests a policy quarantined and released, and why. */
export function recordPolicy(
  oracle: Oracle,
  { repository, policy }: { repository: number; policy: PlainPolicy },
  changes: readonly PolicyChange[],
): void {
  const { state, now } = oracle;
  for (const { testId, action, reason } of changes) {
    if (action === "leave") removeQuarantine(state, testId, now, { by: "policy", reason });
    else {
      const test = state.tests.find(({ id }) => id === testId)!;
      addQuarantine(state, {
        repository,
        testId,
        at: now,
        by: "policy",
        type: "automatic",
        reason,
        owner: oracle.rules(policy).ownerOf(test),
        expiresAt: now + policy.expires,
      });
    }
  }
}
