import { resultCountsAt } from "../../lib/analysis/columns.ts";
import type {
  DisruptiveTest,
  NegativeResult,
  ProcessedSubmission,
  PrunedFields,
} from "../../lib/analysis/disruptions.ts";
import { integersIn, type Queryable, textsIn } from "../connection/sql.ts";
import { messageOf } from "../read/failure_texts.ts";
import { weekOfNegative } from "../read/fragments.ts";
import { loadTestLists } from "../read/test_lists.ts";

/** All processed submissions of some code versions, and which of the given tests passed in them. */
export async function loadProcessedSubmissions(
  sql: Queryable,
  { repositoryId, codeVersions, testNos }: {
    repositoryId: number;
    codeVersions: string[];
    testNos: ReadonlySet<number>;
  },
): Promise<(ProcessedSubmission & { codeVersion: string })[]> {
  type Row = Omit<ProcessedSubmission, "hasPositive"> & { codeVersion: string };
  const submissions = await sql<(Row & { testListNo: number; exceptions: Uint8Array })[]>`
    select code_version as "codeVersion", encode(submission_id, 'hex') as "submissionId",
      commit_oid as "commitOid", build_url as "buildUrl", test_list_no as "testListNo", exceptions
    from submission
    where repository_id = ${repositoryId} and status = 'processed'
      and code_version = any(${textsIn(sql, codeVersions)})`;
  const testListNos = new Set(submissions.map(({ testListNo }) => testListNo));
  const indexesByList = new Map<number, Map<number, number>>();
  for (const [testListNo, listed] of await loadTestLists(sql, { repositoryId, testListNos })) {
    const indexes = new Map<number, number>();
    listed.forEach((testNo, index) => testNos.has(testNo) && indexes.set(testNo, index));
    indexesByList.set(testListNo, indexes);
  }
  return submissions.map(({ testListNo, exceptions, ...submission }) => {
    const indexes = indexesByList.get(testListNo)!;
    const counts = resultCountsAt(exceptions, indexes.values());
    return {
      ...submission,
      hasPositive: (testNo) => (counts.get(indexes.get(testNo) ?? -1)?.positive ?? 0) > 0,
    };
  });
}

/** All negative results of a code version. */
export async function loadNegatives(
  sql: Queryable,
  { repositoryId, codeVersion }: { repositoryId: number; codeVersion: string },
): Promise<(NegativeResult & { testHash: number })[]> {
  return await sql<(NegativeResult & { testHash: number })[]>`
    select encode(n.submission_id, 'hex') as "submissionId", n.result_no as "resultNo",
      n.test_no as "testNo", t.test_hash::float8 as "testHash",
      ${messageOf(sql, repositoryId)} as message, n.is_disruption as "isDisruption"
    from submission s
    join negative_result n using (repository_id, submission_id)
    join test t using (repository_id, test_no)
    where s.repository_id = ${repositoryId} and s.code_version = ${codeVersion}
      and s.status = 'processed'`;
}

/** Marks negative results as disruptions, or unmarks them. */
export async function markDisruptions(
  sql: Queryable,
  { repositoryId, negatives, isDisruption }: {
    repositoryId: number;
    negatives: NegativeResult[];
    isDisruption: boolean;
  },
): Promise<void> {
  if (negatives.length === 0) return;
  await sql`
    update negative_result n set is_disruption = ${isDisruption}
    from json_to_recordset(${JSON.stringify(negatives)}::text::json)
      as k("submissionId" text, "testNo" int, "resultNo" int)
    where n.repository_id = ${repositoryId} and n.submission_id = decode(k."submissionId", 'hex')
      and n.is_disruption = ${!isDisruption} and n.test_no = k."testNo"
      and n.result_no = k."resultNo"`;
}

/** Those of the given tests that were ever disruptive, by test_no. */
export async function loadDisruptiveTests(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: Iterable<number> },
): Promise<Map<number, DisruptiveTest>> {
  const rows = await sql<DisruptiveTest[]>`
    select test_no as "testNo",
      extract(epoch from first_disruption_at)::float8 as "firstDisruptionAt",
      encode(latest_submission_id, 'hex') as "latestSubmissionId",
      latest_result_no as "latestResultNo", latest_commit_oid as "latestCommitOid",
      latest_build_url as "latestBuildUrl", latest_message as "latestMessage",
      encode(positive_submission_id, 'hex') as "positiveSubmissionId",
      positive_build_url as "positiveBuildUrl"
    from disruptive_test
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(sql, testNos)})`;
  return new Map(rows.map((row) => [row.testNo, row]));
}

