/**
 * Segments of a test's history: stretches of code versions in which it failed at a constant rate.
 *
 * The most probable partition under: the rate of a segment is Beta(0.3, 0.5), and between two neighbouring
 * code versions the rate changes with probability 0.01. Exact, by dynamic programming. A greedy split never
 * finds five red runs among eight hundred green ones.
 */
import { PRIOR } from "./beta.ts";

/** How the runs of a test at one code version ended. */
export interface VersionOutcome {
  /** At least 1. */
  runs: number;
  /** Runs with a failed attempt. */
  failures: number;
}

/** The outcomes of the code versions of a test, oldest first. Arrays, because there may be millions of versions. */
export interface VersionOutcomes {
  /** How many versions there are; the arrays may be longer. */
  count: number;
  runs: ArrayLike<number>;
  failures: ArrayLike<number>;
}

/** A stretch of constant failure rate: code versions from `first` to before `end`. */
export interface Segment extends VersionOutcome {
  first: number;
  end: number;
}

/**
 * Where a change happened, as positions of code versions: after `from`, up to and including `to`.
 * Either of those versions may be the first with the new rate.
 */
interface ChangeRange {
  from: number;
  to: number;
}

/** The probability of a change between two neighbouring code versions. */
const CHANGE = 0.01;

/** What a change costs a partition, as a logarithm. */
const CHANGE_COST = Math.log(CHANGE / (1 - CHANGE));

/** What is outside of the range of a change, at each end. */
const TAIL = 0.005;

/**
 * The most probable segments of a history, oldest first; of equally probable partitions the one with
 * fewer segments. A change is only possible where the outcome changes: within versions that all passed, or
 * all failed, a later or earlier place is always as probable. 2,000 runs that alternate take 2 ms, a usual
 * history 0.05 to 0.2 ms.
 *
 * @param versions oldest first
 */
export function findSegments(versions: VersionOutcomes): Segment[] {
  if (versions.count === 0) return [];
  const { count, places, runs, failures, best, begin } = blocksOf(versions);
  const likelihood = createLikelihood(runs[count - 1]!);
  best[0] = 0;
  for (let end = 1; end < count; end++) {
    let greatest = -Infinity;
    let start = 0;
    for (let first = 0; first < end; first++) {
      const x = failures[end]! - failures[first]!;
      const n = runs[end]! - runs[first]!;
      const value = best[first]! + (first > 0 ? CHANGE_COST : 0) + likelihood(x, n);
      if (value > greatest) {
        greatest = value;
        start = first;
      }
    }
    best[end] = greatest;
    begin[end] = start;
  }
  const segments: Segment[] = [];
  for (let end = count - 1; end > 0; end = begin[end]!) {
    const first = begin[end]!;
    segments.push({
      first: places[first]!,
      end: places[end]!,
      runs: runs[end]! - runs[first]!,
      failures: failures[end]! - failures[first]!,
    });
  }
  return segments.reverse();
}

/**
 * The 99 % interval with equal tails of the place of a change, given exactly one change between the start of
 * the segment before it and the end of the segment after it.
 */
export function changeRange(
  versions: VersionOutcomes,
  before: Segment,
  after: Segment,
): ChangeRange {
  const all = { runs: before.runs + after.runs, failures: before.failures + after.failures };
  const likelihood = createLikelihood(all.runs);
  const weights: number[] = [];
  let runs = 0, failures = 0;
  for (let last = before.first; last < after.end - 1; last++) {
    runs += versions.runs[last]!;
    failures += versions.failures[last]!;
    weights.push(
      likelihood(failures, runs) + likelihood(all.failures - failures, all.runs - runs),
    );
  }
  const greatest = weights.reduce((one, other) => Math.max(one, other));
  const shares = weights.map((weight) => Math.exp(weight - greatest));
  const total = shares.reduce((one, other) => one + other);
  const lower = shares.findIndex(reaches(TAIL * total));
  const upper = shares.findIndex(reaches((1 - TAIL) * total));
  // The sum may miss the whole by a rounding error.
  return {
    from: before.first + lower,
    to: before.first + (upper === -1 ? shares.length - 1 : upper) + 1,
  };
}

/** A predicate that holds from the element on at which the running sum reaches `limit`. */
function reaches(limit: number): (share: number) => boolean {
  let running = 0;
  return (share) => (running += share) >= limit;
}

/** The places of a history where a segment may begin or end; the arrays may be longer than `count`. */
interface Blocks {
  count: number;
  places: Int32Array;
  /** Runs and failures before each. */
  runs: Int32Array;
  failures: Int32Array;
  /** The best partition of all versions before each, and the place at which its last segment begins. */
  best: Float64Array;
  begin: Int32Array;
}

/** Used for each history again: arrays for thousands of them would be megabytes of garbage. */
let room = roomForBlocks(256);

function roomForBlocks(length: number): Omit<Blocks, "count"> {
  const integers = () => new Int32Array(length);
  return {
    places: integers(),
    runs: integers(),
    failures: integers(),
    best: new Float64Array(length),
    begin: integers(),
  };
}

/** Where a segment may begin or end: the first version, where the outcome changes, and the end. */
function blocksOf({ count, runs, failures }: VersionOutcomes): Blocks {
  if (room.places.length <= count) room = roomForBlocks(2 * count);
  let blocks = 1;
  let ran = 0, failed = 0;
  room.places[0] = room.runs[0] = room.failures[0] = 0;
  let previous: "passed" | "failed" | "mixed" | null = null;
  for (let at = 0; at <= count; at++) {
    const outcome = failures[at] === 0 ? "passed" : failures[at] === runs[at] ? "failed" : "mixed";
    if (at === count || previous !== null && (outcome === "mixed" || outcome !== previous)) {
      room.places[blocks] = at;
      room.runs[blocks] = ran;
      room.failures[blocks++] = failed;
    }
    previous = outcome;
    ran += runs[at]!;
    failed += failures[at]!;
  }
  return { count: blocks, ...room };
}

/**
 * The logarithm of the probability of `failures` in `runs` in one order, for any constant rate:
 * B(0.3 + x, 0.5 + n - x) / B(0.3, 0.5), from tables of rising factorials.
 */
function createLikelihood(maxRuns: number): (failures: number, runs: number) => number {
  const failed = risingFactorials(PRIOR.failures, maxRuns);
  const passed = risingFactorials(PRIOR.passes, maxRuns);
  const both = risingFactorials(PRIOR.failures + PRIOR.passes, maxRuns);
  return (failures, runs) => failed[failures]! + passed[runs - failures]! - both[runs]!;
}

/** By start: ln(start (start + 1) ... (start + n - 1)) by n. */
const factorials = new Map<number, number[]>();

/** A table of at least `count` + 1 rising factorials of `start`, as logarithms. It only grows. */
function risingFactorials(start: number, count: number): readonly number[] {
  let table = factorials.get(start);
  if (!table) factorials.set(start, table = [0]);
  while (table.length <= count) table.push(table.at(-1)! + Math.log(start + table.length - 1));
  return table;
}
