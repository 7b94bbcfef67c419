import type postgres from "postgres";
import { requireSchemaVersion } from "../schema/migrate.ts";

/**
 * Runs a transaction that writes. A migration waits for it, because it has read `schema_migration`.
 * @throws {SchemaVersionError} when another version of the program has migrated the database
 */
export async function writeTransaction<T>(
  sql: postgres.Sql,
  write: (tx: postgres.TransactionSql) => Promise<T>,
): Promise<T> {
  // postgres.js unwraps arrays of promises in its result type, which `write` never returns.
  return await sql.begin(async (tx) => {
    await requireSchemaVersion(tx);
    return await write(tx);
  }) as T;
}
