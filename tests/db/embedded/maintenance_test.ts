/** `open.ts`: the log stays short, and the plans are good. */
import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import type { PGlite } from "@electric-sql/pglite";
import { openPostgres } from "../../../db/embedded/open.ts";
import { copyTemplate } from "../../database.ts";

const MEGABYTE = 1024 * 1024;

describe("the log of the embedded database", () => {
  let dataDir: string;
  let database: Database;
  before(async () => {
    dataDir = await copyTemplate();
    database = await openDatabase({ dataDir });
  });
  after(async () => {
    await database.close();
    await Deno.remove(dataDir, { recursive: true });
  });

  async function logMegabytes(): Promise<number> {
    const folder = join(dataDir, "postgres", "data", "pg_wal");
    const sizes = (await Array.fromAsync(Deno.readDir(folder)))
      .filter(({ isFile }) => isFile)
      .map(({ name }) => Deno.statSync(join(folder, name)).size);
    return sizes.reduce((sum, size) => sum + size, 0) / MEGABYTE;
  }

  it("stays short while the database is open", async () => {
    const { sql } = database;
    await sql`create table written (value text)`;
    await sql`alter table written alter column value set storage external`;
    let most = 0;
    const { now } = performance;
    try {
      for (let round = 0; round < 20; round++) {
        await sql`insert into written select repeat(${round} || '-', 350000) from generate_series(1, 8)`;
        performance.now = () => now.call(performance) + round * 250;
        most = Math.max(most, await logMegabytes());
      }
    } finally {
      performance.now = now;
    }
    const [row] = await sql<{ megabytes: number }[]>`
      select pg_total_relation_size('written')::float8 / 1048576 as megabytes`;
    assert.ok(row!.megabytes > 100, `${row!.megabytes} MB were written`);
    assert.ok(most <= 96, `${most} MB of log`);
  });
});

describe("the plans of the embedded database", () => {
  it("are made again after a minute, for tables that have grown", async () => {
    const dataDir = await copyTemplate();
    const { now } = performance;
    const database = await openPostgres(join(dataDir, "postgres", "data"));
    try {
      const postgres = database as unknown as Pick<PGlite, "query">;
      const query = async (text: string) =>
        (await postgres.query<Record<string, string>>(text)).rows;
      const plan = async () =>
        (await query("explain execute found(1)")).map((row) => row["QUERY PLAN"]).join("\n");
      await query("create table grown (a integer primary key, b integer unique)");
      await query("insert into grown values (1, 1)");
      await query("analyze grown");
      await query("prepare found (integer) as select from grown where a = $1 or b = $1");
      for (let round = 0; round < 10; round++) await query("execute found(1)");
      await query("insert into grown select n, n from generate_series(2, 20000) as n");
      assert.match(await plan(), /Seq Scan/);
      await database.maintain();
      assert.match(await plan(), /Seq Scan/);
      performance.now = () => now.call(performance) + 61_000;
      await database.maintain();
      assert.match(await plan(), /Index/);
    } finally {
      performance.now = now;
      await database.close();
      await Deno.remove(dataDir, { recursive: true });
    }
  });
});
