/**
 * A separate process that uses the embedded database, for tests: `program.ts COMMAND DATA_DIR`.
 *
 * - `hammer`: parametrized statements, failing ones and transactions on several connections; prints
 *   `ok`, or the wrong results.
 * - `hold`: opens the database, prints `ready`, answers each line on standard input with the result
 *   of a statement, and closes at its end.
 */

import assert from "node:assert/strict";
import process from "node:process";
import { createInterface } from "node:readline";
import { openDatabase } from "../../../db/connection/connect.ts";
import { pause } from "../../../lib/base/delay.ts";

const ROUNDS = 60;
const CONNECTIONS = 3;

const [command, dataDir = ""] = process.argv.slice(2);

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function hammer(): Promise<void> {
  const database = await openDatabase({ dataDir, maxConnections: CONNECTIONS });
  const { sql } = database;
  const me = process.pid;
  const text = async (round: number) => {
    const value = `text ${me} ${round}`;
    const [row] = await sql`select ${value}::text as value, ${round}::integer as round`;
    assert.deepEqual({ ...row }, { value, round });
  };
  const rows = async (round: number) => {
    const found = await sql`select n + ${me}::integer as n from generate_series(1, ${round}) as n`;
    assert.deepEqual(found.map((row) => row.n), found.map((_, index) => me + index + 1));
    assert.equal(found.length, round);
  };
  const failure = (round: number) =>
    assert.rejects(
      // Two parameters, so that it fails between the statement's messages.
      Promise.resolve(sql`select ${round}::integer / (${round}::integer - ${round}::integer) as n`),
      { code: "22012" },
    );
  const unparsed = () => assert.rejects(Promise.resolve(sql`selekt ${me}`), { code: "42601" });
  const transaction = async (round: number) => {
    const total = await sql.begin(async (inside) => {
      await inside`insert into hammer (process, round) values (${me}, ${round})`;
      const [row] = await inside`
        select count(*)::integer as count from hammer where process = ${me} and round = ${round}`;
      return row?.count;
    });
    assert.equal(total, 1);
  };
  const undone = async (round: number) => {
    await assert.rejects(
      sql.begin(async (inside) => {
        await inside`insert into hammer (process, round) values (${me}, ${-round})`;
        await inside`select 1 / ${0}::integer`;
      }),
      { code: "22012" },
    );
  };
  const works = [text, rows, failure, unparsed, transaction, undone];
  for (let round = 1; round <= ROUNDS; round++) {
    await Promise.all(works.map((work) => work(round)));
  }
  const [row] = await sql`
    select count(*)::integer as count, min(round) as first from hammer where process = ${me}`;
  assert.deepEqual({ ...row }, { count: ROUNDS, first: 1 });
  await database.close();
  say("ok");
}

async function hold(): Promise<void> {
  const database = await openDatabase({ dataDir });
  say("ready");
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === "close") break;
    if (line === "transaction") {
      await database.sql.begin(async (sql) => {
        await sql`create table if not exists held (n integer)`;
        await sql`insert into held values (${1})`;
        say("in transaction");
        await pause(3_600_000);
      });
    }
    try {
      const [row] = await database.sql`select ${line}::text as value`;
      say(String(row?.value));
    } catch (error) {
      say(`failed: ${error instanceof Error ? error.message : error}`);
    }
  }
  await database.close();
  say("closed");
}

const commands: Record<string, () => Promise<void>> = { hammer, hold };
await commands[command ?? ""]?.();
