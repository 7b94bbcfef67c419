/**
 * Finds tests that became slower, from the durations of their runs.
 *
 * A slow machine makes all tests of a run slower, so durations are compared within runs: each is divided
 * by how much slower than usual the run was as a whole, the median over its tests.
 */
import { latestRuns, type TestGroups } from "./durations.ts";
import type { Run } from "./run.ts";
import { SECONDS_PER_DAY } from "../base/time.ts";

/** Orders of slow tests: by the time of all runs, of the median run, or by how much slower they became. */
export const SLOW_ORDERS = ["total", "median", "slower"] as const;

export type SlowOrder = typeof SLOW_ORDERS[number];

export type TimedRun = Run<"commitOid" | "durations">;

/** When and by how much a test became slower. */
export interface SlowDown {
  /** Microseconds of the median run before and since, of runs at the usual speed. */
  beforeMicroseconds: number;
  afterMicroseconds: number;
  /** The last run before: its commit is still fast. */
  lastBefore: Pick<TimedRun, "submissionId" | "commitOid" | "recordedAt">;
  /** The first run since. */
  firstAfter: Pick<TimedRun, "submissionId" | "commitOid" | "recordedAt">;
}

/** What slow tests are ordered by, in descending order. */
export function slownessOf(
  { totalMicroseconds, medianMicroseconds, slowDown }: {
    totalMicroseconds: number;
    medianMicroseconds: number;
    slowDown: SlowDown | null;
  },
  sort: SlowOrder,
): number {
  if (sort === "total") return totalMicroseconds;
  if (sort === "median") return medianMicroseconds;
  return slowDown ? slowDown.afterMicroseconds - slowDown.beforeMicroseconds : 0;
}

/** Enough to see a slow-down, few enough for a repository with a thousand runs a day. */
const RUNS_PER_DAY = 8;

/** The durations of 20,000 tests take about 40 kB each. */
const MAX_DAILY_RUNS = 500;

/** The latest runs of each group on each day, in which slow-downs are looked for. Newest first, as `runs`. */
export function dailyRuns<Given extends Run<"tests" | "environment">>(
  runs: readonly Given[],
  groups: TestGroups,
): Given[] {
  const environment = commonEnvironment(runs);
  const days = Map.groupBy(
    runs.filter((run) => run.environment === environment),
    ({ recordedAt }) => Math.floor(recordedAt / SECONDS_PER_DAY),
  );
  return [...days.values()].flatMap((own) => latestRuns(own, groups, { maxRuns: RUNS_PER_DAY }))
    .slice(0, MAX_DAILY_RUNS);
}

/** The environment of most runs: durations of different ones cannot be compared. */
function commonEnvironment(runs: readonly Run<"environment">[]): string {
  const counts = [...Map.groupBy(runs, ({ environment }) => environment)];
  counts.sort(([a, { length: aCount }], [b, { length: bCount }]) =>
    bCount - aCount || (a < b ? -1 : 1)
  );
  return counts[0]?.[0] ?? "";
}

const MIN_RUNS = 20;
const MIN_DAYS = 3;
const MIN_RATIO = 1.2;
const MIN_INCREASE_MICROSECONDS = 1_000_000;
/** Fewer runs on a side do not show a level: the machine of one run may have been busy. */
const MIN_SIDE = 5;
/** That chance makes such a step: ten runs slower than each of ten others have 0.0016. */
const MAX_PROBABILITY = 0.002;
/** Minimum number of tests for the speed of a run: with fewer, the slow test itself would decide it. */
const MIN_COMPARED = 3;
const MAX_COMPARED = 1_000;
/** Shorter tests measure the clock. */
const MIN_COMPARED_MICROSECONDS = 10_000;

/**
 * The tests that became slower, by test_no: at least 20 runs on 3 days, with a moment since when the
 * median is at least 20 % and 1 s longer, and a quarter of the runs before is slower than three quarters
 * since at most.
 *
 * @param runs oldest first
 * @param usual microseconds of the median run of each test, by test_no; 0 where it is unknown
 */
export function findSlowDowns(
  runs: readonly TimedRun[],
  usual: Float64Array,
): Map<number, SlowDown> {
  // By test_no: a look-up in a map for each of two million results takes longer than all the rest.
  const series: (Series | undefined)[] = [];
  for (const microseconds of usual) {
    // A median of runs since then, or of runs before it that are more.
    const isLong = microseconds * MIN_RUNS >= MIN_INCREASE_MICROSECONDS;
    series.push(isLong ? { runs: [], microseconds: [], least: Infinity, most: 0 } : undefined);
  }
  let durations: Float64Array | undefined;
  for (const run of runs) {
    const { testNos } = run.durations.tests;
    durations = run.durations.microseconds(durations);
    const speed = speedOf(testNos, durations, usual);
    if (speed === null) continue;
    for (let index = 0; index < testNos.length; index++) {
      const own = series[testNos[index]!];
      // Skipped tests took no time.
      if (!own || durations[index]! === 0) continue;
      const microseconds = durations[index]! / speed;
      own.runs.push(run);
      own.microseconds.push(microseconds);
      own.least = Math.min(own.least, microseconds);
      own.most = Math.max(own.most, microseconds);
    }
  }
  const found = new Map<number, SlowDown>();
  for (const [testNo, own] of series.entries()) {
    // Medians are not further apart than the extremes, which spares nearly all tests the sorting.
    if (!own || own.most - own.least < MIN_INCREASE_MICROSECONDS) continue;
    const slowDown = slowDownIn(own);
    if (slowDown) found.set(testNo, slowDown);
  }
  return found;
}

