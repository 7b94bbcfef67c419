import { enlarge } from "./columns.ts";
import type { Run } from "./run.ts";

/** A run to count; without durations, its time is not. */
export type CountedRun = Run<"tests" | "results"> & Partial<Run<"durations">>;

/** Totals of the results of a test in some submissions. */
export interface RunTotals {
  /** Positive and negative results. */
  countedResultCount: number;
  negativeResultCount: number;
  /** All results, with skipped and unknown ones. */
  resultCount: number;
  /** Microseconds that all results took together; `null` when not loaded. */
  timeConsumed: number | null;
}

/** Totals by test_no. */
interface Totals {
  counted: Int32Array;
  negative: Int32Array;
  all: Int32Array;
  /** `null` when not requested. */
  microseconds: Float64Array | null;
}

/** How often each test of a repository ran: 12 bytes a test, 20 with the time. Immutable. */
export class RunCounts {
  readonly #totals: Totals;

  private constructor(totals: Totals) {
    this.#totals = totals;
  }

  /** Counts of no submission; `withTime`: also sums durations. */
  static none({ withTime }: { withTime: boolean }): RunCounts {
    return new RunCounts({
      counted: new Int32Array(),
      negative: new Int32Array(),
      all: new Int32Array(),
      microseconds: withTime ? new Float64Array() : null,
    });
  }

  get byteLength(): number {
    return Object.values(this.#totals).reduce((sum, array) => sum + (array?.byteLength ?? 0), 0);
  }

  /** The totals of a test, 0 where it did not run. */
  of(testNo: number): RunTotals {
    const { counted, negative, all, microseconds } = this.#totals;
    return {
      countedResultCount: counted[testNo] ?? 0,
      negativeResultCount: negative[testNo] ?? 0,
      resultCount: all[testNo] ?? 0,
      timeConsumed: microseconds && (microseconds[testNo] ?? 0),
    };
  }

  /** Microseconds that all tests took together; `null` when not loaded. */
  get timeConsumed(): number | null {
    return this.#totals.microseconds?.reduce((sum, one) => sum + one, 0) ?? null;
  }

  /** New counts, with the runs of some submissions added and of others removed. */
  changed(
    { added, removed }: { added: readonly CountedRun[]; removed: readonly CountedRun[] },
  ): RunCounts {
    const { counted, negative, all, microseconds } = this.#totals;
    let end = counted.length;
    for (const { testNos } of new Set([...added, ...removed].map(({ tests }) => tests))) {
      for (let at = 0; at < testNos.length; at++) end = Math.max(end, testNos[at]! + 1);
    }
    const totals = {
      counted: enlarge(counted, new Int32Array(end)),
      negative: enlarge(negative, new Int32Array(end)),
      all: enlarge(all, new Int32Array(end)),
      microseconds: microseconds && enlarge(microseconds, new Float64Array(end)),
    };
    count(added, { sign: 1, totals });
    count(removed, { sign: -1, totals });
    return new RunCounts(totals);
  }
}

function count(
  runs: readonly CountedRun[],
  { sign, totals }: { sign: 1 | -1; totals: Totals },
): void {
  const { counted, negative, all, microseconds } = totals;
  // Each test of a list passed once in each of its runs, but for the exceptions.
  for (const [{ testNos }, { length }] of Map.groupBy(runs, ({ tests }) => tests)) {
    for (let at = 0; at < testNos.length; at++) {
      const testNo = testNos[at]!;
      counted[testNo]! += sign * length;
      all[testNo]! += sign * length;
    }
  }
  let own: Float64Array | undefined;
  for (const { tests: { testNos }, results, durations } of runs) {
    results.eachException((testNo, { counts }) => {
      const countedHere = counts.positive + counts.negative;
      counted[testNo]! += sign * (countedHere - 1);
      negative[testNo]! += sign * counts.negative;
      all[testNo]! += sign * (countedHere + counts.skipped + counts.unknown - 1);
    });
    if (!microseconds || !durations) continue;
    own = durations.microseconds(own);
    for (let index = 0; index < testNos.length; index++) {
      microseconds[testNos[index]!]! += sign * own[index]!;
    }
  }
}
