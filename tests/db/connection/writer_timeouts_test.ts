/** `connect.ts`: timeouts of writers, which a server keeps after their end. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import process from "node:process";
import { openDatabase } from "../../../db/connection/connect.ts";
import { waitUntil } from "../../wait_until.ts";

const SERVER = process.env.TEST_DATABASE_URL;

/** A process that sleeps in a transaction on the server. */
const WRITER = `
  const { openDatabase } = await import(${
  JSON.stringify(new URL("../../../db/connection/connect.ts", import.meta.url).href)
});
  const { sql } = await openDatabase({ databaseUrl: Deno.args[0], dataDir: "" });
  await sql.begin(async (tx) => {
    const [row] = await tx\`select pg_backend_pid() as pid\`;
    console.log(row.pid);
    await tx\`select pg_sleep(60)\`;
  });`;

describe("connections to a server", { skip: !SERVER }, () => {
  it("have timeouts for statements and silent transactions", async () => {
    const { sql, close } = await openDatabase({ databaseUrl: SERVER, dataDir: "" });
    try {
      const [row] = await sql`
        select current_setting('statement_timeout') as statement,
          current_setting('idle_in_transaction_session_timeout') as idle,
          current_setting('client_connection_check_interval') as check`;
      assert.deepEqual({ ...row }, { statement: "5min", idle: "1min", check: "2s" });
    } finally {
      await close();
    }
  });

  it("end their statement when the process is killed", async () => {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--quiet", WRITER, "--", SERVER!],
      stdout: "piped",
      cwd: new URL("../../..", import.meta.url),
    }).spawn();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { sql, close } = await openDatabase({ databaseUrl: SERVER, dataDir: "" });
    try {
      const pid = Number((await reader.read()).value);
      assert.ok(pid > 0);
      const count = async (event: string) => {
        const [row] = await sql<{ count: number }[]>`
          select count(*)::int as count from pg_stat_activity
          where pid = ${pid} and wait_event is not null and ${event} in ('', wait_event)`;
        return row!.count;
      };
      await waitUntil("it sleeps", async () => await count("PgSleep") > 0, { pauseMs: 50 });
      child.kill("SIGKILL");
      const isOver = async () => await count("") === 0;
      await waitUntil("it has ended", isOver, { pauseMs: 100, deadlineMs: 5_000 });
    } finally {
      await close();
      await reader.cancel();
      await child.status;
    }
  });
});
