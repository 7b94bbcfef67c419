/** How long files, classes and tests take, from the durations of their latest runs. */
import { SECONDS_PER_WEEK } from "../base/time.ts";
import type { Run, RunDurations, TestList } from "./run.ts";

export const DURATION_UNITS = ["file", "class", "test"] as const;

export type DurationUnit = typeof DURATION_UNITS[number];

/** The runs of each that count: enough for a percentile, few enough to follow a change within days. */
export const MAX_RUNS = 20;

export interface TestGroups {
  /** Group of each test by test_no; -1, or beyond the end, for tests that are in none. */
  groupOf: Int32Array;
  groupCount: number;
}

/** How long the latest runs took, in microseconds. */
export interface RunTimes {
  medianMicroseconds: number;
  p90Microseconds: number;
  /** Runs that these are of, at most {@linkcode MAX_RUNS}. */
  runCount: number;
}

/** How long the latest runs of a group took, in microseconds. */
export interface GroupDurations extends RunTimes {
  group: number;
  /** Median time of the suites of a file or class beyond their tests; 0 where the reports have none. */
  overheadMicroseconds: number;
}

/**
 * The runs with the latest ones of each group: a group runs when any of its tests does.
 *
 * @param runs newest first, as what is returned
 */
export function latestRuns<Given extends Run<"tests">>(
  runs: readonly Given[],
  groups: TestGroups,
  { maxRuns = MAX_RUNS }: { maxRuns?: number } = {},
): Given[] {
  const runCounts = new Int32Array(groups.groupCount);
  const groupsOfList = new Map<TestList, Int32Array>();
  // Lists of which every group has enough runs: checking all groups again would be slow.
  const finished = new Set<TestList>();
  const needed: Given[] = [];
  for (const run of runs) {
    const { tests } = run;
    if (finished.has(tests)) continue;
    let own = groupsOfList.get(tests);
    if (!own) groupsOfList.set(tests, own = groupsIn(tests.testNos, groups));
    if (own.every((group) => runCounts[group]! >= maxRuns)) finished.add(tests);
    else {
      needed.push(run);
      for (const group of own) runCounts[group]!++;
    }
  }
  return needed;
}

/** How long the latest runs of a test took, from the microseconds of each of them; `null` without a run. */
export function runTimesOf(microseconds: readonly number[]): RunTimes | null {
  const runs = Float64Array.from(microseconds).sort();
  if (runs.length === 0) return null;
  return {
    medianMicroseconds: runs[rank(50, runs.length)]!,
    p90Microseconds: runs[rank(90, runs.length)]!,
    runCount: runs.length,
  };
}

/** Runs by the number of the week since a moment, without those before it and after the last one. */
export function runsByWeek<Given extends Run>(
  runs: readonly Given[],
  { since, weeks }: { since: number; weeks: number },
): Map<number, Given[]> {
  const weekOf = ({ recordedAt }: Given) => Math.floor((recordedAt - since) / SECONDS_PER_WEEK);
  return Map.groupBy(runs.filter((run) => weekOf(run) >= 0 && weekOf(run) < weeks), weekOf);
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

/** The tests of each array as a group. */
export function groupsOf(testNos: readonly Int32Array[]): TestGroups {
  const groupOf = emptyGroups(testNos);
  for (const [group, own] of testNos.entries()) for (const testNo of own) groupOf[testNo] = group;
  return { groupOf, groupCount: testNos.length };
}

/** The group of each test of some arrays, and of those between: none so far. */
function emptyGroups(testNos: readonly Int32Array[]): Int32Array {
  let end = 0;
  for (const own of testNos) for (const testNo of own) if (testNo >= end) end = testNo + 1;
  return new Int32Array(end).fill(-1);
}

/** Each test of some runs as a group of its own, and its test_no by group. */
export function testsAsGroups(
  runs: readonly Run<"tests">[],
): { groups: TestGroups; testNos: Int32Array } {
  const lists = Array.from(new Set(runs.map(({ tests }) => tests)), ({ testNos }) => testNos);
  const groupOf = emptyGroups(lists);
  const testNos = new Int32Array(groupOf.length);
  let groupCount = 0;
  for (const own of lists) {
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
  readonly #runCounts: Int32Array;
  /** The runs of each group next to each other, in ascending order. */
  readonly #runs: Float64Array;
  readonly #sums: Float64Array;
  readonly #unit: DurationUnit;
  /** Where the tests of the groups are in each list. */
  readonly #indexes = new Map<TestList, Int32Array>();
  /** Of the tests of the run that was added last. */
  #microseconds: Float64Array = new Float64Array();
  /** As runs; `null` before the first. */
  #overheads: Float64Array | null = null;
  readonly #overheadSums: Float64Array;

  constructor(groups: TestGroups, unit: DurationUnit = "test") {
    this.#unit = unit;
    this.#overheadSums = new Float64Array(groups.groupCount);
    this.#groups = groups;
    this.#runCounts = new Int32Array(groups.groupCount);
    this.#runs = new Float64Array(groups.groupCount * MAX_RUNS);
    this.#sums = new Float64Array(groups.groupCount);
  }

  #indexesIn(tests: TestList): Int32Array {
    const known = this.#indexes.get(tests);
    if (known) return known;
    const { groupOf } = this.#groups;
    const { testNos } = tests;
    const found = new Int32Array(testNos.length);
    let count = 0;
    for (let index = 0; index < testNos.length; index++) {
      if ((groupOf[testNos[index]!] ?? -1) >= 0) found[count++] = index;
    }
    const indexes = found.slice(0, count);
    this.#indexes.set(tests, indexes);
    return indexes;
  }

  /** Adds a run; the newest one first. */
  add({ durations }: Run<"durations">): void {
    const { groupOf, groupCount } = this.#groups;
    this.#addOverheads(durations);
    const sums = this.#sums.fill(-1);
    const { tests } = durations;
    const indexes = this.#indexesIn(tests);
    const microseconds = this.#microseconds = durations.microsecondsAt(indexes, this.#microseconds);
    for (let at = 0; at < indexes.length; at++) {
      const group = groupOf[tests.testNos[indexes[at]!]!]!;
      sums[group] = Math.max(sums[group]!, 0) + microseconds[at]!;
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

  #addOverheads(durations: RunDurations): void {
    if (this.#unit === "test") return;
    this.#overheadSums.fill(0);
    for (const { testNo, microseconds, isOneClass } of durations.overheads()) {
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
