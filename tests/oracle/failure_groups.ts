/** Failure groups in the most obvious way: filtered again for each of their fields. */
import type { FailedAttempt } from "../../lib/analysis/failure_groups.ts";

/** A failure with the id of its test. */
type PlainFailure = Omit<FailedAttempt, "position" | "test"> & { testId: string };

/** The groups of attempts, oldest first. */
export function plainGroups<T extends PlainFailure>(attempts: T[]) {
  const fingerprints = [...new Set(attempts.map(({ fingerprint }) => fingerprint))];
  const groups = fingerprints.map((fingerprint) => {
    const own = attempts.filter((attempt) => attempt.fingerprint === fingerprint);
    const failuresOf = (test: string) => own.filter(({ testId }) => testId === test).length;
    const tests = [...new Set(own.map(({ testId }) => testId))].sort()
      .toSorted((a, b) => failuresOf(b) - failuresOf(a));
    return {
      fingerprint,
      latest: own.at(-1)!,
      count: own.length,
      disruptionCount: own.filter(({ isDisruption }) => isDisruption).length,
      firstRecordedAt: own.at(0)!.recordedAt,
      lastRecordedAt: own.at(-1)!.recordedAt,
      branches: [...new Set(own.map(({ branch }) => branch))].filter((one) => one !== "").sort(),
      tests: tests.slice(0, 20),
      testCount: tests.length,
    };
  })
    .sort((a, b) => a.fingerprint < b.fingerprint ? -1 : 1)
    .toSorted((a, b) => b.lastRecordedAt - a.lastRecordedAt)
    .toSorted((a, b) => b.count - a.count);
  return { count: groups.length, groups: groups.slice(0, 50) };
}
