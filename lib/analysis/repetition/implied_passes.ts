// Tests: tests/lib/analysis/repetition/submissions_test.ts
/** The passes of set-ups: no report has them. */
import { type RunResults, SelectedTests, type TestList } from "../run.ts";

/** The tests of a file, class or suite. */
export interface SetUpGroup {
  tests: readonly number[];
  /** Those that stand for a set-up. */
  setUps: readonly number[];
}

/** Finds the runs in which set-ups passed: tests of their group ran, and none of its set-ups is listed. */
export class ImpliedPasses {
  readonly #setUpsOf = new Map<SetUpGroup, number[]>();
  readonly #groupsOf = new Map<number, SetUpGroup[]>();
  readonly #members: SelectedTests;
  /** Of each list, how many tests of each group it has; groups with a set-up in it are left out. */
  readonly #counts = new Map<TestList, ReadonlyMap<SetUpGroup, number>>();

  /** @param setUpOf the group of a set-up, the same object for each of its set-ups */
  constructor(
    testNos: Iterable<number>,
    setUpOf: (testNo: number) => SetUpGroup | undefined,
  ) {
    for (const testNo of testNos) {
      const group = setUpOf(testNo);
      if (!group) continue;
      const known = this.#setUpsOf.get(group);
      if (known) known.push(testNo);
      else this.#setUpsOf.set(group, [testNo]);
    }
    const members = new Set<number>();
    for (const group of this.#setUpsOf.keys()) {
      for (const testNo of group.tests) {
        const known = this.#groupsOf.get(testNo);
        if (known) known.push(group);
        else this.#groupsOf.set(testNo, [group]);
      }
      for (const testNo of [...group.tests, ...group.setUps]) members.add(testNo);
    }
    this.#members = new SelectedTests(members);
  }

  /** The set-ups that passed in a run. */
  in(results: RunResults): number[] {
    if (this.#setUpsOf.size === 0) return [];
    const ran = new Map(this.#listedIn(results.tests));
    if (ran.size === 0) return [];
    results.eachException((testNo, { counts: { positive, negative } }) => {
      if (positive + negative > 0) return;
      for (const group of this.#groupsOf.get(testNo) ?? []) {
        const count = ran.get(group);
        if (count !== undefined) ran.set(group, count - 1);
      }
    });
    return [...ran].flatMap(([group, count]) => count > 0 ? this.#setUpsOf.get(group)! : []);
  }

  #listedIn(tests: TestList): ReadonlyMap<SetUpGroup, number> {
    const known = this.#counts.get(tests);
    if (known) return known;
    const counts = new Map<SetUpGroup, number>();
    const listed = new Set<number>();
    for (const index of this.#members.indexesIn(tests)) {
      const testNo = tests.testNos[index]!;
      listed.add(testNo);
      for (const group of this.#groupsOf.get(testNo) ?? []) {
        counts.set(group, (counts.get(group) ?? 0) + 1);
      }
    }
    for (const group of this.#setUpsOf.keys()) {
      if (group.setUps.some((testNo) => listed.has(testNo))) counts.delete(group);
    }
    this.#counts.set(tests, counts);
    return counts;
  }
}

export const NO_IMPLIED_PASSES = new ImpliedPasses([], () => undefined);
