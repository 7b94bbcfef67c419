/** Organizations and tokens of the databases that are measured. */
import type { Database } from "../../../db/connection/connect.ts";
import { createOrganization, type Organization } from "../../../db/admin/organizations.ts";
import { insertToken } from "../../../db/admin/tokens.ts";
import { makeToken } from "../../../lib/base/token.ts";

/** Creates an organization and one token of it. @throws {Error} when the name is taken */
export async function createCaller(
  sql: Database["sql"],
  { name, createdAt }: { name: string; createdAt: number },
): Promise<{ organization: Organization; token: string }> {
  const organization = await createOrganization(sql, { name, purchaseUnitCount: 0, createdAt });
  if (!organization) throw new Error("expected an empty database");
  return { organization, token: await createToken(sql, organization, createdAt) };
}

/** Creates one more token. */
export async function createToken(
  sql: Database["sql"],
  { organizationId }: Organization,
  createdAt: number,
): Promise<string> {
  const { type, hash, prefix, plain } = makeToken("api_token");
  await insertToken(sql, {
    organizationId,
    type,
    hash,
    tokenPrefix: prefix,
    label: null,
    createdAt,
    expiresAt: null,
  });
  return plain;
}
