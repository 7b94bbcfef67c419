// Tests: tests/routes/search_page_test.ts
/** Builds of all repositories of an organization, by what people know of them. */
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { buildKeyOf } from "./fragments.ts";

export interface FoundBuild {
  repositoryId: number;
  /** Its latest submission, 24 hex digits. */
  submissionId: string;
  commitOid: string;
  branch: string;
  buildUrl: string;
  /** Seconds since 1970. */
  recordedAt: number;
}

interface SearchedBuilds {
  repositoryIds: readonly number[];
  /** In seconds since 1970. */
  since: number;
  /** A commit or its beginning, in lower case; `null` to search by pull request. */
  commit: string | null;
  /** Number of the pull request; `null` to search by commit. */
  pullNumber: number | null;
  limit: number;
}

/** The newest builds of a commit or of a pull request. */
export async function searchBuilds(
  sql: Queryable,
  { repositoryIds, since, commit, pullNumber, limit }: SearchedBuilds,
): Promise<FoundBuild[]> {
  const isFound = commit === null
    ? sql`s.pull_number = ${pullNumber}::bigint`
    : sql`starts_with(lower(s.commit_oid), ${commit}::text)`;
  return await sql<FoundBuild[]>`
    select s.repository_id::float8 as "repositoryId",
      max(encode(s.submission_id, 'hex') collate "C") as "submissionId",
      max(s.commit_oid collate "C") as "commitOid",
      coalesce(max(s.branch collate "C"), '') as branch,
      max(s.build_url collate "C") as "buildUrl",
      extract(epoch from max(s.recorded_at))::float8 as "recordedAt"
    from submission s
    where s.repository_id = any(${arrayOf(repositoryIds)}::bigint[])
      and s.submission_id >= decode(${firstSubmissionId(since)}, 'hex') and ${isFound}
    group by s.repository_id, ${buildKeyOf(sql)}
    order by "submissionId" desc
    limit ${limit}`;
}
