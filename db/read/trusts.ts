// Tests: tests/lib/intake/receive/identity_token_test.ts tests/lib/intake/receive/upload_app_test.ts
/** What is trusted of the issuers of identity tokens. */
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import { type Queryable, textsIn } from "../connection/sql.ts";

/** Jobs of an organization, or of one repository, that may upload with an identity token. */
export interface Trust {
  organizationId: number;
  trustedIssuerId: number;
  organizationName: string;
  /** The values that claims of a token must have. */
  claims: Readonly<Record<string, string>>;
  /** The only repository that it is for; `null` for all. */
  repository: RepositoryName | null;
  /** The claim that names the repository; `null`: the one that GitHub or GitLab uses. */
  repositoryClaim: string | null;
  /** A JSON Web Key Set; `null`: the issuer is asked for its keys. */
  keys: unknown;
}

/**
 * What is trusted of an issuer, oldest first. Needs no privilege but to call this function, as the role
 * of `receive`.
 */
export async function loadTrusts(sql: Queryable, issuer: string): Promise<Trust[]> {
  const rows = await sql<TrustRow[]>`
    select organization_id, trusted_issuer_id, organization_name, claims, repository_id,
      repository_owner, repository_name, repository_claim, keys
    from trusts_of_issuer(${issuer}) order by trusted_issuer_id`;
  return rows
    // Never of the whole organization, even if its repository should be missing.
    .filter((row) => row.repository_id === null || row.repository_name !== null)
    .map((row) => ({
      organizationId: row.organization_id,
      trustedIssuerId: row.trusted_issuer_id,
      organizationName: row.organization_name,
      claims: row.claims,
      repository: row.repository_owner === null || row.repository_name === null
        ? null
        : { owner: row.repository_owner, name: row.repository_name },
      repositoryClaim: row.repository_claim,
      keys: row.keys,
    }));
}

/** As the database's type `trust`. */
interface TrustRow {
  organization_id: number;
  trusted_issuer_id: number;
  organization_name: string;
  claims: Record<string, string>;
  repository_id: string | null;
  repository_owner: string | null;
  repository_name: string | null;
  repository_claim: string | null;
  keys: unknown;
}

/** Which of these issuers are trusted by any organization. */
export async function trustedIssuers(
  sql: Queryable,
  issuers: readonly string[],
): Promise<Set<string>> {
  const rows = await sql<{ issuer: string }[]>`
    select i.issuer from unnest(${textsIn(sql, issuers)}) as i(issuer)
    where exists (select 1 from trusts_of_issuer(i.issuer))`;
  return new Set(rows.map(({ issuer }) => issuer));
}
