// Tests: tests/lib/evidence/states_of_tests_test.ts tests/lib/evidence/stopped_test.ts
/** How tests ended in runs: decoded once, although several conclusions are drawn from the same runs. */
import type { Attempts } from "../analysis/columns.ts";
import type { Run, SelectedTests } from "../analysis/run.ts";

/** How a test ended in a run. */
export interface RunOutcome {
  /** Whether any attempt failed. */
  hasFailed: boolean;
  /** Whether the final attempt failed. */
  hasFailedAtLast: boolean;
}

/** How a test ended in a run; `null` when it neither passed nor failed. */
export function runOutcome(
  { outcome, counts: { positive, negative } }: Attempts,
): RunOutcome | null {
  if (positive + negative === 0) return null;
  return { hasFailed: negative > 0, hasFailedAtLast: outcome === "negative" };
}

/** How a test ended in a run, as a byte: there may be millions. */
export const NOT_RUN = 0, PASSED = 1, FAILED = 2, FAILED_AT_LAST = 3;

/** Whether an attempt failed, by the byte of a test. */
export function hasFailed(outcome: number): boolean {
  return outcome >= FAILED;
}

/** {@linkcode runOutcome} as a byte; 0 when the test neither passed nor failed. */
export function outcomeByte(attempts: Attempts): number {
  const outcome = runOutcome(attempts);
  return outcome ? byteOf(outcome) : NOT_RUN;
}

/** {@linkcode RunOutcome} as a byte. */
export function byteOf({ hasFailed, hasFailedAtLast }: RunOutcome): number {
  return !hasFailed ? PASSED : hasFailedAtLast ? FAILED_AT_LAST : FAILED;
}

/** The tests that did not pass exactly once, by column, run by run. */
interface ExceptionColumns {
  testNos: Int32Array;
  /** {@linkcode outcomeByte} of each. */
  outcomes: Uint8Array;
  /** By run: where its exceptions begin; one more for the end. */
  starts: Int32Array;
}

/** By the array of runs: it never changes, and four functions read it, which would all have to be given both. */
const decoded = new WeakMap<readonly Run<"results">[], ExceptionColumns>();

/** The exceptions of runs, which are kept as long as the array. */
export function exceptionsOf(runs: readonly Run<"results">[]): ExceptionColumns {
  let columns = decoded.get(runs);
  if (!columns) decoded.set(runs, columns = decode(runs));
  return columns;
}

/** In arrays of a known size: to let two arrays grow to 100,000 exceptions takes 30 ms in the first request of a process. */
function decode(runs: readonly Run<"results">[]): ExceptionColumns {
  const most = runs.reduce((sum, { results }) => sum + results.mostExceptions, 0);
  const testNos = new Int32Array(most);
  const outcomes = new Uint8Array(most);
  const starts = new Int32Array(runs.length + 1);
  let count = 0;
  // Nearly all attempts are one of a few objects.
  const byteOf = new Map<Attempts, number>();
  for (let runNo = 0; runNo < runs.length; runNo++) {
    runs[runNo]!.results.eachException((testNo, attempts) => {
      let byte = byteOf.get(attempts);
      if (byte === undefined) byteOf.set(attempts, byte = outcomeByte(attempts));
      testNos[count] = testNo;
      outcomes[count++] = byte;
    });
    starts[runNo + 1] = count;
  }
  return { testNos: testNos.subarray(0, count), outcomes, starts };
}

/** How some tests ended in each of some runs, test by test. */
export class TestOutcomes {
  readonly #selected: SelectedTests;
  readonly #runCount: number;
  /** By the place of the test: the runs of each list that has it. */
  readonly #listed: number[][][];
  /** By the place of the test: where its exceptions begin; one more for the end. */
  readonly #starts: Int32Array;
  /** The runs of the exceptions, test by test, and their outcomes. */
  readonly #runNos: Int32Array;
  readonly #outcomes: Uint8Array;

  constructor(runs: readonly Run<"results">[], selected: SelectedTests) {
    this.#selected = selected;
    this.#runCount = runs.length;
    this.#listed = Array.from(selected.testNos, () => []);
    const runsOf = Map.groupBy(runs.keys(), (runNo) => runs[runNo]!.results.tests);
    for (const [tests, runNos] of runsOf) {
      for (const index of selected.indexesIn(tests)) {
        this.#listed[selected.placeOf(tests.testNos[index]!)]!.push(runNos);
      }
    }
    const { testNos, outcomes, starts } = exceptionsOf(runs);
    const ends = new Int32Array(selected.testNos.length + 1);
    for (let at = 0; at < testNos.length; at++) ends[selected.placeOf(testNos[at]!) + 1]!++;
    ends[0] = 0;
    for (let place = 1; place < ends.length; place++) ends[place]! += ends[place - 1]!;
    this.#starts = ends.slice();
    this.#runNos = new Int32Array(ends.at(-1)!);
    this.#outcomes = new Uint8Array(ends.at(-1)!);
    for (let runNo = 0; runNo < runs.length; runNo++) {
      for (let at = starts[runNo]!; at < starts[runNo + 1]!; at++) {
        const place = selected.placeOf(testNos[at]!);
        if (place < 0) continue;
        const end = ends[place]!++;
        this.#runNos[end] = runNo;
        this.#outcomes[end] = outcomes[at]!;
      }
    }
  }

  /** {@linkcode outcomeByte} of a selected test in each run, written to an array of the length of the runs. */
  write(testNo: number, into: Uint8Array): void {
    const place = this.#selected.placeOf(testNo);
    into.fill(0);
    for (const runNos of this.#listed[place]!) {
      if (runNos.length === this.#runCount) into.fill(PASSED);
      else for (let index = 0; index < runNos.length; index++) into[runNos[index]!] = PASSED;
    }
    for (let at = this.#starts[place]!; at < this.#starts[place + 1]!; at++) {
      into[this.#runNos[at]!] = this.#outcomes[at]!;
    }
  }
}
