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
  /** Once it is aborted, the running or next statement fails, all is rolled back, and its reason is thrown. */
  stop?: AbortSignal,
): Promise<T> {
  try {
    // postgres.js unwraps arrays of promises in its result type, which `write` never returns.
    return await sql.begin(async (tx) => {
      const transaction = await requireSchemaVersion(tx);
      if (!stop) return await write(tx);
      const onStop = () => void cancelStatement(sql, transaction).catch(() => {});
      stop.addEventListener("abort", onStop, { once: true });
      try {
        return await write(stoppable(tx, stop));
      } finally {
        stop.removeEventListener("abort", onStop);
      }
    }) as T;
  } catch (error) {
    stop?.throwIfAborted();
    throw error;
  }
}

/**
 * Cancels the running statement of a transaction of another connection: it may wait for a lock for minutes.
 * The embedded database, whose one session the transaction has, does so when that is over.
 */
async function cancelStatement(
  sql: postgres.Sql,
  { pid, startedAt }: { pid: number; startedAt: string },
): Promise<void> {
  // With the start, because a pooler may give the server process to another client.
  await sql`
    select pg_cancel_backend(pid) from pg_stat_activity
    where pid = ${pid} and xact_start = ${startedAt}::text::timestamptz`;
}

function stoppable(tx: postgres.TransactionSql, stop: AbortSignal): postgres.TransactionSql {
  return new Proxy(tx, {
    apply(target, self, given) {
      stop.throwIfAborted();
      return Reflect.apply(target, self, given);
    },
  });
}
