/**
 * A run: a submission as history sees it, with the tests that it ran and how they ended. What is decided
 * about history is decided about runs, without a database: `db/read/runs.ts` loads them.
 */
import {
  type Attempt,
  type AttemptKind,
  type Attempts,
  attemptsAt,
  attemptsOfTests,
  decodeDurations,
  decodeDurationsAt,
  decodeOverheads,
  forEachException,
  forEachFailedTime,
  PASSED_ONCE,
  type ResultColumns,
  type ResultCounts,
} from "./columns.ts";
import { countTests, type TestCounts } from "./test_counts.ts";

/** What every run has. */
export interface RunKey {
  /** 24 hex digits; ids sort like time. */
  submissionId: string;
  /** Seconds since 1970. */
  recordedAt: number;
}

/** What can be loaded of a run. */
export interface RunColumns {
  commitOid: string;
  treeOid: string | null;
  branch: string | null;
  /** The branch that a merge queue tests for, `""` when it does not. */
  queueBase: string;
  pullNumber: number | null;
  /** `""` when unknown, as job, workflow and shard. */
  environment: string;
  job: string;
  /** The workflow or pipeline that has the job. */
  workflow: string;
  shard: string;
  /** Whether its failures are an outage, which other branches had too. */
  isOutage: boolean;
  /** `""` when there is none. */
  buildUrl: string;
  /** Its code, in any environment: a tree, otherwise a commit, otherwise the submission itself. */
  code: string;
  /** Its code in its environment, job and workflow: a test that fails and passes at one code version is disruptive. */
  codeVersion: string;
  /** Of the job, in the numbers of the CI service; `""` when unknown, as the runner. */
  attempt: string;
  runner: string;
  /** All results: each attempt of a test is one. */
  resultCount: number;
  /** Tests that passed or failed; `null` for a submission of an earlier version of the program. */
  ranTestCount: number | null;
  /** As {@linkcode RunColumns.ranTestCount}: tests that were only skipped. */
  skippedTestCount: number | null;
  /** As {@linkcode RunColumns.ranTestCount}: tests with a failure or error. */
  failedTestCount: number | null;
  /** Whether the command that ran the tests failed, although no test did. */
  failedWithoutTest: boolean;
  /** Whether its reports hide tests or failures. */
  hasGaps: boolean;
  /** The tests that ran. */
  tests: TestList;
  /** How they ended. */
  results: RunResults;
  /** How long they took: by far the most bytes. */
  durations: RunDurations;
}

export type Run<Column extends keyof RunColumns = never> = RunKey & Pick<RunColumns, Column>;

/** The tests of a run, in ascending order of test_hash. Runs of the same tests share one list. */
export class TestList {
  readonly testNos: Int32Array;
  readonly #indexes = new Map<number, number>();

  constructor(testNos: Int32Array) {
    this.testNos = testNos;
  }

  /** Where a test is in the list, -1 when it is not; for many tests there is {@linkcode SelectedTests}. */
  indexOf(testNo: number): number {
    let index = this.#indexes.get(testNo);
    if (index === undefined) this.#indexes.set(testNo, index = this.testNos.indexOf(testNo));
    return index;
  }
}

/** Some tests, looked up once in each list. */
export class SelectedTests {
  readonly testNos: Int32Array;
  /** The least test_no. */
  readonly #first: number;
  /** Place of each among them by test_no, from the least to the greatest; -1 of others. */
  readonly #places: Int32Array;
  readonly #indexes = new Map<TestList, Int32Array>();
  readonly #marked = new Map<TestList, Uint8Array>();

  constructor(testNos: Iterable<number>) {
    this.testNos = Int32Array.from(testNos);
    const end = this.testNos.reduce((end, testNo) => Math.max(end, testNo + 1), 0);
    const first = this.testNos.reduce((first, testNo) => Math.min(first, testNo), end);
    this.#first = first;
    this.#places = new Int32Array(end - first).fill(-1);
    for (let place = 0; place < this.testNos.length; place++) {
      this.#places[this.testNos[place]! - first] = place;
    }
  }

