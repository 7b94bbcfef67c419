/** Loses connections inside transactions, and prints how those and later statements ended. */
import process from "node:process";
import { openDatabase } from "../../../db/connection/connect.ts";

const databaseUrl = process.env.TEST_DATABASE_URL;
const database = await openDatabase({ databaseUrl, dataDir: "" });
const admin = await openDatabase({ databaseUrl, dataDir: "", maxConnections: 1 });
const outcomes: string[] = [];
for (const pauseMs of [0, 100]) {
  const { promise: over, resolve: onOver } = Promise.withResolvers<void>();
  const transaction = database.sql.begin(async (tx) => {
    try {
      const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      const ended = admin.sql`select pg_terminate_backend(${row!.pid}, 5000)`;
      // Lost during a statement, or before the next one.
      if (pauseMs > 0) await ended.then(() => pause(pauseMs));
      await Promise.all([ended, tx`select pg_sleep(5)`]);
    } finally {
      onOver();
    }
  });
  await transaction.catch((error) => outcomes.push(error.code));
  await over;
  await pause(20);
  const [row] = await database.sql<{ n: number }[]>`select 1 as n`;
  outcomes.push(`then ${row?.n}`);
}
await database.close();
await admin.close();
await Deno.stdout.write(new TextEncoder().encode(outcomes.join(", ")));

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
