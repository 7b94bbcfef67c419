// Tests: tests/lib/cli/commands/trust_test.ts
/** The issuers of identity tokens that organizations trust. */
import type { Queryable } from "../connection/sql.ts";
import { lockOrganization } from "./organizations.ts";

export interface TrustedIssuer {
  organizationId: number;
  trustedIssuerId: number;
  issuer: string;
  /** The values that claims of a token must have. */
  claims: Readonly<Record<string, string>>;
  /** `OWNER/NAME` of the only repository that it is for, otherwise `null`. */
  repository: string | null;
  /** The claim that names the repository; `null`: the one that GitHub or GitLab uses. */
  repositoryClaim: string | null;
  /** Whether it has keys of its own, so that the issuer is not asked for them. */
  hasKeys: boolean;
  /** Seconds since 1970. */
  createdAt: number;
}

interface NewTrustedIssuer {
  organizationId: number;
  issuer: string;
  claims: Readonly<Record<string, string>>;
  repositoryId: number | null;
  repositoryClaim: string | null;
  /** A JSON Web Key Set, or `null`. */
  keys: unknown;
  createdAt: number;
}

/**
 * Trusts an issuer, in a transaction. If the organization trusts the same already, its keys are replaced by
 * others.
 */
export async function storeTrustedIssuer(
  tx: Queryable,
  { organizationId, issuer, repositoryId, repositoryClaim, createdAt, ...trust }: NewTrustedIssuer,
): Promise<{ trust: TrustedIssuer; outcome: "added" | "changed" | "unchanged" }> {
  const claims = JSON.stringify(trust.claims);
  const keys = trust.keys === null ? null : JSON.stringify(trust.keys);
  // So that two commands do not add the same.
  await lockOrganization(tx, { organizationId });
  const [present] = await tx<{ id: number; hasSameKeys: boolean }[]>`
    select trusted_issuer_id as id, keys is not distinct from ${keys}::text::jsonb as "hasSameKeys"
    from trusted_issuer
    where organization_id = ${organizationId} and issuer = ${issuer}
      and claims = ${claims}::text::jsonb
      and repository_id is not distinct from ${repositoryId}::bigint
      and repository_claim is not distinct from ${repositoryClaim}::text`;
  if (present) {
    await tx`
      update trusted_issuer set keys = ${keys}::text::jsonb
      where organization_id = ${organizationId} and trusted_issuer_id = ${present.id}`;
    const trust = await findTrustedIssuer(tx, { organizationId, trustedIssuerId: present.id });
    return { trust: trust!, outcome: present.hasSameKeys ? "unchanged" : "changed" };
  }
  const [row] = await tx<{ id: number }[]>`
    insert into trusted_issuer (organization_id, issuer, claims, repository_id, repository_claim,
      keys, created_at)
    values (${organizationId}, ${issuer}, ${claims}::text::jsonb, ${repositoryId}::bigint,
      ${repositoryClaim}::text, ${keys}::text::jsonb, to_timestamp(${createdAt}))
    returning trusted_issuer_id as id`;
  const added = await findTrustedIssuer(tx, { organizationId, trustedIssuerId: row!.id });
  return { trust: added!, outcome: "added" };
}

/** The issuers that an organization trusts, oldest first. */
export async function listTrustedIssuers(
  sql: Queryable,
  organizationId: number,
): Promise<TrustedIssuer[]> {
  return await sql<TrustedIssuer[]>`
    select ${
    columns(sql)
  } where t.organization_id = ${organizationId} order by t.trusted_issuer_id`;
}

/** One of them; `null` when the organization has no such one. */
export async function findTrustedIssuer(
  sql: Queryable,
  { organizationId, trustedIssuerId }: Pick<TrustedIssuer, "organizationId" | "trustedIssuerId">,
): Promise<TrustedIssuer | null> {
  const [row = null] = await sql<TrustedIssuer[]>`
    select ${columns(sql)}
    where t.organization_id = ${organizationId} and t.trusted_issuer_id = ${trustedIssuerId}`;
  return row;
}

/** Trusts an issuer no longer. */
export async function deleteTrustedIssuer(
  tx: Queryable,
  { organizationId, trustedIssuerId }: Pick<TrustedIssuer, "organizationId" | "trustedIssuerId">,
): Promise<void> {
  await tx`
    delete from trusted_issuer
    where organization_id = ${organizationId} and trusted_issuer_id = ${trustedIssuerId}`;
}

/** SQL: the columns of a `TrustedIssuer`, and where they come from. */
function columns(sql: Queryable) {
  return sql`t.organization_id as "organizationId", t.trusted_issuer_id as "trustedIssuerId",
    t.issuer, t.claims, r.owner || '/' || r.name as repository,
    t.repository_claim as "repositoryClaim", t.keys is not null as "hasKeys",
    extract(epoch from t.created_at)::float8 as "createdAt"
    from trusted_issuer t
    left join repository r
      on r.organization_id = t.organization_id and r.repository_id = t.repository_id`;
}
