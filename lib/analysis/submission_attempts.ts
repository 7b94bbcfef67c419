// Tests: tests/routes/submissions_test.ts
import {
  type AttemptStatus,
  countNonNegative,
  hasStatus,
  type StoredFailure,
  type TestAttempt,
  testAttempts,
} from "./attempts.ts";
import type { Run } from "./run.ts";

interface ListedAttempt<Failure extends StoredFailure> extends TestAttempt<Failure> {
  testNo: number;
  /** Among all attempts of the submission, by test in the order of its columns. */
  position: number;
}

/** Returns the first `count` of some tests in the order of the list. */
type SortTests = (testNos: number[], count: number) => Promise<number[]>;

/**
 * The attempts of one submission with a status, negative ones first: how many there are, and a page of
 * them. Only these are made, as a submission may have half a million.
 */
export async function attemptsPage<Failure extends StoredFailure & { testNo: number }>(
  { run: { results, durations }, failures, status }: {
    run: Run<"results" | "durations">;
    /** In the order of the report. */
    failures: readonly Failure[];
    status: AttemptStatus;
  },
  { after, limit, sort }: { after: number; limit: number; sort: SortTests },
): Promise<{ count: number; attempts: ListedAttempt<Failure>[] }> {
  const failuresOf = Map.groupBy(failures, ({ testNo }) => testNo);
  // How many attempts with the status a test has, by test_no.
  const negatives = new Map<number, number>();
  const others = new Map<number, number>();
  for (const { testNo, conclusion } of failures) {
    if (hasStatus(conclusion, status)) negatives.set(testNo, (negatives.get(testNo) ?? 0) + 1);
  }
  results.eachTest((testNo, { counts }) => {
    const count = countNonNegative(counts, status);
    if (count > 0) others.set(testNo, count);
  });

  const page: ListedAttempt<Failure>[] = [];
  let count = 0;
  for (const counts of [negatives, others]) {
    const start = Math.max(0, after - count);
    const ownCount = counts.values().reduce((sum, one) => sum + one, 0);
    count += ownCount;
    if (start < ownCount && page.length < limit) {
      page.push(...await slice(counts, start, limit - page.length));
    }
  }
  return { count, attempts: page };

  /** A part of the negative or of the other attempts. */
  async function slice(counts: Map<number, number>, start: number, length: number) {
    // Each of these tests has an attempt, so that there are enough.
    const sorted = await sort([...counts.keys()], start + length);
    let end = 0;
    let skipped = 0;
    const tests: number[] = [];
    for (const testNo of sorted) {
      const begin = end;
      end += counts.get(testNo)!;
      if (end <= start) skipped = end;
      else if (begin < start + length) tests.push(testNo);
    }
    const attempts = attemptsOf(new Set(tests));
    return tests.flatMap((testNo) =>
      attempts.get(testNo)!.filter(({ conclusion, failure }) =>
        (failure !== null) === (counts === negatives) && hasStatus(conclusion, status)
      )
    ).slice(start - skipped, start - skipped + length);
  }

  function attemptsOf(tests: ReadonlySet<number>): Map<number, ListedAttempt<Failure>[]> {
    const found = new Map<number, ListedAttempt<Failure>[]>();
    let end = 0;
    for (const [testNo, attempts] of results.allAttempts(durations)) {
      const start = end;
      end += attempts.length;
      if (!tests.has(testNo)) continue;
      const own = testAttempts(attempts, failuresOf.get(testNo) ?? []);
      found.set(
        testNo,
        own.map((attempt, index) => ({ ...attempt, testNo, position: start + index })),
      );
    }
    return found;
  }
}
