import { forEachException } from "./columns.ts";
import { VarintReader } from "./varint.ts";

/** How the tests of a submission ran. */
export interface Run {
  testListNo: number;
  exceptions: Uint8Array;
  /** `null` when not requested. */
  durations: Uint8Array | null;
  /** Microseconds. */
  durationUnit: number;
}

/** The tests of lists (test_no, in the order of the list), by test_list_no. */
export type TestLists = ReadonlyMap<number, Int32Array>;

/**
 * How often each test of a repository ran, and for how long, by test_no. Includes tests that are not
 * tracked yet: 4 bytes a test, 12 with the time. Immutable.
 */
export class RunCounts {
  readonly #results: Int32Array;
  /** `null` when not requested. */
  readonly #microseconds: Float64Array | null;

  private constructor(results: Int32Array, microseconds: Float64Array | null) {
    this.#results = results;
    this.#microseconds = microseconds;
  }

  /** Counts without any runs. */
  static none({ withTime }: { withTime: boolean }): RunCounts {
    return new RunCounts(new Int32Array(), withTime ? new Float64Array() : null);
  }

  /** Memory in bytes. */
  get byteLength(): number {
    return this.#results.byteLength + (this.#microseconds?.byteLength ?? 0);
  }

  /** Positive and negative results of a test. */
  resultsOf(testNo: number): number {
    return this.#results[testNo] ?? 0;
  }

  /** Time of all results of a test; `null` without times. */
  microsecondsOf(testNo: number): number | null {
    return this.#microseconds && (this.#microseconds[testNo] ?? 0);
  }

  /** Returns counts with runs added and removed. */
  changed(
    { added, removed, lists }: {
      added: readonly Run[];
      removed: readonly Run[];
      lists: TestLists;
    },
  ): RunCounts {
    let end = this.#results.length;
    for (const tests of lists.values()) {
      for (const testNo of tests) if (testNo >= end) end = testNo + 1;
    }
    const results = new Int32Array(end);
    results.set(this.#results);
    const microseconds = this.#microseconds && new Float64Array(end);
    microseconds?.set(this.#microseconds!);
    count(added, { sign: 1, lists, results, microseconds });
    count(removed, { sign: -1, lists, results, microseconds });
    return new RunCounts(results, microseconds);
  }
}

function count(
  runs: readonly Run[],
  { sign, lists, results, microseconds }: {
    sign: 1 | -1;
    lists: TestLists;
    results: Int32Array;
    microseconds: Float64Array | null;
  },
): void {
  // Each test of a list ran once in each of its submissions, but for the exceptions.
  for (const [testListNo, { length }] of Map.groupBy(runs, (run) => run.testListNo)) {
    for (const testNo of lists.get(testListNo)!) results[testNo]! += sign * length;
  }
  for (const { testListNo, exceptions, durations, durationUnit } of runs) {
    const tests = lists.get(testListNo)!;
    forEachException(exceptions, (index, { positive, negative }) => {
      results[tests[index]!]! += sign * (positive + negative - 1);
    });
    if (!microseconds || !durations) continue;
    const reader = new VarintReader(durations);
    for (const testNo of tests) microseconds[testNo]! += sign * reader.read() * durationUnit;
  }
}
