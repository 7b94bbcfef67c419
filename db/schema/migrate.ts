import { createHash } from "node:crypto";
import type postgres from "postgres";
import { errorCode, errorMessage } from "../../lib/base/error.ts";
import { BUILD } from "../../lib/system/build.ts";
import type { Queryable } from "../connection/sql.ts";
import { distribute, isDistributed } from "./distribute.ts";
import { migrations } from "./migrations/mod.ts";

/** Version of the schema that this program works with. */
export const SCHEMA_VERSION = migrations.length;

/** Advisory lock of the process that migrates; the same number in all versions. */
const LOCK = 7_203_385_110;

/** The migration that added the column `build`. */
const BUILD_SINCE = 2;

/** A statement with its comments, up to its semicolon. Matches texts in `''` and `$$` as a whole. */
const STATEMENT = /(?:--.*|'[^']*'|\$\$[^]*?\$\$|[^;])+/g;

/** The database has a schema that this program cannot work with. */
export class SchemaVersionError extends Error {
  override name = "SchemaVersionError";
}

/** The schema of a database, compared with this program's. */
export interface SchemaStatus {
  state: "missing" | "older" | "current" | "newer" | "incompatible";
  /** 0 when there is none. */
  version: number;
  /** Why this program cannot work with it, and what to do; `null` when it can, or can upgrade it. */
  problem: string | null;
}

/**
 * Brings the schema up to date, each migration in a transaction of its own; returns the version
 * before (0: there was none) and after. Several processes may call it at once: each migration runs
 * once.
 * @throws {SchemaVersionError} when the schema cannot be upgraded; nothing is changed then
 */
export async function migrate(
  sql: postgres.Sql,
  steps: readonly string[] = migrations,
): Promise<{ from: number; to: number }> {
  let from: number | undefined;
  for (;;) {
    const version = await sql.begin(async (tx) => {
      // A migration may take long, and waits for others. The settings belong to the transaction: on
      // the embedded database all clients share one session.
      await tx`set local statement_timeout = 0`;
      // On Citus, statements about all shards and about functions may follow each other then.
      await tx`set local citus.multi_shard_modify_mode = 'sequential'`;
      await tx`select pg_advisory_xact_lock(${LOCK}::bigint)`;
      const { version: found, problem } = statusOf(await readMigrations(tx), steps);
      if (problem !== null) throw new SchemaVersionError(problem);
      from ??= found;
      const step = steps[found];
      if (step === undefined) return found;
      if (found === 0) {
        await tx`
          create table schema_migration (
            version integer primary key,
            -- SHA-256 of the migration.
            checksum text not null,
            migrated_at timestamptz(0) not null default now()
          )`;
      } else {
        // Waits for transactions that write: each has read this table (see writeTransaction).
        await tx`lock table schema_migration in access exclusive mode`;
      }
      await tx`
        insert into schema_migration (version, checksum) values (${found + 1}, ${
        checksumOf(step)
      })`;
      // A file of ours; Citus refuses several statements at once.
      for (const [statement] of step.matchAll(STATEMENT)) {
        await tx.unsafe(statement).catch((error) => {
          throw from === 0 && EXISTS.includes(errorCode(error)) ? ofOthers(error) : error;
        });
      }
      if (found + 1 >= BUILD_SINCE) {
        await tx`
          update schema_migration set build = ${BUILD} where version > ${from} and build is null`;
      }
      if (await isDistributed(tx)) await distribute(tx);
      return found + 1;
    });
    if (version === steps.length) return { from: from ?? 0, to: version };
  }
}

/** SQLSTATEs: an object, a function, a table, a schema exists. */
const EXISTS = ["42710", "42723", "42P07", "42P06"];

/** The error of a first migration that meets tables which this program has not created. */
function ofOthers(error: unknown): SchemaVersionError {
  return new SchemaVersionError(
    `the database has other tables, which this program did not create: ${errorMessage(error)}: ` +
      "expected an empty database in DATABASE_URL, such as a new one of `createdb`",
  );
}

/** Compares the schema of a database with this program's; changes nothing. */
export async function checkSchema(sql: Queryable): Promise<SchemaStatus> {
  return statusOf(await readMigrations(sql), migrations);
}

/**
 * Fails when another version has migrated the database. Returns the server process and the start of the
 * transaction.
 * @throws {SchemaVersionError}
 */
export async function requireSchemaVersion(
  sql: Queryable,
): Promise<{ pid: number; startedAt: string }> {
  const [row] = await sql<{ version: number; pid: number; startedAt: string }[]>`
    select coalesce(max(version), 0)::integer as version, pg_backend_pid() as pid,
      now()::text as "startedAt"
    from schema_migration`;
  if (row!.version === SCHEMA_VERSION) return row!;
  const { build = null } = (await readMigrations(sql)).at(-1) ?? {};
  throw new SchemaVersionError(versionMismatch(row!.version, SCHEMA_VERSION, build));
}

/** A migration that ran. */
interface Migration {
  /** `null` for one of a build without checksums. */
  checksum: string | null;
  /** The program that ran it; `null` when it ran before that was recorded. */
  build: string | null;
}

/** The migrations that ran, in order. */
async function readMigrations(sql: Queryable): Promise<Migration[]> {
  const [table] = await sql`select 1 where to_regclass('schema_migration') is not null`;
  if (!table) return [];
  // The columns differ between versions.
  return await sql<Migration[]>`
    select to_json(m)->>'checksum' as checksum, to_json(m)->>'build' as build
    from schema_migration m order by version`;
}

function statusOf(ran: readonly Migration[], steps: readonly string[]): SchemaStatus {
  const version = ran.length;
  const differing = steps.findIndex((step, index) =>
    index < version && ran[index]!.checksum !== checksumOf(step)
  );
  if (differing !== -1) {
    return {
      state: "incompatible",
      version,
      problem: `the database was created by another build${named(ran[differing]!.build)}, whose ` +
        `migration ${differing + 1} differs: expected that build, or an empty database (or a new ` +
        "DATA_DIR), into which its export is imported or reports are uploaded again",
    };
  }
  if (version > steps.length) {
    const problem = versionMismatch(version, steps.length, ran.at(-1)!.build);
    return { state: "newer", version, problem };
  }
  const state = version === steps.length ? "current" : version === 0 ? "missing" : "older";
  return { state, version, problem: null };
}

function versionMismatch(found: number, expected: number, build: string | null): string {
  return `the database has schema version ${found}, expected ${expected}: it was migrated by ` +
    `another version of this program${named(build)}, and this is ${BUILD}; use that version`;
}

function named(build: string | null): string {
  return build === null ? "" : `, ${build}`;
}

/** The same with either kind of line ends, which a checkout may convert. */
function checksumOf(migration: string): string {
  return createHash("sha256").update(migration.replaceAll("\r\n", "\n")).digest("hex");
}
