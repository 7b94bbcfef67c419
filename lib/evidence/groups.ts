/** Tests that fail together: one fault behind several tests is one group. */

/** The failures of a test, whose causes are named by fingerprints or numbers. */
export interface FailedTest<Cause> {
  /** Numbers of its failed runs, from 0, each once. */
  runs: number[];
  /** Known causes of its failures, in any order. */
  causes: Iterable<Cause>;
}

/** Tests whose failing runs overlap, or that share a cause. */
interface GroupOfTests<Test> {
  /** In the order in which all tests came. */
  tests: Test[];
  /** Builds with a failure of one of its tests. */
  builds: number;
}

/** Why tests are one group: their failing runs overlap, they share a cause, or it takes both to join them. */
export type GroupedBy = "runs" | "cause" | "both";

/** How the tests of a group fail, as in "and 2 more that fail with it". */
export const FAIL_HOW: Record<GroupedBy, string> = {
  runs: "with it",
  cause: "the same way",
  both: "with it or the same way",
};

/** Fewer common runs happen by accident. */
const MIN_COMMON_RUNS = 3;

/** Common runs per run of either, at least (Jaccard index). */
const MIN_OVERLAP = 0.5;

/**
 * Groups of tests, those that cost most builds first; of equals, the one with the first of the tests.
 *
 * @param tests in an order that users can see, as that of their ids
 * @param buildOf the number of the build of each run; a run is a build unless given
 */
export function groupsByBuilds<Test extends FailedTest<unknown>>(
  tests: readonly Test[],
  buildOf: (run: number) => number = (run) => run,
): GroupOfTests<Test>[] {
  return groupTests(tests).map((tests) => ({ tests, builds: countBuilds(tests, buildOf) }))
    .sort((a, b) => b.builds - a.builds);
}

/**
 * Groups tests whose failing runs overlap by at least half, with at least 3 common, or that share a cause. A test
 * that fails alone is a group of its own.
 */
export function groupTests<Test extends FailedTest<unknown>>(tests: readonly Test[]): Test[][] {
  const groups = new DisjointSets(tests.length);
  const byCause = new Map<unknown, number>();
  for (let index = 0; index < tests.length; index++) {
    for (const cause of tests[index]!.causes) {
      const first = byCause.get(cause);
      if (first === undefined) byCause.set(cause, index);
      else groups.join(first, index);
    }
  }
  joinOverlapping(tests, groups);
  return [...Map.groupBy(tests, (_, index) => groups.rootOf(index)).values()];
}

/**
 * What joins the tests of a group that {@linkcode groupTests} found.
 *
 * @param tests all of them, at least two: some alone may have neither runs nor causes in common
 */
export function groupedBy(tests: readonly Pick<FailedTest<unknown>, "runs">[]): GroupedBy {
  const [first, ...others] = tests as [typeof tests[0], ...typeof tests];
  const runs = new Set(first.runs);
  const isWithFirst = (other: typeof first) =>
    doOverlap(runs.size, other.runs.length, other.runs.filter((run) => runs.has(run)).length);
  // As in an outage, where comparing all pairs of 2,000 tests takes 100 ms.
  if (others.every(isWithFirst)) return "runs";
  const groups = new DisjointSets(tests.length);
  joinOverlapping(tests, groups);
  const count = new Set(tests.keys().map((index) => groups.rootOf(index))).size;
  return count === 1 ? "runs" : count === tests.length ? "cause" : "both";
}

function countBuilds(
  tests: readonly Pick<FailedTest<unknown>, "runs">[],
  buildOf: (run: number) => number,
): number {
  const builds = new Set<number>();
  for (const { runs } of tests) {
    for (const run of runs) builds.add(buildOf(run));
  }
  return builds.size;
}

/**
 * One row for each group: of tests in some order, those of a group follow the first of them.
 *
 * @param groupOf what stands for the group of a test; a test in none is a row of its own
 */
export function rowsOfGroups<Test extends object>(
  tests: readonly Test[],
  groupOf: (test: Test) => object | undefined,
): [Test, ...Test[]][] {
  const rows = Map.groupBy(tests, (test) => groupOf(test) ?? test);
  return [...rows.values()] as [Test, ...Test[]][];
}

