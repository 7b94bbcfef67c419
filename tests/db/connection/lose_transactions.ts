/** Loses connections inside transactions, and prints how those and later statements ended. */
import process from "node:process";
import type postgres from "postgres";
import { openDatabase } from "../../../db/connection/connect.ts";
import { pause } from "../../../lib/base/delay.ts";

type Body = (tx: postgres.TransactionSql, lose: () => Promise<unknown>) => Promise<unknown>;

const BODIES: Body[] = [
  // Lost during a statement.
  (tx, lose) => Promise.all([lose(), tx`select pg_sleep(5)`]),
  // Lost before the next one.
  async (tx, lose) => {
    await lose();
    await pause(100);
    await tx`select 1`;
  },
  // Sends another one at once.
  async (tx, lose) => {
    const sleeping = tx`select pg_sleep(5)`.catch(() => tx`select 1`);
    await Promise.all([lose(), sleeping]);
  },
  // Ends as if nothing had happened.
  async (_tx, lose) => {
    await lose();
    await pause(100);
  },
];

const databaseUrl = process.env.TEST_DATABASE_URL;
const database = await openDatabase({ databaseUrl, dataDir: "" });
const admin = await openDatabase({ databaseUrl, dataDir: "", maxConnections: 1 });
const outcomes: string[] = [];
for (const body of BODIES) {
  const { promise: over, resolve: onOver } = Promise.withResolvers<void>();
  const transaction = database.sql.begin(async (tx) => {
    try {
      const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      await body(
        tx,
        async () => await admin.sql`select pg_terminate_backend(${row!.pid}::int, 5000::bigint)`,
      );
    } finally {
      onOver();
    }
  });
  await transaction.then(
    () => outcomes.push("committed"),
    (error) => outcomes.push(error.code),
  );
  await over;
  await pause(20);
  const [row] = await database.sql<{ n: number }[]>`select 1 as n`;
  outcomes.push(`then ${row?.n}`);
}
await database.close();
await admin.close();
await Deno.stdout.write(new TextEncoder().encode(outcomes.join(", ")));
