/** Organizations and repositories of tests that need nothing special of them. */
import assert from "node:assert/strict";
import { createOrganization, type Organization } from "../db/admin/organizations.ts";
import { createRepository, type Repository } from "../db/admin/repositories.ts";
import type { Queryable } from "../db/connection/sql.ts";

/** 2026-09-21T14:13:20Z */
const CREATED_AT = 1_790_000_000;

/** Creates an organization. */
export async function newOrganization(sql: Queryable, name = "acme"): Promise<Organization> {
  const creation = { name, purchaseUnitCount: 0, createdAt: CREATED_AT };
  const organization = await createOrganization(sql, creation);
  assert.ok(organization, `${name} exists`);
  return organization;
}

/** Creates a repository of the owner `acme`. */
export async function newRepository(
  sql: Queryable,
  organization: Pick<Organization, "organizationId" | "name">,
  name = "shop",
): Promise<Repository> {
  const creation = { organization, owner: "acme", name, createdAt: CREATED_AT };
  return await createRepository(sql, creation);
}
