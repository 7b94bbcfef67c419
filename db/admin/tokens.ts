// Tests: tests/db/schema/upload_token_test.ts tests/lib/cli/commands/token_test.ts
import type { TokenType } from "../../lib/base/token.ts";
import type { Queryable } from "../connection/sql.ts";

/** A stored token, without its hash. */
export interface Token {
  organizationId: number;
  apiTokenId: number;
  type: TokenType;
  tokenPrefix: string | null;
  label: string | null;
  /** Seconds since 1970, like the other times. */
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  /** The hour of the last request, `null` when none was recorded. */
  lastUsedAt: number | null;
  /** `OWNER/NAME` of the only repository that it is for, otherwise `null`. */
  repository: string | null;
}

export type NewTokenRow =
  & Omit<Token, "apiTokenId" | "revokedAt" | "lastUsedAt" | "repository">
  & {
    hash: string;
    /** The repository of a token for one repository. */
    repositoryId?: number;
  };

/**
 * Stores a token. An existing token of the organization stays as it is; `null` when it belongs to
 * another one.
 */
export async function insertToken(
  sql: Queryable,
  token: NewTokenRow,
): Promise<{ token: Token; isNew: boolean } | null> {
  const [inserted] = await sql<Token[]>`
    insert into api_token (organization_id, type, repository_id, token_prefix, hash, label,
      created_at, expires_at)
    values (${token.organizationId}, ${token.type}, ${token.repositoryId ?? null},
      ${token.tokenPrefix}, ${token.hash}, ${token.label}, to_timestamp(${token.createdAt}),
      to_timestamp(${token.expiresAt}::float8))
    on conflict (hash) do nothing
    returning ${columns(sql)}`;
  if (inserted) return { token: inserted, isNew: true };
  const [present] = await sql<Token[]>`
    select ${columns(sql)} from api_token
    where hash = ${token.hash} and organization_id = ${token.organizationId}`;
  return present ? { token: present, isNew: false } : null;
}

/** All tokens of an organization, oldest first. */
export async function listTokens(sql: Queryable, organizationId: number): Promise<Token[]> {
  return await sql<Token[]>`
    select ${columns(sql)} from api_token
    where organization_id = ${organizationId}
    order by api_token_id`;
}

/** The number of tokens that are valid and expire by a time. */
export async function countExpiringTokens(
  sql: Queryable,
  { now, by }: { now: number; by: number },
): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from api_token
    where valid_until > to_timestamp(${now}) and valid_until <= to_timestamp(${by})`;
  return row!.count;
}

/** Revokes a token; `revoked` is false when it already was. `null` when it does not exist. */
export async function revokeToken(
  sql: Queryable,
  { apiTokenId, revokedAt }: { apiTokenId: number; revokedAt: number },
): Promise<{ token: Token; revoked: boolean } | null> {
  const [revoked] = await sql<Token[]>`
    update api_token set revoked_at = to_timestamp(${revokedAt})
    where api_token_id = ${apiTokenId} and revoked_at is null
    returning ${columns(sql)}`;
  if (revoked) return { token: revoked, revoked: true };
  const [present] = await sql<Token[]>`
    select ${columns(sql)} from api_token where api_token_id = ${apiTokenId}`;
  return present ? { token: present, revoked: false } : null;
}

/** The hash of a token that was used in an hour, in seconds since 1970. */
export interface TokenUse {
  hash: string;
  hour: number;
}

/** Records the last use of tokens. The role of `receive` may do that for tokens whose hash it knows. */
export async function recordTokenUses(sql: Queryable, uses: readonly TokenUse[]): Promise<void> {
  // In one order, so that processes that record the same tokens never deadlock.
  await sql`
    select record_token_use(u.hash, to_timestamp(u.hour))
    from json_to_recordset(${JSON.stringify(uses)}::text::json) as u(hash text, hour float8)
    order by u.hash`;
}

function columns(sql: Queryable) {
  return sql`organization_id as "organizationId", api_token_id as "apiTokenId", type,
    token_prefix as "tokenPrefix", label, extract(epoch from created_at)::float8 as "createdAt",
    extract(epoch from expires_at)::float8 as "expiresAt",
    extract(epoch from revoked_at)::float8 as "revokedAt",
    extract(epoch from last_used_at)::float8 as "lastUsedAt", (
      select r.owner || '/' || r.name from repository r
      where r.repository_id = api_token.repository_id) as repository`;
}