/** The runs of a test, oldest first, with its durations at the usual speed. */
interface Series {
  runs: TimedRun[];
  microseconds: number[];
  least: number;
  most: number;
}

/** How many times slower than usual a run was; `null` when too few tests tell. */
function speedOf(
  testNos: Int32Array,
  durations: Float64Array,
  usual: Float64Array,
): number | null {
  const ratios = new Float64Array(MAX_COMPARED);
  let count = 0;
  for (let index = 0; index < testNos.length && count < MAX_COMPARED; index++) {
    const expected = usual[testNos[index]!] ?? 0;
    if (expected < MIN_COMPARED_MICROSECONDS || durations[index]! === 0) continue;
    ratios[count++] = durations[index]! / expected;
  }
  return count < MIN_COMPARED ? null : quantile(ratios.subarray(0, count).sort(), 0.5);
}

function slowDownIn({ runs, microseconds }: Series): SlowDown | null {
  const days = new Set(runs.map(({ recordedAt }) => Math.floor(recordedAt / SECONDS_PER_DAY)));
  if (runs.length < MIN_RUNS || days.size < MIN_DAYS) return null;
  const at = cleanStep(microseconds) ?? largestStep(microseconds);
  if (at === null) return null;
  const before = Float64Array.from(microseconds.slice(0, at)).sort();
  const after = Float64Array.from(microseconds.slice(at)).sort();
  const [beforeMicroseconds, afterMicroseconds] = [quantile(before, 0.5), quantile(after, 0.5)];
  const isSlower = afterMicroseconds >= MIN_RATIO * beforeMicroseconds &&
    afterMicroseconds - beforeMicroseconds >= MIN_INCREASE_MICROSECONDS &&
    quantile(after, 0.25) > quantile(before, 0.75);
  if (!isSlower) return null;
  return {
    beforeMicroseconds: Math.round(beforeMicroseconds),
    afterMicroseconds: Math.round(afterMicroseconds),
    lastBefore: placeOf(runs[at - 1]!),
    firstAfter: placeOf(runs[at]!),
  };
}

function placeOf({ submissionId, commitOid, recordedAt }: TimedRun) {
  return { submissionId, commitOid, recordedAt };
}

/**
 * The index from which on every value is above every one before, with the widest gap; `null` without one.
 * Of 20 values in any order, 0.0002 have one: few runs since are enough then, where Pettitt's test, made
 * for sides of about the same length, waits for more.
 */
function cleanStep(values: readonly number[]): number | null {
  const leastSince = new Float64Array(values.length + 1).fill(Infinity);
  for (let index = values.length - 1; index >= 0; index--) {
    leastSince[index] = Math.min(values[index]!, leastSince[index + 1]!);
  }
  let best: number | null = null;
  let [most, widest] = [0, 0];
  for (let at = 1; at <= values.length - MIN_SIDE; at++) {
    most = Math.max(most, values[at - 1]!);
    const gap = leastSince[at]! - most;
    if (at >= MIN_SIDE && gap > widest) [best, widest] = [at, gap];
  }
  return best;
}

/**
 * The index that divides values into two levels best, by Pettitt's test: where the ranks of the two sides
 * differ most. Ranks, so that one outlier decides nothing. `null` when chance may have made it.
 */
function largestStep(values: readonly number[]): number | null {
  const ranks = new Float64Array(values.length);
  const order = [...values.keys()].sort((a, b) => values[a]! - values[b]!);
  for (const [rank, index] of order.entries()) ranks[index] = rank - (values.length - 1) / 2;
  let best = MIN_SIDE;
  let most = -1;
  let sum = 0;
  for (let at = 1; at <= values.length - MIN_SIDE; at++) {
    sum += ranks[at - 1]!;
    if (at >= MIN_SIDE && Math.abs(sum) > most) [best, most] = [at, Math.abs(sum)];
  }
  const count = values.length;
  const probability = 2 * Math.exp(-6 * (2 * most) ** 2 / (count ** 3 + count ** 2));
  return probability > MAX_PROBABILITY ? null : best;
}

function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.floor(share * (sorted.length - 1))]!;
}
