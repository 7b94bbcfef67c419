/**
 * Results by column: a submission refers to the list of its tests (shared by all submissions that ran
 * the same tests), and stores the total duration of each test as a varint and the exceptions: the tests
 * that did not simply pass once, with the order and the durations of their attempts. 1 to 3 bytes a
 * result, against 84 as a row. All columns are in ascending order of test_hash.
 */
import type { SuiteOverhead } from "../report/report_reader.ts";
import { type Conclusion, isNegative } from "../report/result.ts";
import { VarintReader, VarintWriter } from "./varint.ts";

/** How an attempt counts: `failure` and `error` are negative, `passing` is positive. */
export const ATTEMPT_KINDS = ["positive", "negative", "skipped", "unknown"] as const;

export type AttemptKind = typeof ATTEMPT_KINDS[number];

export function kindOf(conclusion: Conclusion): AttemptKind {
  if (conclusion === "passing") return "positive";
  return isNegative(conclusion) ? "negative" : conclusion;
}

/** The conclusion of an attempt of a kind; which of two a negative one has is stored apart. */
export const CONCLUSION_OF_KIND = {
  positive: "passing",
  skipped: "skipped",
  unknown: "unknown",
} as const satisfies Partial<Record<AttemptKind, Conclusion>>;

export interface Attempt {
  kind: AttemptKind;
  durationMicroseconds: number;
}

/** The results of one test in one submission, counted. */
export type ResultCounts = Record<AttemptKind, number>;

/** The stored results of a submission, without the list of its tests. */
export interface ResultColumns {
  /** Total duration of each test, as varints. */
  durations: Uint8Array;
  /** Microseconds in one unit of all durations. */
  durationUnit: number;
  /** The tests that did not pass once: their attempts, in order. */
  exceptions: Uint8Array;
}

/** How a test ended: the kinds of its attempts, in the order of the report. */
export interface Attempts {
  kinds: readonly AttemptKind[];
  counts: Readonly<ResultCounts>;
  /** {@linkcode finalOutcome} of the kinds. */
  outcome: AttemptKind;
}

export const PASSED_ONCE: Attempts = counted(["positive"]);

// One byte for the kinds of a common exception; for others OTHER, the number of attempts, and a byte
// for each. The durations of all attempts but the last follow; the last took the rest of the total.
const COMMON: readonly Attempts[] = [
  counted(["skipped"]),
  counted(["negative"]),
  counted(["unknown"]),
  counted(["negative", "positive"]),
];
const OTHER = COMMON.length;

function counted(kinds: readonly AttemptKind[]): Attempts {
  const counts = { positive: 0, negative: 0, skipped: 0, unknown: 0 };
  for (const kind of kinds) counts[kind]++;
  return { kinds, counts, outcome: finalOutcome(kinds) };
}

/** Copies an array to the start of a longer one, and returns that. */
export function enlarge<T extends Int32Array | Uint32Array | Float64Array | Uint8Array>(
  from: T,
  to: T,
): T {
  to.set(from);
  return to;
}

const MICROSECONDS_PER_MILLISECOND = 1000;

/** Results in the order of a report; all arrays have the same length. */
interface ResultArrays {
  /** Index of each result's test in the list. */
  testIndexes: Uint32Array;
  /** Index of each result's kind in `ATTEMPT_KINDS`. */
  kinds: Uint8Array;
  /** Whole microseconds. */
  durations: Float64Array;
}

/** Encodes the results of a submission, in milliseconds if nothing is lost, otherwise microseconds. */
export function encodeResults(testCount: number, results: ResultArrays): ResultColumns {
  const { testIndexes, durations } = results;
  const durationUnit = durations.every((value) => value % MICROSECONDS_PER_MILLISECOND === 0)
    ? MICROSECONDS_PER_MILLISECOND
    : 1;
  const totals = new Float64Array(testCount);
  const ends = new Uint32Array(testCount);
  for (let resultNo = 0; resultNo < testIndexes.length; resultNo++) {
    const index = testIndexes[resultNo]!;
    totals[index]! += durations[resultNo]!;
    ends[index]!++;
  }
  // Result numbers by test, within each test in the order of the report (a counting sort).
  const ordered = new Uint32Array(testIndexes.length);
  let start = 0;
  for (let index = 0; index < testCount; index++) {
    const count = ends[index]!;
    ends[index] = start;
    start += count;
  }
  for (let resultNo = 0; resultNo < testIndexes.length; resultNo++) {
    ordered[ends[testIndexes[resultNo]!]!++] = resultNo;
  }

  const totalWriter = new VarintWriter();
  const exceptionWriter = new VarintWriter();
  let previous = -1;
  start = 0;
  for (let index = 0; index < testCount; index++) {
    const total = Math.min(totals[index]!, Number.MAX_SAFE_INTEGER);
    totalWriter.write(Math.floor(total / durationUnit));
    const end = ends[index]!;
    if (end - start > 1 || ATTEMPT_KINDS[results.kinds[ordered[start]!]!] !== "positive") {
      exceptionWriter.write(index - previous - 1);
      writeAttempts(exceptionWriter, ordered.subarray(start, end), { ...results, durationUnit });
      previous = index;
    }
    start = end;
  }
  return {
    durations: totalWriter.finish(),
    durationUnit,
    exceptions: exceptionWriter.finish(),
  };
}

