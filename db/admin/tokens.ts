// Tests: tests/db/schema/upload_token_test.ts tests/lib/cli/commands/token_test.ts
import { jsonRecord } from "../../lib/base/json_record.ts";
import type { TokenType } from "../../lib/base/token.ts";
import type { Database } from "../connection/connect.ts";
import type { Queryable } from "../connection/sql.ts";
import { writeTransaction } from "../write/transaction.ts";
import { insertChange, type Origin } from "./changes.ts";
import { lockOrganization } from "./organizations.ts";

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
    /** Who made it on the pages, see {@linkcode listOwnTokens}. */
    person?: string;
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
    insert into api_token (organization_id, type, repository_id, person, token_prefix, hash, label,
      created_at, expires_at)
    values (${token.organizationId}, ${token.type}, ${token.repositoryId ?? null},
      ${token.person ?? null}, ${token.tokenPrefix}, ${token.hash}, ${token.label},
      to_timestamp(${token.createdAt}), to_timestamp(${token.expiresAt}::float8))
    on conflict (hash) do nothing
    returning ${columns(sql)}`;
  if (inserted) return { token: inserted, isNew: true };
  const [present] = await sql<Token[]>`
    select ${columns(sql)} from api_token
    where hash = ${token.hash} and organization_id = ${token.organizationId}`;
  return present ? { token: present, isNew: false } : null;
}

/** Stores a token as {@linkcode insertToken}, in a transaction of its own, and logs a new one. */
export async function storeToken(
  sql: Database["sql"],
  token: NewTokenRow,
  origin: Origin,
): ReturnType<typeof insertToken> {
  return await writeTransaction(sql, async (tx) => {
    const stored = await insertToken(tx, token);
    if (stored?.isNew) await logChange(tx, stored.token, token.createdAt, origin);
    return stored;
  });
}

/** Stores and logs a token that a person made on the pages; `null` when the person has `most` valid ones. */
export async function storeOwnToken(
  sql: Database["sql"],
  { most, ...token }: NewTokenRow & { person: string; most: number },
  origin: Origin,
): Promise<Token | null> {
  return await writeTransaction(sql, async (tx) => {
    const { organizationId, person, createdAt } = token;
    // So that concurrent requests do not all count before one of them inserts.
    await lockOrganization(tx, { organizationId });
    const own = await listOwnTokens(tx, { organizationId, person, now: createdAt });
    if (own.length >= most) return null;
    const stored = await insertToken(tx, token);
    if (!stored?.isNew) throw new Error("a random token already exists");
    await logChange(tx, stored.token, createdAt, origin);
    return stored.token;
  });
}

/** Revokes a token as {@linkcode revokeToken}, in a transaction of its own, and logs it. */
export async function revokeStoredToken(
  sql: Database["sql"],
  given: Parameters<typeof revokeToken>[1],
  origin: Origin,
): ReturnType<typeof revokeToken> {
  return await writeTransaction(sql, async (tx) => {
    const result = await revokeToken(tx, given);
    if (result?.revoked) await logChange(tx, result.token, given.revokedAt, origin);
    return result;
  });
}

async function logChange(
  tx: Queryable,
  token: Token,
  changedAt: number,
  origin: Origin,
): Promise<void> {
  const { organizationId, apiTokenId, label, type } = token;
  const { expires_at, repository } = jsonRecord(token);
  await insertChange(tx, {
    ...origin,
    organizationId,
    changedAt,
    subject: String(apiTokenId),
    detail: { label, type, expires_at, ...repository !== null && { repository } },
  });
}

/** The valid tokens that a person made on the pages, oldest first. */
export async function listOwnTokens(
  sql: Queryable,
  { organizationId, person, now }: Owner & { now: number },
): Promise<Token[]> {
  return await sql<Token[]>`
    select ${columns(sql)} from api_token
    where organization_id = ${organizationId} and person = ${person}
      and valid_until > to_timestamp(${now})
    order by api_token_id`;
}

/** A person of an organization. */
interface Owner {
  organizationId: number;
  /** Issuer and subject of the person's account. */
  person: string;
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

/**
 * Revokes a token; `revoked` is false when it already was. `null` when it does not exist.
 *
 * @param options.of only a token that this person made
 */
export async function revokeToken(
  sql: Queryable,
  { apiTokenId, revokedAt, of }: { apiTokenId: number; revokedAt: number; of?: Owner },
): Promise<{ token: Token; revoked: boolean } | null> {
  const isMeant = of
    ? sql`organization_id = ${of.organizationId} and person = ${of.person}
        and api_token_id = ${apiTokenId}`
    : sql`api_token_id = ${apiTokenId}`;
  const [revoked] = await sql<Token[]>`
    update api_token set revoked_at = to_timestamp(${revokedAt})
    where ${isMeant} and revoked_at is null
    returning ${columns(sql)}`;
  if (revoked) return { token: revoked, revoked: true };
  const [present] = await sql<Token[]>`
    select ${columns(sql)} from api_token where ${isMeant}`;
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
