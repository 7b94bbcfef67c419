// Tests: tests/db/write/store_submission_test.ts
/** The table of tests that were ever disruptive. */
import type { DisruptiveTest } from "../../lib/analysis/disruptions.ts";
import { integersIn, type Queryable } from "../connection/sql.ts";

/** The given tests, or all, that have ever been disruptive, by test_no. */
export async function loadDisruptiveTests(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos?: Iterable<number> },
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
      ${testNos ? sql`and test_no = any(${integersIn(sql, testNos)})` : sql``}`;
  return new Map(rows.map((row) => [row.testNo, { ...row }]));
}

/**
 * Stores disruptive tests. A row that exists is updated: its new version stays in the same page, and the
 * space of the old one is used again at once.
 */
export async function storeDisruptiveTests(
  sql: Queryable,
  { repositoryId, tests }: { repositoryId: number; tests: DisruptiveTest[] },
): Promise<void> {
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
      (first_disruption_at, latest_submission_id, latest_result_no, latest_commit_oid,
        latest_build_url, latest_message, positive_submission_id, positive_build_url) =
      (excluded.first_disruption_at, excluded.latest_submission_id, excluded.latest_result_no,
        excluded.latest_commit_oid, excluded.latest_build_url, excluded.latest_message,
        excluded.positive_submission_id, excluded.positive_build_url)`;
}

/** Deletes the rows of tests that are no longer disruptive. */
export async function deleteDisruptiveTests(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: Iterable<number> },
): Promise<void> {
  await sql`
    delete from disruptive_test
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(sql, testNos)})`;
}
