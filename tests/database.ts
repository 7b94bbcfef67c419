import { after, before, describe, it } from "@std/testing/bdd";
import { createHash, randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type postgres from "postgres";
import { type Database, type DatabaseOptions, openDatabase } from "../db/connection/connect.ts";
import { distributeDatabase } from "../db/schema/distribute.ts";
import { migrate } from "../db/schema/migrate.ts";
import { migrations } from "../db/schema/migrations/mod.ts";

/**
 * Settings of the embedded database. Clearing the usual 128 MB of buffers takes half of the processor time of
 * opening it.
 */
const SETTINGS = "shared_buffers = 16MB\n";

/** Databases of the same migrations and settings share a template. */
const SCHEMA = createHash("sha256").update([...migrations, SETTINGS].join("\0")).digest("hex")
  .slice(0, 16);

/** Options of a test database. */
type TestDatabaseOptions = Pick<DatabaseOptions, "onStatement">;

/** Location of a database, as `openDatabase` takes it. */
export type Place = Pick<DatabaseOptions, "databaseUrl" | "dataDir">;

/** A database for one test file. */
export interface TestDatabase extends Database {
  place: Place;
  /** True on a Citus cluster, where a server shows neither the locks nor the plans of the others. */
  isDistributed: boolean;
}

/** Opens the same database once more with its own connections, as another process would. */
export async function openAgain({ place }: TestDatabase): Promise<Database> {
  return await openDatabase(place);
}

/**
 * Runs `body` on the embedded database, and on a PostgreSQL server too when `TEST_DATABASE_URL` is
 * set (with `TEST_DATABASES=server` only there), each time with a new migrated database. Call `database()` inside tests and hooks only.
 */
export function describeWithDatabases(
  name: string,
  body: (database: () => TestDatabase) => void,
  options: TestDatabaseOptions = {},
): void {
  describeWithEmbedded(name, body, options);
  describeWithServer(name, body, options);
}

/** The half of `describeWithDatabases` on the embedded database. */
export function describeWithEmbedded(
  name: string,
  body: (database: () => TestDatabase) => void,
  options: TestDatabaseOptions = {},
): void {
  if (process.env.TEST_DATABASES === "server") return;
  describeWith(`${name} (embedded)`, () => openTestEmbedded(options), body);
}

/** The half of `describeWithDatabases` on a server. */
export function describeWithServer(
  name: string,
  body: (database: () => TestDatabase) => void,
  options: TestDatabaseOptions = {},
): void {
  const server = process.env.TEST_DATABASE_URL;
  if (server) describeWith(`${name} (server)`, () => openTestServer(server, options), body);
}

/**
 * Runs `body` on a PostgreSQL server if there is one, otherwise on the embedded database: for what does not
 * depend on the database.
 */
export function describeWithDatabase(
  name: string,
  body: (database: () => TestDatabase) => void,
  options: TestDatabaseOptions = {},
): void {
  const server = process.env.TEST_DATABASE_URL;
  const open = () => server ? openTestServer(server, options) : openTestEmbedded(options);
  describeWith(name, open, body);
}

/**
 * Runs `body` on a Citus cluster, each time with a new distributed database, when `TEST_CITUS_URL` names
 * a database of the coordinator that has the workers.
 */
export function describeWithCluster(name: string, body: (database: () => TestDatabase) => void) {
  const server = process.env.TEST_CITUS_URL;
  if (server) describeWith(`${name} (Citus)`, () => openTestServer(server), body);
  else describe(`${name} (Citus)`, () => it("needs TEST_CITUS_URL", { skip: true }, () => {}));
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
    isDistributed: false,
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
  copyFolder(join(template, "postgres", "data"), join(dataDir, "postgres", "data"));
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
    // Half of the files, which each test would copy.
    await database.sql`update pg_database set datistemplate = false`;
    await database.sql`drop database template0`;
    await database.sql`drop database template1`;
    await database.close();
    const file = join(unfinished, "postgres", "data", "postgresql.conf");
    await Deno.writeTextFile(file, SETTINGS, { append: true });
    await Deno.rename(unfinished, template);
    return template;
  } finally {
    lock.close();
  }
}

