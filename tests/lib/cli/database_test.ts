import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import process from "node:process";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import { checkSchema, SCHEMA_VERSION } from "../../../db/schema/migrate.ts";
import { ensureCurrentSchema, openCurrentDatabase, reopen } from "../../../lib/cli/database.ts";
import { Failure } from "../../../lib/base/failure.ts";
import { describeWithDatabases, dropEverything, withDatabase } from "../../database.ts";

describeWithDatabases("the schema that a command finds", (database) => {
  it("is left alone when it is this program's", async () => {
    await ensureCurrentSchema(database());
    assert.equal((await checkSchema(database().sql)).state, "current");
  });

  it("is refused when it is newer", async () => {
    const { sql } = database();
    await sql`insert into schema_migration (version, checksum) values (${
      SCHEMA_VERSION + 1
    }, 'later')`;
    await assert.rejects(ensureCurrentSchema(database()), (error) => {
      assert.ok(error instanceof Failure);
      assert.match(error.message, /was migrated by another version of this program/);
      return true;
    });
    await sql`delete from schema_migration where version = ${SCHEMA_VERSION + 1}`;
  });

  it("is refused if an earlier build created it, and stays unchanged", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await sql`create table schema_migration (version integer primary key, name text)`;
    await sql`insert into schema_migration values (1, 'initial')`;
    await assert.rejects(ensureCurrentSchema(database()), (error) => {
      assert.ok(error instanceof Failure);
      assert.match(error.message, /created by another build, whose migration 1 differs/);
      return true;
    });
    const tables = await sql`select tablename from pg_tables where schemaname = 'public'`;
    assert.deepEqual(tables.map(({ tablename }) => tablename), ["schema_migration"]);
  });

  it("is created if it does not exist", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await ensureCurrentSchema(database());
    assert.equal((await checkSchema(sql)).state, "current");
  });
});

it("no embedded database is created by a command that cannot use a new one", async () => {
  const folder = await Deno.makeTempDir();
  const location = { databaseUrl: undefined, dataDir: `${folder}/data` };
  await assert.rejects(openCurrentDatabase(location, { mayCreate: false }), {
    name: "Failure",
    message: /^no database in ".*\/data": .*`deno task cli org create NAME`$/,
  });
  assert.deepEqual([...Deno.readDirSync(folder)], []);
  await Deno.remove(folder);
});

const server = process.env.TEST_DATABASE_URL;

describe("a server that may not be written to", { skip: !server }, () => {
  async function withReadOnly(use: (database: Database) => Promise<void>): Promise<void> {
    const admin = await openDatabase({ databaseUrl: server, dataDir: "" });
    const name = `test_analytics_read_only_${crypto.randomUUID().slice(0, 8)}`;
    await admin.sql`create database ${admin.sql(name)} template template0`;
    const databaseUrl = withDatabase(server!, name);
    const database = await openDatabase({ databaseUrl, dataDir: "", readOnly: true });
    try {
      await use(database);
    } finally {
      await database.close();
      await admin.sql`drop database ${admin.sql(name)} with (force)`;
      await admin.close();
    }
  }

  it("is refused with the name of the command that helps", async () => {
    await withReadOnly(async (database) => {
      await assert.rejects(ensureCurrentSchema(database), (error) => {
        assert.ok(error instanceof Failure);
        assert.match(error.message, /schema is missing .* run `deno task cli migrate` as/);
        return true;
      });
    });
  });

  it("is opened by serve with read-only connections", async () => {
    const location = { databaseUrl: server, dataDir: "" };
    const options = { ...location, readOnly: true };
    const database = await reopen(await openDatabase(location), options);
    try {
      await assert.rejects(async () => await database.sql`create table t ()`, { code: "25006" });
    } finally {
      await database.close();
    }
  });
});
