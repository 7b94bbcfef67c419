// Tests: tests/db/read/tracked_tests_test.ts
import type { Database } from "../connection/connect.ts";
import type { Queryable } from "../connection/sql.ts";

const MODE = "isolation level repeatable read read only";

/** Runs queries that all see the same data. */
export async function readSnapshot<T>(
  sql: Database["sql"],
  read: (tx: Queryable) => Promise<T>,
): Promise<T> {
  return await readSnapshotAfter(sql, () => Promise.resolve(), (tx) => read(tx));
}

/**
 * Runs queries that all see the same data; the first is `lookUp`, with the same plan for all parameters: to
 * plan the look-up of a caller each time made a list of tests three times slower.
 *
 * Returns once everything is read, without waiting for the `commit`, which is a round trip.
 */
export async function readSnapshotAfter<Found, T>(
  sql: Database["sql"],
  lookUp: (tx: Queryable) => Promise<Found>,
  read: (tx: Queryable, found: Found) => Promise<T>,
): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    sql.begin(MODE, async (tx) => {
      const [found] = await Promise.all([lookUp(tx), planForParameters(tx)]);
      resolve(await read(tx, found));
    }).catch(reject);
  });
}

/**
 * Makes the server plan for the parameters of each statement of the transaction that follows. A generic plan
 * knows neither window nor frequencies: it expects a third of all submissions to be newer than the last one,
 * and takes 70 ms instead of 10; for a branch 200 instead of 20. One that was made while the tables were small
 * compares every row with every other.
 */
export async function planForParameters(tx: Queryable): Promise<void> {
  await tx`select set_config('plan_cache_mode', 'force_custom_plan', true)`;
}
