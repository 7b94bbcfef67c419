/** How long files, classes and tests take, from the durations of their latest runs. */
import type { TestLists } from "./run_counts.ts";
import { decodeOverheads } from "./suite_overheads.ts";
import { VarintReader } from "./varint.ts";

/** What durations are of. */
export const DURATION_UNITS = ["file", "class", "test"] as const;

export type DurationUnit = typeof DURATION_UNITS[number];

/** The runs of each that count: enough for a percentile, few enough to follow a change within days. */
export const MAX_RUNS = 20;

export interface TestGroups {
  /** Group of each test by test_no; -1, or beyond the end, for tests that are in none. */
  groupOf: Int32Array;
  groupCount: number;
}

/** The durations of a submission's tests, as stored. */
export interface StoredDurations {
  testListNo: number;
  durations: Uint8Array;
  /** Microseconds. */
  durationUnit: number;
  /** The time of suites beyond their tests. */
  overheads: Uint8Array;
}

/** How long the latest runs of a group took, in microseconds. */
export interface GroupDurations {
  group: number;
  medianMicroseconds: number;
  p90Microseconds: number;
  /** Median time of the suites of a file or class beyond their tests; 0 where the reports have none. */
  overheadMicroseconds: number;
  /** Runs that these are of, at most {@linkcode MAX_RUNS}. */
  runCount: number;
}

/**
 * The submissions with the latest runs of each group, as indexes, newest first: a group runs in a
 * submission when any of its tests does.
 *
 * @param testListNos of submissions, newest first
 */
export function submissionsWithLatestRuns(
  testListNos: readonly number[],
  { lists, groups, maxRuns = MAX_RUNS }: {
    lists: TestLists;
    groups: TestGroups;
    maxRuns?: number;
  },
): number[] {
  const runCounts = new Int32Array(groups.groupCount);
  const groupsOfList = new Map<number, Int32Array>();
  // Lists of which every group has enough runs: checking all groups again would be slow.
  const finished = new Set<number>();
  const needed: number[] = [];
  for (const [index, testListNo] of testListNos.entries()) {
    if (finished.has(testListNo)) continue;
    let own = groupsOfList.get(testListNo);
    if (!own) groupsOfList.set(testListNo, own = groupsIn(lists.get(testListNo)!, groups));
    if (own.every((group) => runCounts[group]! >= maxRuns)) finished.add(testListNo);
    else {
      needed.push(index);
      for (const group of own) runCounts[group]!++;
    }
  }
  return needed;
}

function groupsIn(testNos: Int32Array, { groupOf, groupCount }: TestGroups): Int32Array {
  const isIn = new Uint8Array(groupCount);
  const found = new Int32Array(groupCount);
  let count = 0;
  for (const testNo of testNos) {
    const group = groupOf[testNo] ?? -1;
    if (group < 0 || isIn[group] === 1) continue;
    isIn[group] = 1;
    found[count++] = group;
  }
  return found.slice(0, count);
}

/** The group of each test of some arrays, and of those between: none so far. */
export function emptyGroups(testNos: Iterable<Int32Array>): Int32Array {
  let end = 0;
  for (const own of testNos) for (const testNo of own) if (testNo >= end) end = testNo + 1;
  return new Int32Array(end).fill(-1);
}

/** Each test of the lists as a group of its own, and its test_no by group. */
export function testsAsGroups(lists: TestLists): { groups: TestGroups; testNos: Int32Array } {
  const groupOf = emptyGroups(lists.values());
  const testNos = new Int32Array(groupOf.length);
  let groupCount = 0;
  for (const own of lists.values()) {
    for (const testNo of own) {
      if (groupOf[testNo]! >= 0) continue;
      groupOf[testNo] = groupCount;
      testNos[groupCount++] = testNo;
    }
  }
  return { groups: { groupOf, groupCount }, testNos: testNos.slice(0, groupCount) };
}

/** Collects the durations of the latest runs of each group: the time of all its tests, with retries. */
export class LatestDurations {
  readonly #groups: TestGroups;
  readonly #lists: TestLists;
  readonly #runCounts: Int32Array;
  /** The runs of each group next to each other, in ascending order. */
  readonly #runs: Float64Array;
  readonly #sums: Float64Array;
  readonly #unit: DurationUnit;
  /** As runs; `null` before the first. */
  #overheads: Float64Array | null = null;
  readonly #overheadSums: Float64Array;

