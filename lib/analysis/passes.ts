/** How often tests passed, for those that say that a test has calmed down. */
import { type Run, SelectedTests } from "./run.ts";

/** In how many runs each of some tests passed at least once, by test_no. */
export function countPasses(
  runs: readonly Run<"results">[],
  testNos: readonly number[],
): Map<number, number> {
  const passes = new Map(testNos.map((testNo) => [testNo, 0]));
  const selected = new SelectedTests(testNos);
  for (const { results } of runs) {
    results.each(selected, (testNo, { counts }) => {
      if (counts.positive > 0) passes.set(testNo, passes.get(testNo)! + 1);
    });
  }
  return passes;
}
