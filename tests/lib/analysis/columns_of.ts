import {
  type Attempt,
  ATTEMPT_KINDS,
  attemptsAt,
  bytesWithout,
  durationAt,
  encodeResults,
  type ResultColumns,
} from "../../../lib/analysis/columns.ts";

/** The columns of tests with these attempts. */
export function columnsOf(tests: readonly (readonly Attempt[])[]): ResultColumns {
  const attempts = tests.flatMap((own, test) => own.map((attempt) => ({ test, ...attempt })));
  return encodeResults(tests.length, {
    testIndexes: Uint32Array.from(attempts, ({ test }) => test),
    kinds: Uint8Array.from(attempts, ({ kind }) => ATTEMPT_KINDS.indexOf(kind)),
    durations: Float64Array.from(attempts, ({ durationMicroseconds }) => durationMicroseconds),
  });
}

/** The attempts of the test at an index of a list, as they are read for one test: from a part of its durations. */
export function attemptsOf(columns: ResultColumns, index: number, testCount: number): Attempt[] {
  const { atStart, atEnd } = bytesWithout(index, testCount);
  const durations = columns.durations.subarray(atStart, columns.durations.length - atEnd);
  const total = durationAt({ ...columns, durations }, index, testCount);
  return attemptsAt(columns, index, total);
}
