// Tests: tests/db/write/changing_names_test.ts tests/routes/organizations_test.ts
import type { Queryable } from "../connection/sql.ts";

/** The name of an organization that exists. */
export async function loadOrganizationName(
  sql: Queryable,
  { organizationId }: { organizationId: number },
): Promise<string> {
  const [row] = await sql<{ name: string }[]>`
    select name from organization where organization_id = ${organizationId}`;
  return row!.name;
}