  /** The place of a test among them; -1 when it is not selected. */
  placeOf(testNo: number): number {
    return this.#places[testNo - this.#first] ?? -1;
  }

  /** Whether a list has each of them, by their places: 1 or 0. */
  ranIn(tests: TestList): Uint8Array {
    const ran = new Uint8Array(this.testNos.length);
    for (const index of this.indexesIn(tests)) ran[this.placeOf(tests.testNos[index]!)] = 1;
    return ran;
  }

  /** Whether each test of a list is one of them, by its index there: 1 or 0. */
  markedIn(tests: TestList): Uint8Array {
    let marked = this.#marked.get(tests);
    if (!marked) {
      marked = new Uint8Array(tests.testNos.length);
      for (const index of this.indexesIn(tests)) marked[index] = 1;
      this.#marked.set(tests, marked);
    }
    return marked;
  }

  /** Where those that a list has are in it, ascending. */
  indexesIn(tests: TestList): Int32Array {
    const known = this.#indexes.get(tests);
    if (known) return known;
    const { testNos } = tests;
    const found = new Int32Array(Math.min(testNos.length, this.testNos.length));
    let count = 0;
    for (let index = 0; index < testNos.length; index++) {
      if (this.placeOf(testNos[index]!) >= 0) found[count++] = index;
    }
    const indexes = found.slice(0, count);
    this.#indexes.set(tests, indexes);
    return indexes;
  }
}

/** How the tests of a run ended. */
export class RunResults {
  readonly tests: TestList;
  readonly #exceptions: Uint8Array;
  readonly #durationUnit: number;

  constructor(
    tests: TestList,
    { exceptions, durationUnit }: Pick<ResultColumns, "exceptions" | "durationUnit">,
  ) {
    this.tests = tests;
    this.#exceptions = exceptions;
    this.#durationUnit = durationUnit;
  }