/** The fields of disruptive tests that come from pruned submissions and not from stored results. */
export async function loadPrunedFields(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: Iterable<number> },
): Promise<PrunedFields[]> {
  const tests = await loadDisruptiveTests(sql, { repositoryId, testNos });
  // hasPositive: whether the submission is stored, and a disruption of its code version.
  const stored = await sql<{
    testNo: number;
    earliestAt: number | null;
    hasLatest: boolean;
    hasPositive: boolean;
  }[]>`
    select d.test_no as "testNo",
      (select extract(epoch from s.recorded_at)::float8
        from negative_result n
        join submission s
          on s.repository_id = n.repository_id and s.submission_id = n.submission_id
        where n.repository_id = ${repositoryId} and n.test_no = d.test_no and n.is_disruption
        order by ${weekOfNegative(sql)}, n.submission_id limit 1) as "earliestAt",
      exists (select 1 from negative_result n
        where n.repository_id = ${repositoryId} and n.submission_id = d.latest_submission_id
          and n.is_disruption and n.test_no = d.test_no
          and n.result_no = d.latest_result_no) as "hasLatest",
      exists (select 1 from submission p
        join submission s on s.repository_id = p.repository_id and s.code_version = p.code_version
        join negative_result n
          on n.repository_id = s.repository_id and n.submission_id = s.submission_id
        where p.repository_id = ${repositoryId} and p.submission_id = d.positive_submission_id
          and n.test_no = d.test_no and n.is_disruption) as "hasPositive"
    from disruptive_test d
    where d.repository_id = ${repositoryId}
      and d.test_no = any(${integersIn(sql, testNos)})`;
  return stored.map(({ testNo, earliestAt, hasLatest, hasPositive }) => {
    const { firstDisruptionAt, positiveSubmissionId, positiveBuildUrl, ...latest } = tests.get(
      testNo,
    )!;
    return {
      testNo,
      ...earliestAt === null || firstDisruptionAt < earliestAt ? { firstDisruptionAt } : {},
      ...hasLatest ? {} : latest,
      ...hasPositive ? {} : { positiveSubmissionId, positiveBuildUrl },
    };
  });
}

/** Inserts or replaces disruptive tests. */
export async function storeDisruptiveTests(
  sql: Queryable,
  { repositoryId, tests }: { repositoryId: number; tests: DisruptiveTest[] },
): Promise<void> {
  if (tests.length === 0) return;
  await sql`
    insert into disruptive_test (repository_id, test_no, first_disruption_at, latest_submission_id,
      latest_result_no, latest_commit_oid, latest_build_url, latest_message,
      positive_submission_id, positive_build_url)
    select ${repositoryId}, t."testNo", to_timestamp(t."firstDisruptionAt"),
      decode(t."latestSubmissionId", 'hex'), t."latestResultNo", t."latestCommitOid",
      t."latestBuildUrl", t."latestMessage", decode(t."positiveSubmissionId", 'hex'),
      t."positiveBuildUrl"
    from json_to_recordset(${JSON.stringify(tests)}::text::json) as t("testNo" int,
      "firstDisruptionAt" float8, "latestSubmissionId" text, "latestResultNo" int,
      "latestCommitOid" text, "latestBuildUrl" text, "latestMessage" text,
      "positiveSubmissionId" text, "positiveBuildUrl" text)
    on conflict (repository_id, test_no) do update set
      first_disruption_at = excluded.first_disruption_at,
      latest_submission_id = excluded.latest_submission_id,
      latest_result_no = excluded.latest_result_no,
      latest_commit_oid = excluded.latest_commit_oid,
      latest_build_url = excluded.latest_build_url,
      latest_message = excluded.latest_message,
      positive_submission_id = excluded.positive_submission_id,
      positive_build_url = excluded.positive_build_url`;
}

/** Deletes disruptive tests. */
export async function deleteDisruptiveTests(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: number[] },
): Promise<void> {
  if (testNos.length === 0) return;
  await sql`
    delete from disruptive_test
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(sql, testNos)})`;
}
