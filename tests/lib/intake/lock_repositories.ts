/** Holds the rows of all repositories, as the transaction of another process does. */
import type { Database } from "../../../db/connection/connect.ts";

/** Locks the rows; `release` ends the transaction that has them. */
export async function lockRepositories(
  sql: Database["sql"],
): Promise<{ release(): Promise<void> }> {
  const ended = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = sql.begin(async (tx) => {
    await tx`select 1 from repository_state for update`;
    locked.resolve();
    await ended.promise;
  });
  await locked.promise;
  return {
    async release() {
      ended.resolve();
      await holding;
    },
  };
}
