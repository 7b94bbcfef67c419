/** Who is calling, and what of theirs the request names: one statement, the first of any request. */
import type { DataVersion, WindowVersion } from "../../lib/base/data_version.ts";
import { oldestSubmission, versionColumns } from "../admin/repositories.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { isKnown } from "../write/staged_tests.ts";

/** An organization, by a valid token of it. */
export interface Caller {
  organizationId: number;
}

/** The repositories that a request is about. */
export type Selection =
  | { kind: "none" }
  | { kind: "all" }
  /** By owner and name as they are compared. */
  | { kind: "repository"; ownerKey: string; nameKey: string }
  /** The repository of a test, and the test. */
  | { kind: "test"; idPrefix: number; testHash: number }
  /** Those that have this name (and owner, if given), and the one with this identifier. */
  | { kind: "named"; ownerKey?: string; nameKey?: string; repositoryId?: number };

/** A repository as a request sees it. */
export interface FoundRepository extends DataVersion {
  repositoryId: number;
  ownerKey: string;
  nameKey: string;
  /** The selected test, `null` when there is none or none was selected. */
  testNo: number | null;
}

/** A repository with all that tells one state of its answers from another. */
export type RepositoryVersion = FoundRepository & WindowVersion;

type CallerRow = { organizationId: number } & (FoundRepository | { repositoryId: null });

/**
 * The caller with that token and the selected repositories, ordered by id; `null` when the token
 * is unknown, expired, revoked, or a legacy one of an organization without purchased units.
 *
 * @param options.now seconds since 1970
 */
export async function loadCaller(sql: Queryable, options: {
  token: { type: string; hash: string };
  now: number;
  selection: Selection;
}): Promise<{ caller: Caller; repositories: FoundRepository[] } | null> {
  const { token, now, selection } = options;
  const rows = await sql<CallerRow[]>`
    select t.organization_id as "organizationId", r.repository_id::float8 as "repositoryId",
      r.owner_key as "ownerKey", r.name_key as "nameKey", ${versionColumns(sql)},
      ${selectTestNo(sql, selection)} as "testNo"
    from api_token t
    left join repository r on r.organization_id = t.organization_id
      and r.is_visible and ${isSelected(sql, selection)}
    where t.hash = ${token.hash} and t.type = ${token.type}
      and t.revoked_at is null
      and (t.expires_at is null or t.expires_at > to_timestamp(${now}::float8))
      and (t.type <> 'legacy' or exists (
        select from organization o
        where o.organization_id = t.organization_id and o.purchase_unit_count > 0))
    order by r.repository_id`;
  const [first] = rows;
  if (!first) return null;
  return {
    caller: { organizationId: first.organizationId },
    repositories: rows.filter((row) => row.repositoryId !== null),
  };
}

/**
 * The oldest submission of the window of each of these repositories, and which version of the data
 * it is the oldest of; nothing of those that are gone.
 */
export async function loadOldestSubmissions(
  sql: Queryable,
  { repositoryIds, windowStart }: { repositoryIds: number[]; windowStart: number },
): Promise<Map<number, WindowVersion>> {
  const rows = await sql<(WindowVersion & { repositoryId: number })[]>`
    select r.repository_id::float8 as "repositoryId", ${versionColumns(sql)},
      ${oldestSubmission(sql, windowStart)} as "oldestSubmissionId"
    from repository r
    where r.repository_id = any(${arrayOf(repositoryIds)}::text::bigint[])`;
  return new Map(rows.map(({ repositoryId, ...seen }) => [repositoryId, seen]));
}

function isSelected(sql: Queryable, selection: Selection) {
  switch (selection.kind) {
    case "none":
      return sql`false`;
    case "all":
      return sql`true`;
    case "repository":
      return sql`r.owner_key = ${selection.ownerKey} and r.name_key = ${selection.nameKey}`;
    case "test":
      return sql`r.id_prefix = ${selection.idPrefix}`;
    case "named":
      return isNamed(sql, selection);
  }
}

function isNamed(sql: Queryable, selection: Selection & { kind: "named" }) {
  const { ownerKey, nameKey, repositoryId } = selection;
  const byName = nameKey === undefined
    ? sql`false`
    : ownerKey === undefined
    ? sql`r.name_key = ${nameKey}`
    : sql`r.owner_key = ${ownerKey} and r.name_key = ${nameKey}`;
  return repositoryId === undefined
    ? byName
    : sql`(r.repository_id = ${repositoryId} or (${byName}))`;
}

function selectTestNo(sql: Queryable, selection: Selection) {
  if (selection.kind !== "test") return sql`null::integer`;
  return sql`(
    select t.test_no from test t
    where t.repository_id = r.repository_id and t.test_hash = ${selection.testHash}
      and ${isKnown(sql)})`;
}
