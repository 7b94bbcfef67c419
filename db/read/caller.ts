/** Who is calling, and the repositories that the request names: the first statement of any request. */
import type { WindowVersion } from "../../lib/base/data_version.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { type Queryable, textsIn } from "../connection/sql.ts";

/** An organization, by a valid token of it. */
export interface Caller {
  organizationId: number;
  tokenId: number;
}

/** The repositories that a request is about. */
export type Selection =
  | { kind: "none" }
  /** The organization of the caller. */
  | { kind: "organization" }
  | { kind: "all" }
  /** The repository of a test, and the test. */
  | { kind: "test"; idPrefix: number; testHash: number }
  /** The repository with this owner and name (as they are compared) if it has this submission. */
  | { kind: "submission"; ownerKey: string; nameKey: string; submissionId: string }
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
  /** The selected submission, 24 hex digits; `null` when none was selected. */
  submissionId: string | null;
}

/** A caller and the selected repositories, ordered by id. */
export interface CallerScope {
  /** `null` on public routes only. */
  caller: Caller | null;
  /** `null` when the organization was not selected. */
  organizationName: string | null;
  repositories: RepositoryVersion[];
}

type CallerRow =
  & Caller
  & Pick<CallerScope, "organizationName">
  & (Omit<RepositoryVersion, "submissionId"> | { dataVersion: null });

/**
 * Loads the caller with a token and the selected repositories; `null` when the token is unknown,
 * expired, revoked, or a legacy one of an organization without purchased units. A badge token sees
 * its repository only.
 *
 * The oldest submission of the window is read here too, although it seldom changes: that takes no
 * measurable time for one repository, and 0.5 ms for 200.
 *
 * The text is put together here, from constants and the numbers of parameters: it is the one statement
 * that runs for each request, and with four fragments of postgres.js it takes 50 µs more of them.
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
  const values: (string | number | null)[] = [];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const text = `
    select t.organization_id as "organizationId", t.api_token_id as "tokenId",
      r.repository_id::float8 as "repositoryId", r.repository_number::float8 as "repositoryNumber",
      r.owner_key as "ownerKey", r.name_key as "nameKey", v.data_version::float8 as "dataVersion",
      encode(v.oldest_submission_id, 'hex') as "oldestSubmissionId",
      ${selection.kind === "test" ? testNo(bind, selection) : "null::integer"} as "testNo",
      ${selection.kind === "organization" ? ORGANIZATION_NAME : "null"} as "organizationName"
    from api_token t
    left join repository r on r.organization_id = t.organization_id
      and r.repository_number is not null and ${isSelected(bind, selection)}
      ${token.type === "badge" ? "and r.repository_id = t.repository_id" : ""}
    left join lateral repository_version(
      r.repository_id, decode(${bind(firstSubmissionId(windowStart))}, 'hex')) v on true
    where t.hash = ${bind(token.hash)} and t.type = ${bind(token.type)}
      and t.revoked_at is null
      and (t.expires_at is null or t.expires_at > to_timestamp(${bind(now)}::float8))
      ${token.type === "legacy" ? `and ${IS_PAID}` : ""}`;
  const rows = await sql.unsafe<CallerRow[]>(text, values, { prepare: true });
  const [first] = rows;
  if (!first) return null;
  const repositories: RepositoryVersion[] = [];
  const submissionId = selection.kind === "submission" ? selection.submissionId : null;
  for (
    const { organizationId: _, tokenId: _tokenId, organizationName: _name, ...repository } of rows
  ) {
    if (repository.dataVersion !== null) repositories.push({ ...repository, submissionId });
  }
  return {
    caller: { organizationId: first.organizationId, tokenId: first.tokenId },
    organizationName: first.organizationName,
    repositories: repositories.sort((a, b) => a.repositoryId - b.repositoryId),
  };
}

/** Adds a parameter to a statement and returns its SQL, such as `$3`. */
type Bind = (value: string | number | null) => string;

const ORGANIZATION_NAME = `(
  select o.name from organization o where o.organization_id = t.organization_id)`;

const IS_PAID = `exists (
  select 1 from organization o
  where o.organization_id = t.organization_id and o.purchase_unit_count > 0)`;

function isSelected(bind: Bind, selection: Selection): string {
  switch (selection.kind) {
    case "none":
    case "organization":
      return "false";
    case "all":
      return "true";
    case "test":
      return `r.id_prefix = ${bind(selection.idPrefix)}`;
    case "submission":
      return `r.owner_key = ${bind(selection.ownerKey)} and r.name_key = ${bind(selection.nameKey)}
        and exists (
          select 1 from stored_submission(
            r.repository_id, decode(${bind(selection.submissionId)}, 'hex')))`;
    case "named":
      return isNamed(bind, selection);
  }
}

function isNamed(
  bind: Bind,
  { ownerKey, nameKey, repositoryNumber }: Extract<Selection, { kind: "named" }>,
): string {
  const names = [
    ...(nameKey === undefined ? [] : [`r.name_key = ${bind(nameKey)}`]),
    ...(ownerKey === undefined ? [] : [`r.owner_key = ${bind(ownerKey)}`]),
  ].join(" and ");
  if (repositoryNumber === undefined) return names;
  const isNumber = `r.repository_number = ${bind(repositoryNumber)}`;
  return names ? `(${isNumber} or ${names})` : isNumber;
}

function testNo(bind: Bind, { testHash }: { testHash: number }): string {
  return `(select test_no from published_test(r.repository_id, ${bind(testHash)}))`;
}

/** Who uploads: an organization, by a valid upload token of it. */
export interface Uploader extends Caller {
  organizationName: string;
}

/**
 * Loads the organization of an upload token; `null` when the token is unknown, expired or revoked.
 *
 * @param options.now seconds since 1970
 */
export async function loadUploader(
  sql: Queryable,
  { hash, now }: { hash: string; now: number },
): Promise<Uploader | null> {
  const [row] = await sql<Uploader[]>`
    select t.organization_id as "organizationId", t.api_token_id as "tokenId",
      o.name as "organizationName"
    from api_token t
    join organization o on o.organization_id = t.organization_id
    where t.hash = ${hash} and t.type = 'upload' and t.revoked_at is null
      and (t.expires_at is null or t.expires_at > to_timestamp(${now}::float8))`;
  return row ?? null;
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
