/** Failure groups in the most obvious way: filtered again for each of their fields. */
import { fingerprint } from "../../lib/analysis/failure_groups.ts";
import { compareTexts } from "../../lib/base/text.ts";
import type { FailedAttempt } from "../lib/analysis/grouped_failures.ts";

/** A failure with the id of its test. */
type PlainFailure = Omit<FailedAttempt, "position" | "test"> & { testId: string };

/** An unknown cause is equal to no other: the failure itself. */
function causeOf(failure: PlainFailure): unknown {
  return failure.fingerprint === fingerprint("") ? failure : failure.fingerprint;
}

/** The groups of attempts, oldest first. */
export function plainGroups<T extends PlainFailure>(attempts: T[]) {
  const causes = new Set(attempts.map(causeOf));
  const groups = [...causes].toReversed().map((cause) => {
    const own = attempts.filter((attempt) => causeOf(attempt) === cause);
    const { fingerprint } = own[0]!;
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
    .sort((a, b) => compareTexts(a.fingerprint, b.fingerprint))
    .toSorted((a, b) => b.lastRecordedAt - a.lastRecordedAt)
    .toSorted((a, b) => b.count - a.count);
  return { count: groups.length, groups: groups.slice(0, 50) };
}