/** Whether two numbers of runs overlap enough in their common ones. */
function doOverlap(one: number, other: number, common: number): boolean {
  return common >= MIN_COMMON_RUNS && common >= MIN_OVERLAP * (one + other - common);
}

/** A run with more than this share of the tests is counted by a bit of each test. */
const MANY_TESTS = 1 / 8;

/**
 * Counts the common runs of all pairs: of runs with few failed tests by their lists, of others, such as outages, by
 * sets of bits. 2,000 tests with 25 of 1,000 runs each have a million common runs, where all pairs of sets have 64
 * million words; by lists alone, an outage of all tests costs as much as 16 bits.
 */
function joinOverlapping(
  tests: readonly Pick<FailedTest<unknown>, "runs">[],
  groups: DisjointSets,
): void {
  const places = [...tests.keys()].filter((index) => tests[index]!.runs.length >= MIN_COMMON_RUNS);
  if (new Set(places.map((place) => groups.rootOf(place))).size <= 1) return;
  const counts = new Map<number, number>();
  for (const place of places) {
    for (const run of tests[place]!.runs) counts.set(run, (counts.get(run) ?? 0) + 1);
  }
  const many = [...counts].filter(([, count]) => count > MANY_TESTS * places.length);
  const bitOf = new Map(many.map(([run], bit) => [run, bit]));
  const words = Math.ceil(bitOf.size / 32);
  const bits = new Uint32Array(places.length * words);
  /** The tests before this one that failed in a run. */
  const earlier = new Map(Array.from(counts.keys(), (run) => [run, [] as number[]]));
  const common = new Uint32Array(places.length);
  for (let one = 0; one < places.length; one++) {
    const { runs } = tests[places[one]!]!;
    common.fill(0, 0, one);
    // Where no run has many tests, only those with enough common runs need be looked at.
    const candidates: number[] = [];
    for (const run of runs) {
      const bit = bitOf.get(run);
      if (bit !== undefined) {
        bits[one * words + (bit >>> 5)]! |= 1 << (bit & 31);
        continue;
      }
      const others = earlier.get(run)!;
      for (let at = 0; at < others.length; at++) {
        const other = others[at]!;
        if (++common[other]! === MIN_COMMON_RUNS) candidates.push(other);
      }
      others.push(one);
    }
    for (let next = 0, end = words === 0 ? candidates.length : one; next < end; next++) {
      const other = words === 0 ? candidates[next]! : next;
      const size = tests[places[other]!]!.runs.length;
      const [less, more] = [Math.min(runs.length, size), Math.max(runs.length, size)];
      if (less < MIN_OVERLAP * more) continue;
      if (groups.rootOf(places[one]!) === groups.rootOf(places[other]!)) continue;
      const count = common[other]! +
        countCommon(bits, { one: one * words, other: other * words, words });
      if (doOverlap(runs.length, size, count)) {
        groups.join(places[one]!, places[other]!);
      }
    }
  }
}

/** The bits that two ranges of `words` words have in common; `one` and `other` are where they begin. */
function countCommon(
  bits: Uint32Array,
  { one, other, words }: { one: number; other: number; words: number },
): number {
  let count = 0;
  for (let word = 0; word < words; word++) {
    for (let rest = bits[one + word]! & bits[other + word]!; rest !== 0; rest &= rest - 1) count++;
  }
  return count;
}

/** Union-find over the numbers below `size`. */
class DisjointSets {
  readonly #parents: number[];

  constructor(size: number) {
    this.#parents = Array.from({ length: size }, (_, index) => index);
  }

  rootOf(index: number): number {
    let root = index;
    while (this.#parents[root] !== root) root = this.#parents[root]!;
    // Path compression: the next look-up is short.
    for (let at = index; at !== root;) {
      const parent = this.#parents[at]!;
      this.#parents[at] = root;
      at = parent;
    }
    return root;
  }

  join(one: number, other: number): void {
    this.#parents[this.rootOf(other)] = this.rootOf(one);
  }
}
