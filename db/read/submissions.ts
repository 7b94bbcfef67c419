/** Queries about submissions, as the API shows them. */
import type { DataVersion, Versioned } from "../../lib/base/data_version.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import type { BranchFilter } from "../../lib/query/mod.ts";
import type { Queryable } from "../connection/sql.ts";
import { isOnBranch, versionColumns } from "./fragments.ts";

export interface SubmissionRow {
  /** 24 hex digits. */
  submissionId: string;
  key: string;
  buildUrl: string;
  commitOid: string;
  /** `""` when unknown. */
  treeOid: string;
  /** `""` when unknown. */
  branch: string;
  /** Seconds since 1970. */
  recordedAt: number;
  status: "processing" | "processed" | "failed";
  testResultCount: number;
}

/**
 * The submissions of the window and some branches that are older than the one with the id `after`,
 * which need not exist; `null` for the newest.
 */
export async function loadSubmissionsPage(sql: Queryable, options: {
  repositoryId: number;
  windowStart: number;
  branches: BranchFilter;
  after: string | null;
  limit: number;
}): Promise<Versioned<{ count: number; submissions: SubmissionRow[] }>> {
  const { repositoryId, windowStart, branches, after, limit } = options;
  const inWindow = sql`s.repository_id = ${repositoryId}
    and s.submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex')
    and ${isOnBranch(sql, branches)}`;
  // An outer join: the count is returned even when the page is empty.
  type Row = DataVersion & { count: number } & (SubmissionRow | { submissionId: null });
  const rows = await sql<Row[]>`
    select ${versionColumns(sql)}, total.count, page.*
    from repository_state r
    cross join (select count(*)::float8 as count from submission s where ${inWindow}) total
    left join (
      select encode(s.submission_id, 'hex') as "submissionId", s.key, s.build_url as "buildUrl",
        s.commit_oid as "commitOid", coalesce(s.tree_oid, '') as "treeOid",
        coalesce(s.branch, '') as branch,
        extract(epoch from s.recorded_at)::float8 as "recordedAt", s.status,
        s.test_result_count as "testResultCount"
      from submission s
      where ${inWindow}
        ${after === null ? sql`` : sql`and s.submission_id < decode(${after}, 'hex')`}
      order by s.submission_id desc
      limit ${limit}
    ) page on true
    where r.repository_id = ${repositoryId}
    order by page."submissionId" desc`;
  return {
    version: rows[0] ?? null,
    count: rows[0]?.count ?? 0,
    submissions: rows.filter((row) => row.submissionId !== null),
  };
}
