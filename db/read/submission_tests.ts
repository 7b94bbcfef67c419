// Tests: tests/routes/submissions_test.ts
import type { AttemptStatus, StoredFailure, TestAttempt } from "../../lib/analysis/attempts.ts";
import type { FailureText } from "../../lib/analysis/failure_texts.ts";
import { splitFingerprints } from "../../lib/analysis/failure_groups.ts";
import { attemptsPage } from "../../lib/analysis/submission_attempts.ts";
import { eventId, type TestIdentity } from "../../lib/base/identity.ts";
import { integersIn, type Queryable } from "../connection/sql.ts";
import { loadIdentities, orderOfIdentities } from "./names_of_tests.ts";
import { loadRuns } from "./runs.ts";
import { loadTexts } from "./texts.ts";

interface SubmissionFailure extends StoredFailure {
  testNo: number;
  /** Fingerprints, one after the other. */
  causes: string;
}

interface SubmissionAttempt extends TestAttempt, TestIdentity {
  testNo: number;
  /** 24 hex digits; for a failure the id of its event. */
  id: string;
  /** 24 hex digits. */
  testId: string;
  /** `null` unless the attempt is negative. */
  text: FailureText | null;
  /** Fingerprints; empty unless the attempt is negative. */
  causes: string[];
}

/**
 * The attempts of a submission with a status: negative ones first, then by suite, class, name and
 * file (in the order of code points), then in the order of the report; `after` that many.
 */
export async function loadSubmissionTests(tx: Queryable, options: {
  repositoryId: number;
  idPrefix: number;
  /** 24 hex digits. */
  submissionId: string;
  status: AttemptStatus;
  after: number;
  limit: number;
}): Promise<{ count: number; attempts: SubmissionAttempt[] }> {
  const { repositoryId, idPrefix, submissionId, status, after, limit } = options;
  const columns = ["results", "durations", "resultCount"] as const;
  const [[run], failures] = await Promise.all([
    loadRuns(tx, { repositoryId, submissionIds: [submissionId], columns }),
    selectFailures(tx, options),
  ]);
  // Not processed.
  if (!run) return { count: 0, attempts: [] };
  const page = await attemptsPage({ run, failures, status }, {
    after,
    limit,
    sort: (testNos, count) => selectSortedTestNos(tx, { repositoryId, testNos, limit: count }),
  });
  const tests = page.attempts;
  const [identities, texts] = await Promise.all([
    loadIdentities(tx, { repositoryId, idPrefix, testNos: tests.map(({ testNo }) => testNo) }),
    loadTexts(tx, {
      repositoryId,
      textIds: tests.flatMap(({ failure }) => failure?.textId ?? []),
    }),
  ]);
  return {
    count: page.count,
    attempts: tests.map(({ testNo, position, ...attempt }) => {
      const { id, ...identity } = identities.get(testNo)!;
      const { failure } = attempt;
      return {
        ...attempt,
        ...identity,
        testNo,
        id: eventId(submissionId, failure?.resultNo ?? run.resultCount + position),
        testId: id,
        text: failure && texts.get(failure.textId)!,
        causes: splitFingerprints(failure?.causes ?? ""),
      };
    }),
  };
}

interface SubmissionKey {
  repositoryId: number;
  submissionId: string;
}

function selectFailures(sql: Queryable, { repositoryId, submissionId }: SubmissionKey) {
  return sql<SubmissionFailure[]>`
    select test_no as "testNo", result_no as "resultNo", conclusion,
      is_disruption as "isDisruption", encode(text_id, 'hex') as "textId",
      encode(fingerprint || coalesce(other_fingerprints, ''), 'hex') as causes
    from negative_result
    where repository_id = ${repositoryId} and submission_id = decode(${submissionId}, 'hex')
    order by result_no`;
}

/** The first of the given tests in the order of their names. */
async function selectSortedTestNos(
  sql: Queryable,
  { repositoryId, testNos, limit }: {
    repositoryId: number;
    testNos: Iterable<number>;
    limit: number;
  },
): Promise<number[]> {
  const rows = await sql<{ testNo: number }[]>`
    select test_no as "testNo" from test
    where repository_id = ${repositoryId} and test_no = any(${integersIn(sql, testNos)})
    ${orderOfIdentities(sql)} limit ${limit}`;
  return rows.map(({ testNo }) => testNo);
}
