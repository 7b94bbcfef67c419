import assert from "node:assert/strict";
import process from "node:process";
import type postgres from "postgres";
import { describe, it } from "@std/testing/bdd";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import {
  checkSchema,
  migrate,
  SCHEMA_VERSION,
  SchemaNewerError,
} from "../../../db/schema/migrate.ts";
import { migrations } from "../../../db/schema/migrations/mod.ts";
import { pause } from "../../../lib/base/delay.ts";
import { describeWithDatabases, emptied, openTestServer, withDatabase } from "../../database.ts";

describeWithDatabases("migrations", (database) => {
  it("find nothing to do in a current database", async () => {
    const { sql } = database();
    assert.deepEqual(await migrate(sql), { from: SCHEMA_VERSION, to: SCHEMA_VERSION });
    assert.equal(await checkSchema(sql), "current");
  });

  it("run once when several come at the same time", async () => {
    const { sql } = database();
    await emptied(sql);
    assert.equal(await checkSchema(sql), "missing");
    const outcomes = await Promise.all([migrate(sql), migrate(sql), migrate(sql)]);
    assert.deepEqual(outcomes.map(({ to }) => to), Array(3).fill(SCHEMA_VERSION));
    assert.ok(outcomes.some(({ from }) => from === 0));
    const [row] = await sql`select count(*)::integer as count from schema_migration`;
    assert.equal(row?.count, SCHEMA_VERSION);
  });

  it("leave nothing of one that fails, and all of those before it", async () => {
    const { sql } = database();
    const steps = [
      ...migrations,
      "create table added (n integer);",
      "create table half (n integer); select 1 / 0;",
    ];
    await assert.rejects(migrate(sql, { migrations: steps }), { code: "22012" });
    const [row] = await sql`
      select to_regclass('added') is not null as added, to_regclass('half') is not null as half`;
    assert.deepEqual({ ...row }, { added: true, half: false });
    assert.equal(await checkSchema(sql), "newer");
  });

  it("refuse a schema newer than the program, naming both versions", async () => {
    const { sql } = database();
    await assert.rejects(migrate(sql), (error) => {
      assert.ok(error instanceof SchemaNewerError);
      assert.match(
        error.message,
        new RegExp(`version ${SCHEMA_VERSION + 1}, expected at most ${SCHEMA_VERSION}`),
      );
      return true;
    });
  });

  it("call a schema older that lacks the last ones", async () => {
    const { sql } = database();
    await emptied(sql);
    await migrate(sql);
    await sql`update schema_migration set version = version - 1`;
    const expected = SCHEMA_VERSION === 1 ? "missing" : "older";
    assert.equal(await checkSchema(sql), expected);
  });
});

const serverUrl = process.env.TEST_DATABASE_URL;

describe("a PostgreSQL server", { skip: !serverUrl }, () => {
  it("is migrated once by connections that do not know of each other", async () => {
    const database = await openTestServer(serverUrl ?? "");
    const others: Database[] = [];
    try {
      await emptied(database.sql);
      const [row] = await database.sql<{ name: string }[]>`select current_database() as name`;
      const databaseUrl = withDatabase(serverUrl ?? "", row?.name ?? "");
      for (let count = 0; count < 3; count++) {
        others.push(await openDatabase({ databaseUrl, dataDir: "" }));
      }
      const outcomes = await Promise.all(others.map(({ sql }) => migrate(sql)));
      assert.deepEqual(outcomes.map(({ to }) => to), Array(3).fill(SCHEMA_VERSION));
    } finally {
      for (const other of others) await other.close();
      await database.close();
    }
  });

  // The order of what a load of tests reads. Whoever waits for what the other has would be ended.
  it("is migrated while somebody reads one table after the other", async () => {
    const database = await openTestServer(serverUrl ?? "");
    const { sql } = database;
    try {
      for (const from of [3, 4, 5]) {
        await emptied(sql);
        await migrate(sql, { migrations: migrations.slice(0, from) });
        let migrated: Promise<{ to: number }> | undefined;
        await sql.begin("read only", async (reader) => {
          await reader`select from submission`;
          migrated = migrate(sql);
          await someoneWaits(reader);
          for (const table of ["test", "negative_result", "test_list"]) {
            await reader`select from ${reader(table)}`;
          }
        });
        assert.equal((await migrated)?.to, SCHEMA_VERSION);
      }
    } finally {
      await database.close();
    }
  });
});

/** Ends when a lock of a table is waited for in this database. */
async function someoneWaits(sql: postgres.ISql): Promise<void> {
  const [row] = await sql`
    select from pg_locks join pg_database d on d.oid = database
    where not granted and datname = current_database()`;
  if (row) return;
  await pause(10);
  await someoneWaits(sql);
}
