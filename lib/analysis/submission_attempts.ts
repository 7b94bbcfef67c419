import {
  type AttemptStatus,
  countOthers,
  hasStatus,
  type StoredFailure,
  type TestAttempt,
  testAttempts,
} from "./attempts.ts";
import { type Attempt, forEachTest, type ResultColumns, type ResultCounts } from "./columns.ts";

export interface ListedAttempt extends TestAttempt {
  testNo: number;
  /** Among all attempts of the submission, by test in the order of its columns. */
  position: number;
}

/** Returns the first `count` of some tests in the order of the list. */
type SortTests = (testNos: number[], count: number) => Promise<number[]>;

/**
 * The attempts of one submission with a status, negative ones first. Only those of a page are made, as
 * a submission may have half a million.
 */
export class SubmissionAttempts {
  readonly #testNos: Int32Array;
  readonly #columns: ResultColumns;
  readonly #failures: Map<number, StoredFailure[]>;
  readonly #status: AttemptStatus;
  /** How many negative attempts with the status a test has, by test_no. */
  readonly #negatives = new Map<number, number>();
  /** The same of the other attempts. */
  readonly #others = new Map<number, number>();

  /** @param options.failures in the order of the report */
  constructor({ testNos, columns, failures, status }: {
    testNos: Int32Array;
    columns: ResultColumns;
    failures: readonly (StoredFailure & { testNo: number })[];
    status: AttemptStatus;
  }) {
    this.#testNos = testNos;
    this.#columns = columns;
    this.#failures = Map.groupBy(failures, ({ testNo }) => testNo);
    this.#status = status;
    for (const [testNo, own] of this.#failures) {
      const count = own.filter(({ conclusion }) => hasStatus(conclusion, status)).length;
      if (count > 0) this.#negatives.set(testNo, count);
    }
    forEachTest(columns, (index, attempts) => {
      const count = countOthers(countKinds(attempts), status);
      if (count > 0) this.#others.set(testNos[index]!, count);
    });
  }

  /** Attempts with the status. */
  get count(): number {
    return sum(this.#negatives) + sum(this.#others);
  }

  /** The attempts of a page. */
  async page(
    { after, limit }: { after: number; limit: number },
    sort: SortTests,
  ): Promise<ListedAttempt[]> {
    const negativeCount = sum(this.#negatives);
    const negatives = await this.#slice(this.#negatives, { after, limit, sort, negative: true });
    const others = await this.#slice(this.#others, {
      after: Math.max(0, after - negativeCount),
      limit: limit - negatives.length,
      sort,
      negative: false,
    });
    return [...negatives, ...others];
  }

  /** A part of the negative or of the other attempts. */
  async #slice(
    counts: Map<number, number>,
    { after, limit, sort, negative }: {
      after: number;
      limit: number;
      sort: SortTests;
      negative: boolean;
    },
  ): Promise<ListedAttempt[]> {
    if (limit === 0 || after >= sum(counts)) return [];
    // Each of these tests has an attempt, so that there are enough.
    const sorted = await sort([...counts.keys()], after + limit);
    let before = 0;
    let skipped = 0;
    const tests: number[] = [];
    for (const testNo of sorted) {
      const end = before + counts.get(testNo)!;
      if (end <= after) skipped = end;
      else if (before < after + limit) tests.push(testNo);
      before = end;
    }
    const attempts = this.#attemptsOf(new Set(tests));
    return tests.flatMap((testNo) =>
      attempts.get(testNo)!.filter(({ conclusion, failure }) =>
        (failure !== null) === negative && hasStatus(conclusion, this.#status)
      )
    ).slice(after - skipped, after - skipped + limit);
  }

  #attemptsOf(tests: ReadonlySet<number>): Map<number, ListedAttempt[]> {
    const found = new Map<number, ListedAttempt[]>();
    let end = 0;
    forEachTest(this.#columns, (index, attempts) => {
      const start = end;
      end += attempts.length;
      const testNo = this.#testNos[index]!;
      if (!tests.has(testNo)) return;
      const own = testAttempts(attempts, this.#failures.get(testNo) ?? []);
      found.set(
        testNo,
        own.map((attempt, index) => ({ ...attempt, testNo, position: start + index })),
      );
    });
    return found;
  }
}

function countKinds(attempts: readonly Attempt[]): ResultCounts {
  const counts = { positive: 0, negative: 0, skipped: 0, unknown: 0 };
  for (const { kind } of attempts) counts[kind]++;
  return counts;
}

function sum(counts: ReadonlyMap<number, number>): number {
  let total = 0;
  for (const count of counts.values()) total += count;
  return total;
}
