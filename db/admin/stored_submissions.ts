import type { Queryable } from "../connection/sql.ts";

export interface StoredSubmission {
  key: string;
  status: "processing" | "processed" | "failed";
  /** Seconds since 1970. */
  recordedAt: number;
  /** Seconds since 1970. */
  uploadedAt: number;
  buildUrl: string;
  commitOid: string;
  treeOid: string | null;
  branch: string | null;
  testResultCount: number;
}

/** All submissions of a repository, newest first, also those before the window. */
export async function listStoredSubmissions(
  sql: Queryable,
  repositoryId: number,
): Promise<StoredSubmission[]> {
  return await sql<StoredSubmission[]>`
    select key, status, extract(epoch from recorded_at)::float8 as "recordedAt",
      extract(epoch from uploaded_at)::float8 as "uploadedAt", build_url as "buildUrl",
      commit_oid as "commitOid", tree_oid as "treeOid", branch,
      test_result_count as "testResultCount"
    from submission
    where repository_id = ${repositoryId}
    order by submission_id desc`;
}
