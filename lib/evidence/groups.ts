/** Tests that fail together: one fault behind several tests is one group. */

/** A failed run of a test. */
interface FailedRun {
  testNo: number;
  /** The submission. */
  runId: string;
  /** The build of the submission. */
  buildId: string;
  /** Known causes of the failure; an unknown cause is none. */
  fingerprints: readonly string[];
}

/** Tests whose failing runs overlap, or that share a cause. */
interface FailureGroup {
  testNos: number[];
  /** Causes of its failures. */
  fingerprints: string[];
  /** Builds with a failure of one of its tests. */
  builds: number;
}

/** Fewer common runs happen by accident. */
const MIN_COMMON_RUNS = 3;

/** Common runs per run of either, at least (Jaccard index). */
const MIN_OVERLAP = 0.5;

/**
 * Groups tests whose failing runs overlap by at least half, with at least 3 common, or that share a cause; the
 * group that cost most builds first. A test that fails alone is a group of its own.
 */
export function groupFailures(failures: readonly FailedRun[]): FailureGroup[] {
  const byTest = Map.groupBy(failures, ({ testNo }) => testNo);
  const testNos = [...byTest.keys()].sort((a, b) => a - b);
  const groups = new DisjointSets(testNos.length);
  const byCause = new Map<string, number>();
  for (const [index, testNo] of testNos.entries()) {
    for (const fingerprint of byTest.get(testNo)!.flatMap((one) => one.fingerprints)) {
      const first = byCause.get(fingerprint);
      if (first === undefined) byCause.set(fingerprint, index);
      else groups.join(first, index);
    }
  }
  joinOverlapping(testNos.map((testNo) => byTest.get(testNo)!), groups);
  const members = Map.groupBy(testNos.keys(), (index) => groups.rootOf(index));
  return [...members.values()].map((indexes) => {
    const own = indexes.flatMap((index) => byTest.get(testNos[index]!)!);
    return {
      testNos: indexes.map((index) => testNos[index]!),
      fingerprints: [...new Set(own.flatMap(({ fingerprints }) => fingerprints))].sort(),
      builds: new Set(own.map(({ buildId }) => buildId)).size,
    };
  }).sort((a, b) => b.builds - a.builds || a.testNos[0]! - b.testNos[0]!);
}

/**
 * One row for each group: of tests in some order, those of a group follow the first of them.
 *
 * @param groups ids of tests, each in one group; a test in none is a row of its own
 */
export function rowsOfGroups<Test extends { id: string }>(
  tests: readonly Test[],
  groups: readonly (readonly string[])[],
): [Test, ...Test[]][] {
  const groupOf = new Map(groups.flatMap((ids) => ids.map((id) => [id, ids] as const)));
  const rows = Map.groupBy(tests, ({ id }) => groupOf.get(id) ?? id);
  return [...rows.values()] as [Test, ...Test[]][];
}

/** Compares all pairs by sets of bits: 2,000 tests with 200 runs take 30 ms. */
function joinOverlapping(failures: readonly (readonly FailedRun[])[], groups: DisjointSets): void {
  const runNos = new Map<string, number>();
  for (const { runId } of failures.flat()) {
    if (!runNos.has(runId)) runNos.set(runId, runNos.size);
  }
  const words = Math.ceil(runNos.size / 32);
  const sets = failures.map((own) => {
    const runs = new Set(own.map(({ runId }) => runNos.get(runId)!));
    const bits = new Uint32Array(words);
    for (const run of runs) bits[run >>> 5]! |= 1 << (run & 31);
    return { bits, size: runs.size };
  });
  for (const [index, one] of sets.entries()) {
    if (one.size < MIN_COMMON_RUNS) continue;
    for (let next = index + 1; next < sets.length; next++) {
      const other = sets[next]!;
      const [less, more] = [Math.min(one.size, other.size), Math.max(one.size, other.size)];
      if (less < MIN_COMMON_RUNS || less < MIN_OVERLAP * more) continue;
      if (groups.rootOf(index) === groups.rootOf(next)) continue;
      const common = countCommon(one.bits, other.bits);
      const either = one.size + other.size - common;
      if (common >= MIN_COMMON_RUNS && common >= MIN_OVERLAP * either) groups.join(index, next);
    }
  }
}

function countCommon(one: Uint32Array, other: Uint32Array): number {
  let count = 0;
  for (let word = 0; word < one.length; word++) {
    for (let bits = one[word]! & other[word]!; bits !== 0; bits &= bits - 1) count++;
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
