import assert from "node:assert/strict";
import { after, before, describe, it } from "@std/testing/bdd";
import process from "node:process";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import { waitUntil } from "../../wait_until.ts";
import { pause } from "../../../lib/base/delay.ts";

const databaseUrl = process.env.TEST_DATABASE_URL ?? "";

describe("a transaction that waits for a lock", { skip: !databaseUrl }, () => {
  let holder: Database;
  let waiter: Database;
  const holders: string[] = [];
  before(async () => {
    holder = await openDatabase({ databaseUrl, dataDir: "", maxConnections: 1 });
    waiter = await openDatabase({ databaseUrl, dataDir: "" });
    waiter.observeLockWaits((holder) => holders.push(holder));
  });
  after(async () => {
    await holder.close();
    await waiter.close();
  });

  it("reports once which process holds it, without values of its statement", async () => {
    const lock = 20_260_131;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: held, resolve: onHeld } = Promise.withResolvers<number>();
    const holding = holder.sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${lock}::bigint)`;
      const [row] = await tx<{ pid: number }[]>`
        select pg_backend_pid() as pid, 'secret' as value`;
      onHeld(row!.pid);
      await released;
    });
    const pid = await held;
    const waiting = waiter.sql.begin(async (tx) => {
      await tx`select 1`;
      await tx`select pg_advisory_xact_lock(${lock}::bigint)`;
    });
    try {
      await waitUntil("the wait is seen", () => holders.length > 0);
      await pause(1_500);
    } finally {
      release();
      await Promise.all([holding, waiting]);
    }
    assert.deepEqual(holders, [
      `server process ${pid} (test-analytics, idle in transaction): select pg_backend_pid`,
    ]);
  });
});