  constructor(
    { lists, groups, unit = "test" }: { lists: TestLists; groups: TestGroups; unit?: DurationUnit },
  ) {
    this.#unit = unit;
    this.#overheadSums = new Float64Array(groups.groupCount);
    this.#groups = groups;
    this.#lists = lists;
    this.#runCounts = new Int32Array(groups.groupCount);
    this.#runs = new Float64Array(groups.groupCount * MAX_RUNS);
    this.#sums = new Float64Array(groups.groupCount);
  }

  /** Adds a submission; the newest one first. */
  add({ testListNo, durations, durationUnit, overheads }: StoredDurations): void {
    const { groupOf, groupCount } = this.#groups;
    this.#addOverheads(overheads);
    const sums = this.#sums.fill(-1);
    const reader = new VarintReader(durations);
    for (const testNo of this.#lists.get(testListNo)!) {
      const duration = reader.read() * durationUnit;
      const group = groupOf[testNo] ?? -1;
      if (group >= 0) sums[group] = Math.max(sums[group]!, 0) + duration;
    }
    const runs = this.#runs;
    const runCounts = this.#runCounts;
    for (let group = 0; group < groupCount; group++) {
      const count = runCounts[group]!;
      if (sums[group]! < 0 || count === MAX_RUNS) continue;
      const start = group * MAX_RUNS;
      insert(runs, { start, count, value: sums[group]! });
      // Runs before the first overhead have none, and the array begins with zeros.
      if (this.#overheads) {
        insert(this.#overheads, { start, count, value: this.#overheadSums[group]! });
      }
      runCounts[group] = count + 1;
    }
  }

  #addOverheads(overheads: Uint8Array): void {
    if (this.#unit === "test") return;
    this.#overheadSums.fill(0);
    for (const { testNo, microseconds, isOneClass } of decodeOverheads(overheads)) {
      const group = this.#groups.groupOf[testNo] ?? -1;
      if (group < 0 || this.#unit === "class" && !isOneClass) continue;
      this.#overheads ??= new Float64Array(this.#runs.length);
      this.#overheadSums[group]! += microseconds;
    }
  }

  /** Every group that ran, and the median of each in microseconds, in the same order. */
  medians(): { groups: Int32Array; medians: Float64Array } {
    const { groupCount } = this.#groups;
    const groups = new Int32Array(groupCount);
    const medians = new Float64Array(groupCount);
    let count = 0;
    for (let group = 0; group < groupCount; group++) {
      const runCount = this.#runCounts[group]!;
      if (runCount === 0) continue;
      groups[count] = group;
      medians[count++] = this.#runs[group * MAX_RUNS + rank(50, runCount)]!;
    }
    return { groups: groups.subarray(0, count), medians: medians.subarray(0, count) };
  }

  /** A group that ran. */
  of(group: number): GroupDurations {
    const runCount = this.#runCounts[group]!;
    const start = group * MAX_RUNS;
    return {
      group,
      medianMicroseconds: this.#runs[start + rank(50, runCount)]!,
      p90Microseconds: this.#runs[start + rank(90, runCount)]!,
      overheadMicroseconds: this.#overheads?.[start + rank(50, runCount)] ?? 0,
      runCount,
    };
  }

  /** Every group that ran. */
  finish(): GroupDurations[] {
    return Array.from(this.medians().groups, (group) => this.of(group));
  }
}

/**
 * Inserts a value into sorted ones: faster than sorting at the end, which takes a comparator. A view of
 * the values for each of 400,000 inserts would take longer than the inserts.
 */
function insert(
  values: Float64Array,
  { start, count, value }: { start: number; count: number; value: number },
): void {
  let at = start + count;
  while (at > start && values[at - 1]! > value) values[at] = values[--at]!;
  values[at] = value;
}

/** Index of a percentile in sorted values, by the nearest rank: always one of them. */
function rank(percent: number, count: number): number {
  return Math.ceil(percent * count / 100) - 1;
}
