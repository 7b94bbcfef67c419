import {
  type Attempt,
  ATTEMPT_KINDS,
  attemptsAt,
  decodeDurationsAt,
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

/** The attempts of the test at an index of a list, as they are read for one test. */
export function attemptsOf(columns: ResultColumns, index: number): Attempt[] {
  const total = new Float64Array(1);
  decodeDurationsAt(columns, Int32Array.of(index), total);
  return attemptsAt(columns, index, total[0]!);
}
