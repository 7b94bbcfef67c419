// Tests: tests/routes/failures_test.ts
import type { FailureColumns } from "../../lib/analysis/failure_columns.ts";
import { type FailureGroup, groupFailures } from "../../lib/analysis/failure_groups.ts";
import type { FailureText } from "../../lib/analysis/failure_texts.ts";
import type { Run } from "../../lib/analysis/run.ts";
import { testId } from "../../lib/base/identity.ts";
import type { SubmissionFilter } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { failureColumns, selectFailures } from "./failure_rows.ts";
import { loadTestHashes } from "./packed_rows.ts";
import { loadRuns } from "./runs.ts";
import { loadTexts, messageOf } from "./texts.ts";

/** Failures of one cause, with fields of the latest one. */
interface ShownGroup extends Omit<FailureGroup, "latest">, FailureText {
  /** Submission of the latest one, as the two fields below. */
  submissionId: string;
  latestBuildUrl: string;
  latestCommitOid: string;
}

interface FailuresQuery {
  repositoryId: number;
  idPrefix: number;
  /** `null` for all tests of the repository. */
  testNo: number | null;
  windowStart: number;
  filter: SubmissionFilter;
}

/** The largest groups, and the count of all. */
export interface ShownGroups {
  count: number;
  groups: ShownGroup[];
}

/** The failures of the window, and the runs of it that count. */
export interface FailuresInRuns {
  /** Oldest first. */
  runs: readonly Run<"branch" | "buildUrl">[];
  failures: FailureColumns;
}

/** The failures of a test, or of all, in the runs of the window. */
export async function loadFailuresInRuns(
  tx: Queryable,
  { repositoryId, testNo, windowStart, filter }: Omit<FailuresQuery, "idPrefix">,
): Promise<FailuresInRuns> {
  const [runs, rows] = await Promise.all([
    loadRuns(tx, {
      repositoryId,
      columns: ["branch", "buildUrl"],
      since: windowStart,
      filter,
      order: "oldest first",
    }),
    selectFailures(tx, { repositoryIds: [repositoryId], testNo, windowStart }),
  ]);
  return { runs, failures: failureColumns(rows, runs) };
}

/**
 * The failures of the window, grouped by cause.
 *
 * A repository may have a hundred thousand: the failures of a submission are one row, and only the texts
 * of the groups that are shown are read.
 */
export async function loadFailures(
  tx: Queryable,
  query: FailuresQuery,
): Promise<ShownGroups> {
  const found = await loadFailuresInRuns(tx, query);
  const { runs, failures } = found;
  const idOf = await loadIdsOfTests(tx, { ...query, failures });
  // Failures of several tests have a cause in common only if it is known.
  const withUnknown = query.testNo !== null;
  const { count, groups: largest } = groupFailures(failures, { runs, idOf, withUnknown });
  const groups = [...largest];
  return { count, groups: await withLatest(tx, { ...query, groups, found }) };
}

/** The ids of the tests of failures, by their numbers. */
export async function loadIdsOfTests(
  tx: Queryable,
  { repositoryId, idPrefix, failures: { testNos } }:
    & Pick<FailuresQuery, "repositoryId" | "idPrefix">
    & { failures: FailureColumns },
): Promise<(test: number) => string> {
  const hashes = await loadTestHashes(tx, { repositoryId, testNos });
  return (test) => testId(idPrefix, hashes.get(testNos[test]!)!);
}

interface LatestQuery {
  repositoryId: number;
  groups: readonly FailureGroup[];
  found: FailuresInRuns;
}

async function withLatest(tx: Queryable, query: LatestQuery): Promise<ShownGroup[]> {
  const rowOf = await selectLatest(tx, query);
  const textIds = [...rowOf.values()].map(({ textId }) => textId);
  const texts = await loadTexts(tx, { ...query, textIds });
  return query.groups.map(({ fingerprint, branches, latest, ...group }) => {
    const { textId, message, index: _index, ...build } = rowOf.get(latest)!;
    const { body } = texts.get(textId)!;
    return { fingerprint, message, body, ...group, branches, ...build };
  });
}

/** Groups with the messages of their latest failures: no stack trace is read. */
export async function withMessages(tx: Queryable, query: LatestQuery) {
  const rowOf = await selectLatest(tx, query);
  return query.groups.map((group) => ({ ...group, message: rowOf.get(group.latest)!.message }));
}

/** A failure in the columns. */
interface FailureKey {
  index: number;
  submissionId: string;
  isDisruption: boolean;
  testNo: number;
  resultNo: number;
}

/** The latest failures of groups, by their indexes. `offset 0` keeps the lookup of each by its key. */
async function selectLatest(
  sql: Queryable,
  { repositoryId, groups, found: { runs, failures } }: LatestQuery,
) {
  const keys = groups.map(({ latest }): FailureKey => ({
    index: latest,
    submissionId: runs[failures.runs[latest]!]!.submissionId,
    isDisruption: failures.disruptions[latest] === 1,
    testNo: failures.testNos[failures.tests[latest]!]!,
    resultNo: failures.resultNos[latest]!,
  }));
  type Row =
    & Pick<ShownGroup, "submissionId" | "message" | "latestBuildUrl" | "latestCommitOid">
    & Pick<FailureKey, "index">
    & { textId: string };
  const rows = await sql<Row[]>`
    select k.index, k."submissionId", encode(n.text_id, 'hex') as "textId",
      ${messageOf(sql, repositoryId)} as message,
      s.build_url as "latestBuildUrl", s.commit_oid as "latestCommitOid"
    from json_to_recordset(${JSON.stringify(keys)}::text::json) as k(index int,
      "submissionId" text, "isDisruption" boolean, "testNo" int, "resultNo" int)
    cross join lateral (
      select text_id from negative_result
      where repository_id = ${repositoryId} and submission_id = decode(k."submissionId", 'hex')
        and is_disruption = k."isDisruption" and test_no = k."testNo"
        and result_no = k."resultNo"
      offset 0
    ) n
    cross join lateral (
      select build_url, commit_oid from submission
      where repository_id = ${repositoryId} and submission_id = decode(k."submissionId", 'hex')
      offset 0
    ) s`;
  return new Map(rows.map((row) => [row.index, row]));
}
