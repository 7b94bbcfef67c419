import type postgres from "postgres";
import { migrations } from "./migrations/mod.ts";

/** Version of the schema that this program works with. */
export const SCHEMA_VERSION = migrations.length;

/** Any number, the same in all versions: who migrates holds the lock of this name. */
const LOCK = 7_203_385_110;

/** The database was brought to its schema by a later version of this program. */
export class SchemaNewerError extends Error {
  override name = "SchemaNewerError";

  /** @param found version of the schema in the database */
  constructor(found: number) {
    super(
      `the database has schema version ${found}, expected at most ${SCHEMA_VERSION}: ` +
        `it was migrated by a later version of this program; use that one`,
    );
  }
}

/**
 * Brings the schema up to date, each migration in a transaction of its own. Any number of processes
 * may do so at once: all succeed, and each migration runs once.
 *
 * @returns version of the schema before (0: there was none) and after
 * @throws {SchemaNewerError} when it is newer than this program, and leaves it as it is
 */
export async function migrate(
  sql: postgres.Sql,
  options: { migrations?: readonly string[] } = {},
): Promise<{ from: number; to: number }> {
  const steps = options.migrations ?? migrations;
  let from: number | undefined;
  for (;;) {
    const version = await sql.begin(async (transaction) => {
      // The embedded database has one session for all, so only a lock that belongs to the
      // transaction excludes anybody.
      await transaction`select pg_advisory_xact_lock(${LOCK}::bigint)`;
      const found = await schemaVersion(transaction);
      from ??= found;
      if (found > steps.length) throw new SchemaNewerError(found);
      const step = steps[found];
      if (step === undefined) return found;
      if (found === 0) {
        await transaction`
          create table schema_migration (
            version integer primary key,
            migrated_at timestamptz(0) not null default now()
          )`;
      }
      await transaction`insert into schema_migration (version) values (${found + 1})`;
      // A migration is our own file, many statements long: the one text that is not a template.
      await transaction.unsafe(step);
      return found + 1;
    });
    if (version === steps.length) return { from: from ?? 0, to: version };
  }
}

/** How the schema relates to this program's, for who may not write or wants to know first. */
export async function checkSchema(
  sql: postgres.Sql,
): Promise<"current" | "older" | "newer" | "missing"> {
  const version = await schemaVersion(sql);
  if (version === SCHEMA_VERSION) return "current";
  if (version === 0) return "missing";
  return version < SCHEMA_VERSION ? "older" : "newer";
}

/** Version of the schema in the database; 0 when there is none. */
export async function schemaVersion(sql: postgres.ISql): Promise<number> {
  const [table] = await sql<{ exists: boolean }[]>`
    select to_regclass('schema_migration') is not null as exists`;
  if (!table?.exists) return 0;
  const [row] = await sql<{ version: number }[]>`
    select coalesce(max(version), 0)::integer as version from schema_migration`;
  return row?.version ?? 0;
}