  /** How often a test passed, failed and was skipped; `null` when it did not run. */
  counts(testNo: number): Readonly<ResultCounts> | null {
    const wanted = this.tests.indexOf(testNo);
    if (wanted === -1) return null;
    let found = PASSED_ONCE.counts;
    forEachException(this.#exceptions, (index, { counts }) => {
      if (index === wanted) found = counts;
      return index < wanted;
    });
    return found;
  }

  /** Calls `visit` for each test that ran, in the order of the list. */
  eachTest(visit: (testNo: number, attempts: Attempts) => void): void {
    const { testNos } = this.tests;
    let next = 0;
    forEachException(this.#exceptions, (index, attempts) => {
      while (next < index) visit(testNos[next++]!, PASSED_ONCE);
      visit(testNos[next++]!, attempts);
    });
    while (next < testNos.length) visit(testNos[next++]!, PASSED_ONCE);
  }

  /** Calls `visit` for each of some tests that ran, also for thousands of them in thousands of runs. */
  each(selected: SelectedTests, visit: (testNo: number, attempts: Attempts) => void): void {
    const { testNos } = this.tests;
    const indexes = selected.indexesIn(this.tests);
    let next = 0;
    const visitPassed = (end: number) => {
      while (next < indexes.length && indexes[next]! < end) {
        visit(testNos[indexes[next++]!]!, PASSED_ONCE);
      }
    };
    if (indexes.length === 0) return;
    forEachException(this.#exceptions, (index, attempts) => {
      visitPassed(index);
      if (indexes[next] === index) visit(testNos[indexes[next++]!]!, attempts);
      return next < indexes.length;
    });
    visitPassed(Infinity);
  }

  /** The tests of which an attempt passed. */
  passed(selected: SelectedTests): Set<number> {
    const passed = new Set<number>();
    this.each(selected, (testNo, { counts }) => {
      if (counts.positive > 0) passed.add(testNo);
    });
    return passed;
  }

  /** Each exception has at least two bytes. */
  get mostExceptions(): number {
    return this.#exceptions.length >> 1;
  }

  /** Calls `visit` for each test that did not pass exactly once. */
  eachException(visit: (testNo: number, attempts: Attempts) => void): void {
    const { testNos } = this.tests;
    forEachException(this.#exceptions, (index, attempts) => visit(testNos[index]!, attempts));
  }

  /** As {@linkcode RunResults.eachException} of some tests: a call for each of hundreds of others takes the most. */
  eachExceptionOf(
    selected: SelectedTests,
    visit: (testNo: number, attempts: Attempts) => void,
  ): void {
    const { testNos } = this.tests;
    forEachException(
      this.#exceptions,
      (index, attempts) => visit(testNos[index]!, attempts),
      selected.markedIn(this.tests),
    );
  }

  /** How many tests ran, were skipped and failed. */
  testCounts(): TestCounts {
    return countTests(this.#exceptions, this.tests.testNos.length);
  }

  /** The attempts of a test that took `microseconds`, in the order of the report; `[]` when it did not run. */
  attempts(testNo: number, microseconds: number): Attempt[] {
    const index = this.tests.indexOf(testNo);
    const columns = { exceptions: this.#exceptions, durationUnit: this.#durationUnit };
    return index === -1 ? [] : attemptsAt(columns, index, microseconds);
  }

  /** The attempts of each test, in the order of the list. */
  *allAttempts(durations: RunDurations): Generator<[testNo: number, attempts: Attempt[]], void> {
    let index = 0;
    for (const attempts of attemptsOfTests(this.#with(durations))) {
      yield [this.tests.testNos[index++]!, attempts];
    }
  }

  /**
   * Calls `visit` for some of the tests that did not pass exactly once, with the time of their failed attempts. Without
   * durations the last attempt of each takes 0, because it took the rest of a total.
   */
  eachFailedTime(
    isWanted: (testNo: number) => boolean,
    durations: RunDurations | null,
    visit: (testNo: number, failedMicroseconds: number, outcome: AttemptKind) => void,
  ): void {
    const { testNos } = this.tests;
    const columns = durations
      ? this.#with(durations)
      : { exceptions: this.#exceptions, durationUnit: this.#durationUnit };
    forEachFailedTime(
      columns,
      (index) => isWanted(testNos[index]!),
      (index, failedMicroseconds, outcome) => visit(testNos[index]!, failedMicroseconds, outcome),
    );
  }

  #with(durations: RunDurations): ResultColumns {
    return {
      exceptions: this.#exceptions,
      durationUnit: this.#durationUnit,
      durations: durations.encoded,
    };
  }
}

/** How long the tests of a run took. */
export class RunDurations {
  readonly tests: TestList;
  readonly encoded: Uint8Array;
  readonly #durationUnit: number;
  readonly #overheads: Uint8Array;

  constructor(
    tests: TestList,
    { durations, durationUnit, overheads = new Uint8Array() }:
      & Pick<ResultColumns, "durations" | "durationUnit">
      & { overheads?: Uint8Array },
  ) {
    this.tests = tests;
    this.encoded = durations;
    this.#durationUnit = durationUnit;
    this.#overheads = overheads;
  }

  /**
   * Microseconds of each test with all its attempts, in the order of the list.
   *
   * @param buffer of an earlier run; written to again if it is long enough
   */
  microseconds(buffer?: Float64Array): Float64Array {
    const { length } = this.tests.testNos;
    const microseconds = buffer && buffer.length >= length ? buffer : new Float64Array(length);
    const columns = { durations: this.encoded, durationUnit: this.#durationUnit };
    decodeDurations(columns, length, microseconds);
    return microseconds;
  }

  /**
   * Microseconds of some tests, by their places in the list, ascending. One of 20,000 takes a fifth of all.
   *
   * @param buffer as for {@linkcode RunDurations.microseconds}
   */
  microsecondsAt(indexes: Int32Array, buffer?: Float64Array): Float64Array {
    const { length } = indexes;
    if (length === this.tests.testNos.length) return this.microseconds(buffer);
    const microseconds = buffer && buffer.length >= length ? buffer : new Float64Array(length);
    const columns = { durations: this.encoded, durationUnit: this.#durationUnit };
    decodeDurationsAt(columns, indexes, microseconds);
    return microseconds;
  }

  /** The time of suites beyond their tests, by the first test of each. */
  overheads() {
    return decodeOverheads(this.#overheads);
  }
}
