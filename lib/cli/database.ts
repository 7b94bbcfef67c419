import { type Database, type DatabaseOptions, openDatabase } from "../../db/connection/connect.ts";
import { inspectEmbedded } from "../../db/embedded/inspect.ts";
import { checkSchema, migrate } from "../../db/schema/migrate.ts";
import type { DatabaseLocation } from "./command.ts";
import { Failure } from "./errors.ts";

// What PostgreSQL says when somebody may not write: a read-only transaction (a replica), missing
// privileges.
const MAY_NOT_WRITE = new Set(["25006", "42501"]);

/**
 * Opens a database whose schema is this program's: an older one, or none, is brought up to date.
 *
 * @param options.mayCreate whether an embedded database is created where there is none
 * @throws {Failure} when the schema is newer, or older where this program may not write
 */
export async function openCurrentDatabase(
  location: DatabaseLocation,
  { mayCreate }: { mayCreate: boolean },
): Promise<Database> {
  const { databaseUrl, dataDir } = location;
  if (!mayCreate && databaseUrl === undefined && !(await inspectEmbedded(dataDir)).exists) {
    throw new Failure(
      `no database in ${
        JSON.stringify(dataDir)
      }: set DATA_DIR or DATABASE_URL, or create one with ` +
        "`test-analytics org create NAME`",
    );
  }
  const database = await openDatabase(location);
  try {
    await ensureCurrentSchema(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * The same, but on a server with connections that cannot write: whatever a request makes of a
 * query, the data stays as it is. The embedded database has one session for all and cannot do so.
 */
export async function reopenForReading(
  database: Database,
  location: DatabaseLocation & Pick<DatabaseOptions, "maxConnections" | "statementTimeoutMs">,
): Promise<Database> {
  if (database.kind === "embedded") return database;
  await database.close();
  return await openDatabase({ ...location, readOnly: true });
}

/**
 * Makes sure that the schema is this program's: migrates an older one, or none.
 *
 * @throws {Failure} when the schema is newer, or older where this program may not write
 */
export async function ensureCurrentSchema({ sql }: Database): Promise<void> {
  const { state, problem } = await checkSchema(sql);
  if (state === "current") return;
  if (problem !== null) throw new Failure(problem);
  try {
    await migrate(sql);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && MAY_NOT_WRITE.has(String(error.code)))) {
      throw error;
    }
    throw new Failure(
      `the database's schema is ${state} and this program may not write there: ` +
        "run `test-analytics migrate` first, as a user who may",
    );
  }
}
