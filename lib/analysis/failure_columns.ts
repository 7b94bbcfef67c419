// Tests: tests/lib/analysis/failure_groups_test.ts tests/lib/analysis/build_costs_test.ts
/** Failures by column: 50,000 objects take longer than what is found out about them. */

/**
 * Failures of some runs. Where it matters which of two is later, they are added in ascending order of the numbers of
 * their runs, the oldest run first.
 */
export class FailureColumns {
  length = 0;
  readonly runs: Int32Array;
  /** Numbers of their tests, from 0. */
  readonly tests: Int32Array;
  /** Numbers of their causes, from 0. */
  readonly causes: Int32Array;
  /** Their places in the reports of their runs. */
  readonly resultNos: Int32Array;
  /** 1 for a disruption, otherwise 0. */
  readonly disruptions: Uint8Array;
  readonly testNos: number[] = [];
  /** Fingerprint of each cause. */
  readonly fingerprints: string[] = [];
  readonly #testOf = new Map<number, number>();
  readonly #causeOf = new Map<number, Map<number, number>>();
  #byTest: Int32Array[] | undefined;

  /** @param capacity the number of failures, at most */
  constructor(capacity: number) {
    this.runs = new Int32Array(capacity);
    this.tests = new Int32Array(capacity);
    this.causes = new Int32Array(capacity);
    this.resultNos = new Int32Array(capacity);
    this.disruptions = new Uint8Array(capacity);
  }

  /** The number of a cause by the first and the last four bytes of its fingerprint; `undefined` for a new one. */
  causeOf(high: number, low: number): number | undefined {
    return this.#causeOf.get(high)?.get(low);
  }

  addCause(high: number, low: number, fingerprint: string): number {
    let causes = this.#causeOf.get(high);
    if (!causes) this.#causeOf.set(high, causes = new Map());
    const cause = this.fingerprints.push(fingerprint) - 1;
    causes.set(low, cause);
    return cause;
  }

  /**
   * Adds a failure. Not an object: 50,000 of them take as long as all the rest.
   *
   * @param place its place in the report of the run, inverted for a disruption
   */
  add(run: number, testNo: number, cause: number, place: number): void {
    let test = this.#testOf.get(testNo);
    if (test === undefined) {
      this.#testOf.set(testNo, test = this.testNos.length);
      this.testNos.push(testNo);
    }
    const index = this.length++;
    this.runs[index] = run;
    this.tests[index] = test;
    this.causes[index] = cause;
    this.resultNos[index] = place < 0 ? ~place : place;
    this.disruptions[index] = place < 0 ? 1 : 0;
  }

  /** Whether one failure is later than another: in a later run, or later in the report. */
  isLater(one: number, other: number): boolean {
    const byRun = this.runs[one]! - this.runs[other]!;
    return byRun > 0 || byRun === 0 && this.resultNos[one]! > this.resultNos[other]!;
  }

  /** The failures of each test, in the order in which they were added; no more are added after it. */
  byTest(): readonly Int32Array[] {
    return this.#byTest ??= this.#groupByTest();
  }

  #groupByTest(): Int32Array[] {
    const count = this.testNos.length;
    const ends = new Int32Array(count);
    for (let index = 0; index < this.length; index++) ends[this.tests[index]!]!++;
    const found = new Int32Array(this.length);
    const groups: Int32Array[] = [];
    for (let test = 0, start = 0; test < count; test++) {
      const end = start + ends[test]!;
      groups.push(found.subarray(start, end));
      ends[test] = start;
      start = end;
    }
    for (let index = 0; index < this.length; index++) found[ends[this.tests[index]!]!++] = index;
    return groups;
  }
}
