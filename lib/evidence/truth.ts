// Tests: tests/lib/evidence/record_test.ts tests/lib/evidence/shares_test.ts
/** Whether a failure was due to the change: what later runs of the same code, and of its branch, showed. */
import { type RepeatedRun, repeats } from "../analysis/repetition/submissions.ts";

/** `not_the_change`: the same code passed, too; `the_change`: that, or the environment. */
export type Truth = "not_the_change" | "the_change";

/** Runs of a test at one code version. */
export interface VersionRuns {
  /** Submissions in which it passed or failed. */
  runCount: number;
  /** Whether it passed in one of them, or in a retry. */
  hasPassed: boolean;
  /** Fingerprints of what failed; none if they are unknown. */
  causes?: ReadonlySet<string>;
}

/** A run in which a test passed or failed. */
export interface TestOutcome {
  run: RepeatedRun;
  hasPassed: boolean;
  hasFailed: boolean;
}

/**
 * How a test ran at a code version. A pass counts in the run that failed, or in one that repeats it: that of
 * another leg or shard is not a second run of the test.
 *
 * @param outcomes in order, without failures in outages
 */
export function runsAt(
  outcomes: readonly TestOutcome[],
  { hasLegs, hasFile }: { hasLegs: boolean; hasFile: boolean },
): VersionRuns {
  const failed = outcomes.filter(({ hasFailed }) => hasFailed);
  const [first] = failed;
  if (!first) return { runCount: outcomes.length, hasPassed: outcomes.length > 0 };
  const isRepeated = (a: TestOutcome, b: TestOutcome) =>
    a === b || !hasLegs && repeats(a.run, b.run, { hasFile });
  return {
    runCount: outcomes.filter((one) => isRepeated(one, first)).length,
    hasPassed: outcomes.some((one) =>
      one.hasPassed && failed.some((other) => isRepeated(one, other))
    ),
  };
}

/** The first run and two more. */
const MIN_FAILED_RUNS = 3;

/** Code versions of a branch at which a test fails until this is due to the code. */
export const MIN_FAILED_VERSIONS = 3;

/** What the runs of one code version show of its failure; `null` while that is open. */
function truthOfVersion({ runCount, hasPassed }: VersionRuns): Truth | null {
  if (hasPassed) return "not_the_change";
  return runCount >= MIN_FAILED_RUNS ? "the_change" : null;
}

/** The code versions around one at which a test went on failing: from `start` to before `end`. */
interface Stretch {
  start: number;
  end: number;
}

/**
 * The stretch of failures that has the code version at `index`, which may be alone. A test that
 * fails for another cause than at the version before does not go on: a flaky one does so by chance.
 *
 * @param versions code versions of a branch at which the test ran, in the order of their first runs
 */
export function stretchAt(versions: readonly VersionRuns[], index: number): Stretch {
  const goesOn = (at: number) => {
    const [before, after] = [versions[at - 1], versions[at]];
    if (before?.hasPassed !== false || after?.hasPassed !== false) return false;
    const [causes, others] = [before.causes ?? NO_CAUSES, after.causes ?? NO_CAUSES];
    return causes.size === 0 || others.size === 0 || !causes.isDisjointFrom(others);
  };
  let start = index;
  while (goesOn(start)) start--;
  let end = index + 1;
  while (goesOn(end)) end++;
  return { start, end };
}

/**
 * The truth of the failure at the code version at `index`, `null` while it is open: the same code passed; or it ran
 * twice more and never passed, or it went on failing at three code versions in a row.
 *
 * @param versions as for {@linkcode stretchAt}
 */
export function truthAt(versions: readonly VersionRuns[], index: number): Truth | null {
  return truthOfVersion(versions[index]!) ??
    (isLong(stretchAt(versions, index)) ? "the_change" : null);
}

/** Whether a stretch of failures is due to the code. */
export function isLong({ start, end }: Stretch): boolean {
  return end - start >= MIN_FAILED_VERSIONS;
}

const NO_CAUSES: ReadonlySet<string> = new Set();
