import assert from "node:assert/strict";
import process from "node:process";
import type postgres from "postgres";
import { describe, it } from "@std/testing/bdd";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import {
  checkSchema,
  migrate,
  SCHEMA_VERSION,
  SchemaVersionError,
} from "../../../db/schema/migrate.ts";
import { migrations } from "../../../db/schema/migrations/mod.ts";
import { writeTransaction } from "../../../db/write/transaction.ts";
import { BUILD } from "../../../lib/system/build.ts";
import { pause } from "../../../lib/base/delay.ts";
import {
  describeWithDatabases,
  dropEverything,
  openTestServer,
  withDatabase,
} from "../../database.ts";

describeWithDatabases("migrations", (database) => {
  it("find nothing to do in a current database", async () => {
    const { sql } = database();
    assert.deepEqual(await migrate(sql), { from: SCHEMA_VERSION, to: SCHEMA_VERSION });
    assert.equal((await checkSchema(sql)).state, "current");
  });

  it("run once when several come at the same time", async () => {
    const { sql } = database();
    await dropEverything(sql);
    assert.equal((await checkSchema(sql)).state, "missing");
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
    await assert.rejects(migrate(sql, steps), { code: "22012" });
    const [row] = await sql`
      select to_regclass('added') is not null as added, to_regclass('half') is not null as half`;
    assert.deepEqual({ ...row }, { added: true, half: false });
    assert.equal((await checkSchema(sql)).state, "newer");
  });

  it("refuse a schema newer than the program, naming both versions", async () => {
    const { sql } = database();
    await assert.rejects(migrate(sql), (error) => {
      assert.ok(error instanceof SchemaVersionError);
      assert.match(
        error.message,
        new RegExp(`version ${SCHEMA_VERSION + 1}, expected ${SCHEMA_VERSION}:`),
      );
      return true;
    });
  });

  it("record the program that ran them, which a refusal names", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await migrate(sql);
    const builds = await sql<{ build: string }[]>`
      select build from schema_migration order by version`;
    assert.deepEqual(builds.map(({ build }) => build), migrations.map(() => BUILD));
    await sql`
      insert into schema_migration (version, checksum, build)
      values (${SCHEMA_VERSION + 1}, '', '9.8.7 (0123456789ab)')`;
    const refusal = {
      name: "SchemaVersionError",
      message: `the database has schema version ${SCHEMA_VERSION + 1}, expected ` +
        `${SCHEMA_VERSION}: it was migrated by another version of this program, ` +
        `9.8.7 (0123456789ab), and this is ${BUILD}; use that version`,
    };
    await assert.rejects(migrate(sql), refusal);
    await assert.rejects(writeTransaction(sql, () => Promise.resolve()), refusal);
    assert.equal((await checkSchema(sql)).problem, refusal.message);
  });

  it("do not name the program of those that ran before it was recorded", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await migrate(sql, migrations.slice(0, 1));
    await migrate(sql);
    const rows = await sql<{ build: string | null }[]>`
      select build from schema_migration order by version`;
    assert.deepEqual(rows.map(({ build }) => build), [
      null,
      ...migrations.slice(1).map(() => BUILD),
    ]);
  });

  it("refuse a database of an earlier build, with a remedy", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await sql`create table schema_migration (version integer primary key)`;
    await sql`insert into schema_migration values (1), (2)`;
    assert.equal((await checkSchema(sql)).state, "incompatible");
    await assert.rejects(migrate(sql), /created by another build.* or an empty database/);
  });

  it("refuse a database with tables of another program, and change nothing", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await sql`create table test (n integer)`;
    await assert.rejects(migrate(sql), {
      name: "SchemaVersionError",
      message: "the database has other tables, which this program did not create: relation " +
        '"test" already exists: expected an empty database in DATABASE_URL, such as a new one of ' +
        "`createdb`",
    });
    const [row] = await sql`select to_regclass('schema_migration') is null as untouched`;
    assert.equal(row!.untouched, true);
    await sql`drop table test`;
  });

  it("refuse a database on which one ran that was edited since", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await migrate(sql, [`${migrations[0]}-- edited`, ...migrations.slice(1)]);
    assert.equal((await checkSchema(sql)).state, "incompatible");
    await assert.rejects(migrate(sql), /created by another build, \d.*, whose migration 1 differs/);
  });

  it("are the same with the line ends of Windows", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await migrate(sql, migrations.map((text) => text.replaceAll("\n", "\r\n")));
    assert.equal((await checkSchema(sql)).state, "current");
  });

  it("of a later version end transactions that write", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await migrate(sql);
    await writeTransaction(sql, async (tx) => void await tx`create table kept (n integer)`);
    await migrate(sql, [...migrations, "create table later (n integer)"]);
    await assert.rejects(
      writeTransaction(sql, async (tx) => void await tx`insert into kept values (1)`),
      SchemaVersionError,
    );
    assert.equal((await sql`select from kept`).length, 0);
  });
});

const serverUrl = process.env.TEST_DATABASE_URL;

describe("a PostgreSQL server", { skip: !serverUrl }, () => {
  it("is migrated once by connections that do not know of each other", async () => {
    const database = await openTestServer(serverUrl ?? "");
    const others: Database[] = [];
    try {
      await dropEverything(database.sql);
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

  it("is migrated after transactions that write have ended", async () => {
    const database = await openTestServer(serverUrl ?? "");
    const { sql } = database;
    const migrated: string[] = [];
    try {
      let migration: Promise<unknown> | undefined;
      await writeTransaction(sql, async (tx) => {
        const steps = [...migrations, "create table later (n integer)"];
        migration = migrate(sql, steps).then(() => migrated.push("schema"));
        await someoneWaits(tx);
        migrated.push("data");
      });
      await migration;
      assert.deepEqual(migrated, ["data", "schema"]);
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
