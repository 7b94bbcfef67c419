// Tests: tests/db/schema/migrate_test.ts tests/db/write/prune_test.ts
import type postgres from "postgres";
import { requireSchemaVersion } from "../schema/migrate.ts";

/**
 * Runs a transaction that writes. A migration waits for it, because it has read `schema_migration`.
 * @throws {SchemaVersionError} when another version of the program has migrated the database
 */
export async function writeTransaction<T>(
  sql: postgres.Sql,
  write: (tx: postgres.TransactionSql) => Promise<T>,
  /** Once it is aborted, the next statement fails with its reason, and all is rolled back. */
  stop?: AbortSignal,
): Promise<T> {
  // postgres.js unwraps arrays of promises in its result type, which `write` never returns.
  return await sql.begin(async (tx) => {
    await requireSchemaVersion(tx);
    return await write(stop ? stoppable(tx, stop) : tx);
  }) as T;
}

function stoppable(tx: postgres.TransactionSql, stop: AbortSignal): postgres.TransactionSql {
  return new Proxy(tx, {
    apply(target, self, given) {
      stop.throwIfAborted();
      return Reflect.apply(target, self, given);
    },
  });
}
