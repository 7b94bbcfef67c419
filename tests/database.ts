import { after, before, describe } from "@std/testing/bdd";
import { createHash, randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type postgres from "postgres";
import { type Database, type DatabaseOptions, openDatabase } from "../db/connection/connect.ts";
import { migrate } from "../db/schema/migrate.ts";
import { migrations } from "../db/schema/migrations/mod.ts";

/** Databases of the same migrations share a template. */
const SCHEMA = createHash("sha256").update(migrations.join("\0")).digest("hex").slice(0, 16);

/** Options of a test database. */
export type TestDatabaseOptions = Pick<DatabaseOptions, "onStatement">;

/** Location of a database, as `openDatabase` takes it. */
export type Place = Pick<DatabaseOptions, "databaseUrl" | "dataDir">;

/** A database for one test file. */
export interface TestDatabase extends Database {
  place: Place;
}

/** Opens the same database once more with its own connections, as another process would. */
export async function openAgain({ place }: TestDatabase): Promise<Database> {
  return await openDatabase(place);
}

/**
 * Runs `body` on the embedded database, and on a PostgreSQL server too when `TEST_DATABASE_URL` is
 * set, each time with a new migrated database. Call `database()` inside tests and hooks only.
 */
export function describeWithDatabases(
  name: string,
  body: (database: () => TestDatabase) => void,
  options: TestDatabaseOptions = {},
): void {
  const server = process.env.TEST_DATABASE_URL;
  describeWith(`${name} (embedded)`, () => openTestEmbedded(options), body);
  if (server) describeWith(`${name} (server)`, () => openTestServer(server, options), body);
}

function describeWith(
  name: string,
  open: () => Promise<TestDatabase>,
  body: (database: () => TestDatabase) => void,
): void {
  describe(name, () => {
    let database: TestDatabase | undefined;
    before(async () => {
      database = await open();
    });
    after(async () => {
      await database?.close();
    });
    body(() => {
      if (!database) throw new Error("the database is open only while tests run");
      return database;
    });
  });
}

/** A new migrated embedded database, which is deleted when it is closed. */
export async function openTestEmbedded(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const dataDir = await copyTemplate();
  const database = await openDatabase({ dataDir, ...options });
  return {
    ...database,
    place: { dataDir },
    close: async () => {
      await database.close();
      await Deno.remove(dataDir, { recursive: true });
    },
  };
}

/** A new data folder with a migrated embedded database; the caller removes it. */
export async function copyTemplate(): Promise<string> {
  const template = await embeddedTemplate();
  const dataDir = await Deno.makeTempDir({ prefix: "test-analytics-test-" });
  await copyFolder(join(template, "postgres", "data"), join(dataDir, "postgres", "data"));
  return dataDir;
}

/** Folder with a migrated embedded database to copy from, created on first use. */
async function embeddedTemplate(): Promise<string> {
  const template = join(tmpdir(), `test-analytics-template-${SCHEMA}`);
  if (await exists(template)) return template;
  // Only one process creates it: creation takes 650 MB of memory.
  const lock = await Deno.open(`${template}.lock`, { create: true, write: true });
  try {
    await lock.lock(true);
    if (await exists(template)) return template;
    const unfinished = await Deno.makeTempDir({ prefix: "test-analytics-template-" });
    const database = await openDatabase({ dataDir: unfinished });
    await migrate(database.sql);
    await database.close();
    await Deno.rename(unfinished, template);
    return template;
  } finally {
    lock.close();
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true, mode: 0o700 });
  for await (const entry of Deno.readDir(from)) {
    const source = join(from, entry.name);
    if (entry.isDirectory) await copyFolder(source, join(to, entry.name));
    else await Deno.copyFile(source, join(to, entry.name));
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    return false;
  }
}

/** A new migrated database on a server, which is dropped when it is closed. */
export async function openTestServer(
  serverUrl: string,
  options: TestDatabaseOptions = {},
): Promise<TestDatabase> {
  const template = `test_analytics_template_${SCHEMA}`;
  const name = `test_analytics_${randomBytes(8).toString("hex")}`;
  const admin = await openDatabase({ databaseUrl: serverUrl, dataDir: "", maxConnections: 1 });
  try {
    // Locks the session: concurrent test processes create the template once.
    await admin.sql`select pg_advisory_lock(7203385111)`;
    const [found] = await admin.sql`select from pg_database where datname = ${template}`;
    if (!found) {
      const unfinished = `${template}_unfinished`;
      await admin.sql`drop database if exists ${admin.sql(unfinished)} with (force)`;
      await admin.sql`create database ${admin.sql(unfinished)} template template0`;
      const database = await openDatabase({
        databaseUrl: withDatabase(serverUrl, unfinished),
        dataDir: "",
      });
      await migrate(database.sql);
      await database.close();
      await admin.sql`alter database ${admin.sql(unfinished)} rename to ${admin.sql(template)}`;
    }
    await admin.sql`create database ${admin.sql(name)} template ${admin.sql(template)}`;
    await admin.sql`select pg_advisory_unlock(7203385111)`;
    const databaseUrl = withDatabase(serverUrl, name);
    const database = await openDatabase({ databaseUrl, dataDir: "", ...options });
    return {
      ...database,
      place: { databaseUrl, dataDir: "" },
      close: async () => {
        await database.close();
        await admin.sql`drop database ${admin.sql(name)} with (force)`;
        await admin.close();
      },
    };
  } catch (error) {
    await admin.close();
    throw error;
  }
}

/** Drops everything in a test database, the schema included. */
export async function dropEverything(sql: postgres.Sql): Promise<void> {
  await sql`drop schema public cascade`;
  await sql`create schema public`;
}

/** The URL of another database on the same server. */
export function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
