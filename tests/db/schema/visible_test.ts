/** Migration 5, with what interrupted uploads of earlier builds left. */
import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import type { Database } from "../../../db/connection/connect.ts";
import { createRepository, listRepositories } from "../../../db/admin/repositories.ts";
import { repositoryTables } from "../../../db/schema/distribute.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { migrations } from "../../../db/schema/migrations/mod.ts";
import { describeWithDatabases, dropEverything } from "../../database.ts";
import { newOrganization } from "../../organizations.ts";
import { NOW } from "../../routes/fixture.ts";

/** Migrations before the one in question. */
const BEFORE = 4;

type Row = { number: number | null; isVisible: boolean; testCount: number };

describeWithDatabases("the migration to one transaction for an upload", (database) => {
  it("keeps visible data, deletes what was never visible, and numbers what lost its number", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await migrate(sql, migrations.slice(0, BEFORE));
    const organization = await newOrganization(sql);
    const { organizationId } = organization;
    const insert = (name: string, row: Row) => insertRepository(sql, organizationId, name, row);
    const shop = await insert("shop", { number: 1, isVisible: true, testCount: 6 });
    // Tests 2, 3 and 5 are of uploads that never ended.
    await sql`insert into unpublished_test_range values (${shop}, 2, 4), (${shop}, 5, 6)`;
    await insert("given", { number: 9_007_199_254_740_991, isVisible: true, testCount: 1 });
    const cutOff = await insert("cut-off", { number: null, isVisible: false, testCount: 3 });
    await sql`insert into unpublished_test_range values (${cutOff}, 0, 3)`;
    // Cut off before its state was inserted.
    const [begun] = await sql<{ id: number }[]>`
      insert into repository (organization_id, owner, name, owner_key, name_key, id_prefix, created_at)
      values (${organizationId}, 'acme', 'begun', 'acme', 'begun', 999, now())
      returning repository_id::float8 as id`;
    // The coordinator of a cluster died after its worker had committed.
    await insert("numberless", { number: null, isVisible: true, testCount: 1 });
    await sql`update organization set next_repository_number = 2`;

    await migrate(sql);
    const repositories = await listRepositories(sql, organizationId);
    assert.deepEqual(
      repositories.map(({ name, repositoryNumber }) => [name, repositoryNumber]),
      [["given", 9_007_199_254_740_991], ["numberless", 2], ["shop", 1]],
    );
    const tests = await sql<{ name: string }[]>`
      select name from test where repository_id = ${shop} order by test_no`;
    assert.deepEqual(tests.map(({ name }) => name), ["test 0", "test 1", "test 4"]);
    for (const table of await repositoryTables(sql)) {
      const rows = await sql`
        select 1 from ${sql(table)} where repository_id in (${cutOff}, ${begun!.id})`;
      assert.equal(rows.length, 0, table);
    }
    const next = { organization, owner: "acme", name: "cut-off", createdAt: NOW };
    const created = await sql.begin((tx) => createRepository(tx, next));
    assert.equal(created.repositoryNumber, 3);
  });
});

/** Inserts a repository as version 4 of the schema has it; returns its id. */
async function insertRepository(
  sql: Database["sql"],
  organizationId: number,
  name: string,
  { number, isVisible, testCount }: Row,
): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    insert into repository (organization_id, repository_number, owner, name, owner_key, name_key,
      id_prefix, created_at)
    values (${organizationId}, ${number}, 'acme', ${name}, 'acme', ${name}, ${name.length}, now())
    returning repository_id::float8 as id`;
  const { id } = row!;
  await sql`
    insert into repository_state (repository_id, id_prefix, is_visible, data_version, next_test_no)
    values (${id}, ${name.length}, ${isVisible}, 1, ${testCount})`;
  await sql`
    insert into test (repository_id, test_no, test_hash, suite, class, name, file)
    select ${id}, n, n, '', '', 'test ' || n, '' from generate_series(0, ${testCount - 1}::int) n`;
  return id;
}