/** Without waiting for each of 500 files, which takes twice the processor time. */
function copyFolder(from: string, to: string): void {
  Deno.mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const entry of Deno.readDirSync(from)) {
    const source = join(from, entry.name);
    if (entry.isDirectory) copyFolder(source, join(to, entry.name));
    else Deno.copyFileSync(source, join(to, entry.name));
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

/**
 * A new migrated database on a server, which is dropped when it is closed. On the coordinator of a Citus
 * cluster it is distributed: `serverUrl` names a database that has the workers.
 */
export async function openTestServer(
  serverUrl: string,
  options: TestDatabaseOptions = {},
): Promise<TestDatabase> {
  const template = `test_analytics_template_${SCHEMA}`;
  const name = `test_analytics_${randomBytes(8).toString("hex")}`;
  const admin = await openDatabase({ databaseUrl: serverUrl, dataDir: "", maxConnections: 1 });
  const workerUrls = await workersOf(admin.sql, serverUrl);
  const admins = [
    admin,
    ...await Promise.all(
      workerUrls.map((databaseUrl) =>
        openDatabase({ databaseUrl, dataDir: "", maxConnections: 1 })
      ),
    ),
  ];
  const everywhere = async (statement: (sql: postgres.Sql) => Promise<unknown>) => {
    for (const { sql } of admins) await statement(sql);
  };
  const drop = (name: string) =>
    everywhere(async (sql) => {
      await disconnectAll(sql, name);
      await sql`drop database if exists ${sql(name)}`;
    });
  // Through the log, as is usual, it takes six times the processor time.
  const create = (name: string, template: string) =>
    everywhere((sql) =>
      sql`create database ${sql(name)} template ${sql(template)} strategy file_copy`
    );
  const close = () => Promise.all(admins.map((each) => each.close()));
  try {
    // Locks the session: concurrent test processes create the template once.
    await admin.sql`select pg_advisory_lock(7203385111)`;
    const [found] = await admin.sql`select from pg_database where datname = ${template}`;
    if (!found) {
      const unfinished = `${template}_unfinished`;
      await drop(unfinished);
      await create(unfinished, "template0");
      const [url, ...workers] = [serverUrl, ...workerUrls].map((it) =>
        withDatabase(it, unfinished)
      );
      if (workers.length > 0) await joinServers(url!, workers);
      const database = await openDatabase({ databaseUrl: url!, dataDir: "" });
      await migrate(database.sql);
      if (workers.length > 0) await distributeDatabase(database.sql);
      await database.close();
      await everywhere(async (sql) => {
        await disconnectAll(sql, unfinished);
        await sql`alter database ${sql(unfinished)} rename to ${sql(template)}`;
      });
    }
    await create(name, template);
    await admin.sql`select pg_advisory_unlock(7203385111)`;
    const databaseUrl = withDatabase(serverUrl, name);
    const database = await openDatabase({ databaseUrl, dataDir: "", ...options });
    return {
      ...database,
      place: { databaseUrl, dataDir: "" },
      isDistributed: workerUrls.length > 0,
      close: async () => {
        await database.close();
        await drop(name);
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Ends all connections to a database, if it exists; Citus has a process of its own in each. */
async function disconnectAll(sql: postgres.Sql, name: string): Promise<void> {
  await sql`update pg_database set datallowconn = false where datname = ${name}`;
  await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${name}`;
}

/** The same database on each worker of a Citus cluster; `[]` when it is not one. */
async function workersOf(sql: postgres.Sql, databaseUrl: string): Promise<string[]> {
  const [citus] = await sql`select 1 from pg_extension where extname = 'citus'`;
  if (!citus) return [];
  const nodes = await sql<{ host: string; port: number }[]>`
    select nodename as host, nodeport as port from pg_dist_node where groupid <> 0 order by nodeid`;
  return nodes.map(({ host, port }) =>
    Object.assign(new URL(databaseUrl), { hostname: host, port: String(port) }).href
  );
}

/** Makes a database of each server one distributed database. */
export async function joinServers(coordinatorUrl: string, workerUrls: string[]): Promise<void> {
  for (const databaseUrl of [...workerUrls, coordinatorUrl]) {
    const { sql, close } = await openDatabase({ databaseUrl, dataDir: "", maxConnections: 1 });
    await sql`create extension citus`;
    if (databaseUrl === coordinatorUrl) {
      const { hostname, port } = new URL(coordinatorUrl);
      await sql`select citus_set_coordinator_host(${hostname}, ${Number(port)}::int)`;
      for (const worker of workerUrls.map((url) => new URL(url))) {
        await sql`select citus_add_node(${worker.hostname}, ${Number(worker.port)}::int)`;
      }
    }
    await close();
  }
}

/** Drops everything in a test database, the schema included. */
export async function dropEverything(sql: postgres.Sql): Promise<void> {
  // Not the schema itself: Citus refuses that.
  const objects = await sql<{ kind: string; name: string }[]>`
    select 'table' as kind, oid::regclass::text as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
    union all
    select 'sequence', 'repository_id_sequence'
    union all
    select 'function', oid::regprocedure::text from pg_proc
    where pronamespace = 'public'::regnamespace
    union all
    select 'type', oid::regclass::text from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'c'`;
  for (const { kind, name } of objects) {
    await sql.unsafe(`drop ${kind} if exists ${name} cascade`);
  }
}

/** The URL of another database on the same server. */
export function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