function writeAttempts(
  writer: VarintWriter,
  resultNos: Uint32Array,
  { kinds, durations, durationUnit }: ResultArrays & { durationUnit: number },
): void {
  const common = COMMON.findIndex((each) =>
    each.kinds.length === resultNos.length &&
    each.kinds.every((kind, index) => kind === ATTEMPT_KINDS[kinds[resultNos[index]!]!])
  );
  if (common >= 0) {
    writer.write(common);
  } else {
    writer.write(OTHER);
    writer.write(resultNos.length);
    for (const resultNo of resultNos) writer.write(kinds[resultNo]!);
  }
  for (const resultNo of resultNos.subarray(0, -1)) {
    writer.write(durations[resultNo]! / durationUnit);
  }
}

/** More are an object for each exception. */
const MAX_SHARED = 6;

/** Attempts by their kinds as digits: objects for 50,000 exceptions take as long as what is done with them. */
const shared = new Map<number, Attempts>();

/** Reads the kinds of an exception; the durations of all attempts but the last follow. */
function readKinds(reader: VarintReader): Attempts {
  const common = COMMON[reader.read()];
  if (common) return common;
  const length = reader.read();
  if (length > MAX_SHARED) {
    return counted(Array.from({ length }, () => ATTEMPT_KINDS[reader.read()]!));
  }
  let digits = 1;
  for (let left = length; left > 0; left--) digits = digits * 4 + reader.read();
  let attempts = shared.get(digits);
  if (!attempts) {
    const [, ...kinds] = digits.toString(4);
    shared.set(digits, attempts = counted(kinds.map((kind) => ATTEMPT_KINDS[Number(kind)]!)));
  }
  return attempts;
}

/** Reads an exception of a test that took `total` microseconds. */
function readAttempts(reader: VarintReader, total: number, durationUnit: number): Attempt[] {
  const { kinds } = readKinds(reader);
  let rest = total;
  return kinds.map((kind, index) => {
    const isLast = index === kinds.length - 1;
    const durationMicroseconds = isLast ? Math.max(rest, 0) : reader.read() * durationUnit;
    rest -= durationMicroseconds;
    return { kind, durationMicroseconds };
  });
}

/**
 * Calls `visit` for every exception, by its index in the list, ascending, until it returns false; `durationsAt` is
 * where the durations of its attempts begin.
 *
 * Most bytes are read here and not by a {@linkcode VarintReader}, whose calls take 24 ms instead of 10 for 100,000
 * exceptions in the first request of a process.
 *
 * @param isWanted 1 by the index of those that are visited; all unless given
 */
export function forEachException(
  exceptions: Uint8Array,
  visit: (index: number, attempts: Attempts, durationsAt: number) => boolean | void,
  isWanted?: Uint8Array,
): void {
  const reader = new VarintReader(exceptions);
  for (let at = 0, index = -1; at < exceptions.length;) {
    let byte = exceptions[at++]!;
    let gap = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = exceptions[at++]!;
      gap |= (byte & 0x7f) << shift;
    }
    index += gap + 1;
    let attempts = COMMON[exceptions[at]!];
    let durationsAt = ++at;
    if (attempts?.kinds.length !== 1) {
      reader.position = at - 1;
      attempts = readKinds(reader);
      durationsAt = reader.position;
      reader.skip(attempts.kinds.length - 1);
      at = reader.position;
    }
    if (isWanted && isWanted[index] !== 1) continue;
    if (visit(index, attempts, durationsAt) === false) return;
  }
}

/**
 * The outcome of the final attempt of a test. Skips do not count unless there is nothing else, and an
 * unknown outcome does not replace a failure.
 */
export function finalOutcome(kinds: readonly AttemptKind[]): AttemptKind {
  let outcome: AttemptKind = "skipped";
  for (const kind of kinds) {
    if (kind === "skipped" || kind === "unknown" && outcome === "negative") continue;
    outcome = kind;
  }
  return outcome;
}

/** The attempts of the test at an index of the list, which took `total` microseconds, in the order of the report. */
export function attemptsAt(
  { exceptions, durationUnit }: Pick<ResultColumns, "exceptions" | "durationUnit">,
  index: number,
  total: number,
): Attempt[] {
  const reader = new VarintReader(exceptions);
  let exception = -1;
  while (!reader.done) {
    exception += reader.read() + 1;
    if (exception > index) break;
    if (exception === index) return readAttempts(reader, total, durationUnit);
    reader.skip(readKinds(reader).kinds.length - 1);
  }
  return [{ kind: "positive", durationMicroseconds: total }];
}

/**
 * How many bytes of a column of durations need not be read for one test: each other duration has at least one.
 * It is read from the start or from the end, whichever is nearer.
 */
export function bytesWithout(index: number, testCount: number): { atStart: number; atEnd: number } {
  const later = testCount - 1 - index;
  return index < later ? { atStart: 0, atEnd: later } : { atStart: index, atEnd: 0 };
}

