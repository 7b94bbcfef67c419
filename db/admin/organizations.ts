// Tests: tests/db/schema/distribute_test.ts tests/db/write/store_submission_test.ts
import { caseKey } from "../../lib/base/identity.ts";
import type { Queryable } from "../connection/sql.ts";

export interface Organization {
  organizationId: number;
  name: string;
  /** Legacy tokens are valid only while this is above 0. */
  purchaseUnitCount: number;
  /** Seconds since 1970. */
  createdAt: number;
}

/** Creates an organization; `null` when the name is taken (case-insensitive). */
export async function createOrganization(
  sql: Queryable,
  { name, purchaseUnitCount, createdAt }: Omit<Organization, "organizationId">,
): Promise<Organization | null> {
  const [row] = await sql<Organization[]>`
    insert into organization (name, name_key, purchase_unit_count, created_at)
    select ${name}, ${caseKey(name)}, ${purchaseUnitCount}, to_timestamp(${createdAt})
    -- A conflict would use up an id, of which the UUID of the organization is made.
    where not exists (select 1 from organization where name_key = ${caseKey(name)})
    on conflict (name_key) do nothing
    returning ${columns(sql)}`;
  return row ?? null;
}

/** Sets the purchase units of an organization; `null` when it does not exist. */
export async function setPurchaseUnits(
  sql: Queryable,
  { name, purchaseUnitCount }: Pick<Organization, "name" | "purchaseUnitCount">,
): Promise<Organization | null> {
  const [row] = await sql<Organization[]>`
    update organization set purchase_unit_count = ${purchaseUnitCount}
    where name_key = ${caseKey(name)}
    returning ${columns(sql)}`;
  return row ?? null;
}

/** The organization with a name (case-insensitive). */
export async function findOrganization(sql: Queryable, name: string): Promise<Organization | null> {
  const [row] = await sql<Organization[]>`
    select ${columns(sql)} from organization
    where name_key = ${caseKey(name)}`;
  return row ?? null;
}

/**
 * Locks an organization until the transaction ends, so that what is looked up or counted before an insert stays true.
 * A transaction that locks an existing repository, too, does that first, which rules out deadlocks.
 */
export async function lockOrganization(
  tx: Queryable,
  { organizationId }: Pick<Organization, "organizationId">,
): Promise<void> {
  await tx`
    select 1 from organization where organization_id = ${organizationId} for no key update`;
}

/** All organizations, by name. */
export async function listOrganizations(sql: Queryable): Promise<Organization[]> {
  return await sql<Organization[]>`
    select ${columns(sql)} from organization
    order by name_key collate "C"`;
}

/** The only organization, otherwise the one named like the owner of a repository, otherwise `null`. */
export async function findDefaultOrganization(
  sql: Queryable,
  owner = "",
): Promise<Organization | null> {
  const organizations = await listOrganizations(sql);
  const key = caseKey(owner.split("/")[0] ?? "");
  const named = organizations.find(({ name }) => caseKey(name) === key);
  return (organizations.length === 1 ? organizations[0] : named) ?? null;
}

function columns(sql: Queryable) {
  return sql`organization_id as "organizationId", name,
    purchase_unit_count as "purchaseUnitCount",
    extract(epoch from created_at)::float8 as "createdAt"`;
}
