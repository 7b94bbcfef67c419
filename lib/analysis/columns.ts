/**
 * Results by column: a submission refers to the list of its tests (shared by all submissions that ran
 * the same tests), and stores the total duration of each test as a varint and the exceptions: the tests
 * that did not simply pass once. 1 to 3 bytes a result, against 84 as a row. All columns are in
 * ascending order of test_hash.
 */
import { VarintReader, VarintWriter } from "./varint.ts";

/** The results of one test in one submission, counted. */
export interface ResultCounts {
  positive: number;
  negative: number;
  skipped: number;
  unknown: number;
}

const PASSED_ONCE: Readonly<ResultCounts> = { positive: 1, negative: 0, skipped: 0, unknown: 0 };

// Common exceptions take one byte; any other is followed by its four counts.
const EXCEPTIONS: readonly Readonly<ResultCounts>[] = [
  { positive: 0, negative: 0, skipped: 1, unknown: 0 },
  { positive: 0, negative: 1, skipped: 0, unknown: 0 },
  { positive: 0, negative: 0, skipped: 0, unknown: 1 },
  { positive: 1, negative: 1, skipped: 0, unknown: 0 },
  { positive: 2, negative: 0, skipped: 0, unknown: 0 },
];
const OTHER = EXCEPTIONS.length;

function same(a: Readonly<ResultCounts>, b: Readonly<ResultCounts>): boolean {
  return a.positive === b.positive && a.negative === b.negative && a.skipped === b.skipped &&
    a.unknown === b.unknown;
}

/** Encodes the exceptions of a submission, in the order of its list. */
export class ExceptionWriter {
  #writer = new VarintWriter();
  #previous = -1;

  /** Adds the outcome of the test at `index`; indexes must ascend. */
  add(index: number, outcome: ResultCounts): void {
    if (same(outcome, PASSED_ONCE)) return;
    this.#writer.write(index - this.#previous - 1);
    this.#previous = index;
    const kind = EXCEPTIONS.findIndex((known) => same(known, outcome));
    if (kind >= 0) return this.#writer.write(kind);
    this.#writer.write(OTHER);
    this.#writer.write(outcome.positive);
    this.#writer.write(outcome.negative);
    this.#writer.write(outcome.skipped);
    this.#writer.write(outcome.unknown);
  }

  finish(): Uint8Array {
    return this.#writer.finish();
  }
}

/** Calls `visit` with the index in the list and the outcome of every exception, ascending. */
export function forEachException(
  bytes: Uint8Array,
  visit: (index: number, outcome: Readonly<ResultCounts>) => void,
): void {
  const reader = new VarintReader(bytes);
  let index = -1;
  while (!reader.done) {
    index += reader.read() + 1;
    const kind = reader.read();
    visit(
      index,
      EXCEPTIONS[kind] ?? {
        positive: reader.read(),
        negative: reader.read(),
        skipped: reader.read(),
        unknown: reader.read(),
      },
    );
  }
}

/** The outcomes of the tests at the given indexes of the list. */
export function resultCountsAt(
  exceptions: Uint8Array,
  indexes: Iterable<number>,
): Map<number, Readonly<ResultCounts>> {
  const outcomes = new Map<number, Readonly<ResultCounts>>();
  for (const index of indexes) outcomes.set(index, PASSED_ONCE);
  forEachException(exceptions, (index, outcome) => {
    if (outcomes.has(index)) outcomes.set(index, outcome);
  });
  return outcomes;
}

/** Encodes test numbers as zigzag varints of their differences: about a byte a test. */
export function encodeTestList(testNos: Iterable<number>): Uint8Array {
  const writer = new VarintWriter();
  let previous = 0;
  for (const testNo of testNos) {
    const difference = testNo - previous;
    writer.write(difference >= 0 ? difference * 2 : -difference * 2 - 1);
    previous = testNo;
  }
  return writer.finish();
}

/** Decodes what {@linkcode encodeTestList} returned. */
export function decodeTestList(bytes: Uint8Array, count: number): Int32Array {
  const reader = new VarintReader(bytes);
  const testNos = new Int32Array(count);
  let previous = 0;
  for (let index = 0; index < count; index++) {
    const zigzag = reader.read();
    previous += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
    testNos[index] = previous;
  }
  return testNos;
}

const MILLISECOND = 1000;

/**
 * Encodes durations (whole microseconds) as varints of milliseconds where nothing is lost, else of
 * microseconds.
 */
export function encodeDurations(
  microseconds: Float64Array,
): { durations: Uint8Array; durationUnit: number } {
  const durationUnit = microseconds.every((value) => value % MILLISECOND === 0) ? MILLISECOND : 1;
  const writer = new VarintWriter();
  for (const value of microseconds) writer.write(value / durationUnit);
  return { durations: writer.finish(), durationUnit };
}
