/** Who is calling, and the repositories that the request names: the first statement of any request. */
import type { WindowVersion } from "../../lib/base/data_version.ts";
import { type Queryable, textsIn } from "../connection/sql.ts";
import { isPublished, oldestSubmission, versionColumns } from "./fragments.ts";

/** An organization, by a valid token of it. */
export interface Caller {
  organizationId: number;
  tokenId: number;
}

/** The repositories that a request is about. */
export type Selection =
  | { kind: "none" }
  | { kind: "all" }
  /** The repository of a test, and the test. */
  | { kind: "test"; idPrefix: number; testHash: number }
  /** Those with this name (and owner, if given; as they are compared), and that with this number. */
  | { kind: "named"; ownerKey?: string; nameKey?: string; repositoryNumber?: number };

/** A repository with everything that distinguishes one version of its responses from another. */
export interface RepositoryVersion extends WindowVersion {
  repositoryId: number;
  /** Unique within the organization. */
  repositoryNumber: number;
  ownerKey: string;
  nameKey: string;
  /** The selected test, `null` when there is none or none was selected. */
  testNo: number | null;
}

/** A caller and the selected repositories, ordered by id. */
export interface CallerScope {
  /** `null` on public routes only. */
  caller: Caller | null;
  repositories: RepositoryVersion[];
}

type CallerRow = Caller & (RepositoryVersion | { repositoryId: null });

/**
 * Loads the caller with a token and the selected repositories; `null` when the token is unknown,
 * expired, revoked, or a legacy one of an organization without purchased units.
 *
 * The oldest submission of the window is read here too, although it seldom changes: that takes no
 * measurable time for one repository, and 0.5 ms for 200.
 *
 * @param options.now seconds since 1970
 * @param options.windowStart first second of the window, since 1970
 */
export async function loadCaller(sql: Queryable, options: {
  token: { type: string; hash: string };
  now: number;
  windowStart: number;
  selection: Selection;
}): Promise<CallerScope | null> {
  const { token, now, windowStart, selection } = options;
  const rows = await sql<CallerRow[]>`
    select t.organization_id as "organizationId", t.api_token_id as "tokenId",
      r.repository_id::float8 as "repositoryId", r.repository_number::float8 as "repositoryNumber",
      r.owner_key as "ownerKey", r.name_key as "nameKey",
      ${versionColumns(sql)},
      ${oldestSubmission(sql, windowStart)} as "oldestSubmissionId",
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
    caller: { organizationId: first.organizationId, tokenId: first.tokenId },
    repositories: rows.filter((row) => row.repositoryId !== null),
  };
}

function isSelected(sql: Queryable, selection: Selection) {
  if (selection.kind === "none") return sql`false`;
  if (selection.kind === "all") return sql`true`;
  if (selection.kind === "test") return sql`r.id_prefix = ${selection.idPrefix}`;
  const { ownerKey, nameKey } = selection;
  const byName = nameKey === undefined
    ? sql`false`
    : ownerKey === undefined
    ? sql`r.name_key = ${nameKey}`
    : sql`r.owner_key = ${ownerKey} and r.name_key = ${nameKey}`;
  return selection.repositoryNumber === undefined
    ? byName
    : sql`(r.repository_number = ${selection.repositoryNumber} or (${byName}))`;
}

function selectTestNo(sql: Queryable, selection: Selection) {
  if (selection.kind !== "test") return sql`null::integer`;
  return sql`(
    select t.test_no from test t
    where t.repository_id = r.repository_id and t.test_hash = ${selection.testHash}
      and ${isPublished(sql)})`;
}

/** Which of these hashes belong to a token, valid or not. */
export async function existingTokenHashes(
  sql: Queryable,
  hashes: readonly string[],
): Promise<Set<string>> {
  const rows = await sql<{ hash: string }[]>`
    select hash from api_token where hash = any(${textsIn(sql, hashes)})`;
  return new Set(rows.map(({ hash }) => hash));
}