/** The microseconds of the test at an index of the list, of a column without {@linkcode bytesWithout}. */
export function durationAt(
  { durations, durationUnit }: Pick<ResultColumns, "durations" | "durationUnit">,
  index: number,
  testCount: number,
): number {
  const reader = new VarintReader(durations);
  if (bytesWithout(index, testCount).atStart === 0) reader.skip(index);
  else reader.seekFromEnd(testCount - 1 - index);
  return reader.read() * durationUnit;
}

/** The attempts of every test of the list, in its order. */
export function* attemptsOfTests(columns: ResultColumns): Generator<Attempt[]> {
  const { durationUnit } = columns;
  const totals = new VarintReader(columns.durations);
  const reader = new VarintReader(columns.exceptions);
  let exception = reader.done ? -1 : reader.read();
  for (let index = 0; !totals.done; index++) {
    const total = totals.read() * durationUnit;
    if (index === exception) {
      yield readAttempts(reader, total, durationUnit);
      exception = reader.done ? -1 : index + 1 + reader.read();
    } else yield [{ kind: "positive", durationMicroseconds: total }];
  }
}

/**
 * Calls `visit` for the tests with a failed attempt: index in the list, ascending, the time of their failed
 * attempts, and how they ended. Without durations the last attempt of each takes 0, because it took the rest of a total.
 *
 * @param isWanted the tests to read, by index
 */
export function forEachFailedTime(
  { durations, durationUnit, exceptions }: Omit<ResultColumns, "durations"> & {
    durations?: Uint8Array;
  },
  isWanted: (index: number) => boolean,
  visit: (index: number, failedMicroseconds: number, outcome: AttemptKind) => void,
): void {
  const totals = durations && new VarintReader(durations);
  const reader = new VarintReader(exceptions);
  let next = 0;
  forEachException(exceptions, (index, { kinds, counts, outcome }, durationsAt) => {
    // Most were skipped.
    if (counts.negative === 0 || !isWanted(index)) return;
    totals?.skip(index - next);
    next = index + 1;
    let rest = totals ? totals.read() * durationUnit : 0;
    reader.position = durationsAt;
    let failed = 0;
    for (let no = 0; no < kinds.length; no++) {
      const isLast = no === kinds.length - 1;
      const microseconds = isLast ? Math.max(rest, 0) : reader.read() * durationUnit;
      rest -= microseconds;
      if (kinds[no] === "negative") failed += microseconds;
    }
    visit(index, failed, outcome);
  });
}

/** Writes the microseconds of each test of the list, in its order, to the start of an array. */
export function decodeDurations(
  { durations, durationUnit }: Pick<ResultColumns, "durations" | "durationUnit">,
  testCount: number,
  microseconds: Float64Array,
): void {
  const reader = new VarintReader(durations);
  for (let index = 0; index < testCount; index++) {
    microseconds[index] = reader.read() * durationUnit;
  }
}

/** As {@linkcode decodeDurations}, of the tests at some indexes of the list, ascending. */
export function decodeDurationsAt(
  { durations, durationUnit }: Pick<ResultColumns, "durations" | "durationUnit">,
  indexes: Int32Array,
  microseconds: Float64Array,
): void {
  const reader = new VarintReader(durations);
  let next = 0;
  for (let at = 0; at < indexes.length; at++) {
    const index = indexes[at]!;
    reader.skip(index - next);
    microseconds[at] = reader.read() * durationUnit;
    next = index + 1;
  }
}

/** Encodes test numbers as zigzag varints of their differences: about a byte a test. */
export function encodeTestList(testNos: Iterable<number>): Uint8Array {
  const writer = new VarintWriter();
  let previous = 0;
  for (const testNo of testNos) {
    writer.writeSigned(testNo - previous);
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
    previous += reader.readSigned();
    testNos[index] = previous;
  }
  return testNos;
}

/** What a suite took beyond its tests (hooks, imports, the start of a fork), by its first test. */
export interface TestOverhead extends SuiteOverhead {
  testHash: number;
}

/** As it is stored: for each suite the number of its first test, and its time with the flag. */
export function encodeOverheads(
  overheads: readonly TestOverhead[],
  testNos: Pick<ReadonlyMap<number, number>, "get">,
): Uint8Array {
  const writer = new VarintWriter();
  for (const { testHash, microseconds, isOneClass } of overheads) {
    const testNo = testNos.get(testHash);
    if (testNo === undefined) continue;
    writer.write(testNo);
    writer.write(microseconds * 2 + Number(isOneClass));
  }
  return writer.finish();
}

/** Reads what {@linkcode encodeOverheads} wrote. */
export function decodeOverheads(
  bytes: Uint8Array,
): { testNo: number; microseconds: number; isOneClass: boolean }[] {
  const reader = new VarintReader(bytes);
  const overheads = [];
  while (!reader.done) {
    const testNo = reader.read();
    const value = reader.read();
    overheads.push({ testNo, microseconds: Math.floor(value / 2), isOneClass: value % 2 === 1 });
  }
  return overheads;
}
