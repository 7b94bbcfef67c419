/**
 * Finds tests that became slower, from the durations of their runs.
 *
 * A slow machine makes all tests of a run slower, so durations are compared within runs: each is divided
 * by how much slower than usual the run was as a whole, the median over its tests.
 */
import type { StoredDurations } from "./durations.ts";
import type { TestLists } from "./run_counts.ts";
import { VarintReader } from "./varint.ts";
import { SECONDS_PER_DAY } from "../base/time.ts";

/** Orders of slow tests: by the time of all runs, of the median run, or by how much slower they became. */
export const SLOW_ORDERS = ["total", "median", "slower"] as const;

export type SlowOrder = typeof SLOW_ORDERS[number];

/** A run of a submission's tests. */
export interface TimedRun extends Omit<StoredDurations, "overheads"> {
  submissionId: string;
  commitOid: string;
  /** Seconds since 1970. */
  recordedAt: number;
}

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

const MIN_RUNS = 20;
const MIN_DAYS = 3;
const MIN_RATIO = 1.2;
const MIN_INCREASE_MICROSECONDS = 1_000_000;
/** Fewer runs on a side do not show a level: the machine of one run may have been busy. */
const MIN_SIDE = 5;
/** That chance makes such a step: ten runs slower than each of ten others have 0.0016. */
const MAX_PROBABILITY = 0.002;
/** The speed of a run needs at least so many tests, or the slow test itself would decide it. */
const MIN_COMPARED = 10;
const MAX_COMPARED = 1_000;
/** Shorter tests measure the clock. */
const MIN_COMPARED_MICROSECONDS = 10_000;

/**
 * The tests that became slower, by test_no: at least 20 runs on 3 days, with a moment since when the
 * median is at least 20 % and a second more, and a quarter of the runs before is slower than three quarters
 * since at most.
 *
 * @param runs oldest first
 * @param usual microseconds of the median run of each test, by test_no; 0 where it is unknown
 */
export function findSlowDowns(
  runs: readonly TimedRun[],
  { lists, usual }: { lists: TestLists; usual: Float64Array },
): Map<number, SlowDown> {
  const series = new Map<number, { run: TimedRun; microseconds: number }[]>();
  for (const [testNo, microseconds] of usual.entries()) {
    // A median of runs since then, or of runs before it that are more.
    if (microseconds * MIN_RUNS >= MIN_INCREASE_MICROSECONDS) series.set(testNo, []);
  }
  for (const run of runs) {
    const testNos = lists.get(run.testListNo)!;
    const durations = new Float64Array(testNos.length);
    const reader = new VarintReader(run.durations);
    for (let index = 0; index < testNos.length; index++) {
      durations[index] = reader.read() * run.durationUnit;
    }
    const speed = slownessOf(testNos, durations, usual);
    if (speed === null) continue;
    for (const [index, testNo] of testNos.entries()) {
      // Skipped tests took no time.
      if (durations[index]! === 0) continue;
      series.get(testNo)?.push({ run, microseconds: durations[index]! / speed });
    }
  }
  const found = new Map<number, SlowDown>();
  for (const [testNo, points] of series) {
    const slowDown = slowDownIn(points);
    if (slowDown) found.set(testNo, slowDown);
  }
  return found;
}

/** How many times slower than usual a run was; `null` when too few tests tell. */
function slownessOf(
  testNos: Int32Array,
  durations: Float64Array,
  usual: Float64Array,
): number | null {
  const ratios: number[] = [];
  for (let index = 0; index < testNos.length && ratios.length < MAX_COMPARED; index++) {
    const expected = usual[testNos[index]!] ?? 0;
    if (expected < MIN_COMPARED_MICROSECONDS || durations[index]! === 0) continue;
    ratios.push(durations[index]! / expected);
  }
  return ratios.length < MIN_COMPARED ? null : quantile(ratios.sort(byValue), 0.5);
}

function slowDownIn(points: { run: TimedRun; microseconds: number }[]): SlowDown | null {
  const days = new Set(points.map(({ run }) => Math.floor(run.recordedAt / SECONDS_PER_DAY)));
  if (points.length < MIN_RUNS || days.size < MIN_DAYS) return null;
  const at = largestStep(points.map(({ microseconds }) => microseconds));
  if (at === null) return null;
  const sorted = (part: typeof points) =>
    part.map(({ microseconds }) => microseconds).sort(byValue);
  const before = sorted(points.slice(0, at));
  const after = sorted(points.slice(at));
  const [beforeMicroseconds, afterMicroseconds] = [quantile(before, 0.5), quantile(after, 0.5)];
  const isSlower = afterMicroseconds >= MIN_RATIO * beforeMicroseconds &&
    afterMicroseconds - beforeMicroseconds >= MIN_INCREASE_MICROSECONDS &&
    quantile(after, 0.25) > quantile(before, 0.75);
  if (!isSlower) return null;
  return {
    beforeMicroseconds: Math.round(beforeMicroseconds),
    afterMicroseconds: Math.round(afterMicroseconds),
    lastBefore: placeOf(points[at - 1]!.run),
    firstAfter: placeOf(points[at]!.run),
  };
}

function placeOf({ submissionId, commitOid, recordedAt }: TimedRun) {
  return { submissionId, commitOid, recordedAt };
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

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(share * (sorted.length - 1))]!;
}

function byValue(a: number, b: number): number {
  return a - b;
}
