/** Breakages of a test on the base branch that were repaired: its failures in them do not show that it is flaky. */
import { type ImpliedPasses, NO_IMPLIED_PASSES } from "../analysis/repetition/implied_passes.ts";
import { type Run, SelectedTests } from "../analysis/run.ts";
import { MIN_BROKEN_RUNS } from "./states.ts";

/** How many passes after it show that it was repaired. */
const MIN_REPAIRED_RUNS = 20;

/** From the first failed run of a breakage to its last, both included, in seconds since 1970. */
interface Breakage {
  start: number;
  end: number;
}

/** Failed runs of a test in a row, and its passes after them. */
interface Stretch extends Breakage {
  failedCount: number;
  passCount: number;
}

/**
 * The repaired breakages of tests, by test_no: at least three runs in a row that failed in all attempts, and at least
 * twenty after them without a failed attempt. What failed meanwhile, on other branches too, was broken, not flaky.
 *
 * @param runs of one job in one environment on the base branch, newest first
 */
export function findRepairedBreakages(
  runs: readonly Run<"results" | "isOutage">[],
  { testNos, implied = NO_IMPLIED_PASSES }: { testNos: Iterable<number>; implied?: ImpliedPasses },
): Map<number, Breakage[]> {
  const selected = new SelectedTests(testNos);
  const found = new Map<number, Breakage[]>();
  const stretches = new Map<number, Stretch>();
  const pass = (testNo: number) => {
    const stretch = stretches.get(testNo);
    if (!stretch || ++stretch.passCount !== MIN_REPAIRED_RUNS) return;
    if (stretch.failedCount >= MIN_BROKEN_RUNS) {
      found.set(testNo, [...found.get(testNo) ?? [], { start: stretch.start, end: stretch.end }]);
    }
    stretches.delete(testNo);
  };
  for (const { recordedAt, isOutage, results } of runs.toReversed()) {
    if (isOutage) continue;
    results.each(selected, (testNo, { counts: { positive, negative } }) => {
      if (negative === 0) {
        if (positive > 0) pass(testNo);
      } else if (positive > 0) stretches.delete(testNo);
      else {
        const last = stretches.get(testNo);
        const before = last?.passCount === 0 ? last : { start: recordedAt, failedCount: 0 };
        const { start, failedCount } = before;
        stretches.set(testNo, {
          start,
          end: recordedAt,
          failedCount: failedCount + 1,
          passCount: 0,
        });
      }
    });
    for (const testNo of implied.in(results)) pass(testNo);
  }
  return found;
}
