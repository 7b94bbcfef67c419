import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { pause } from "../../../lib/base/delay.ts";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
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
    for (let round = 0; round < 20; round++) {
      await sql`insert into written select repeat(${round} || '-', 350000) from generate_series(1, 8)`;
      await pause(250);
      most = Math.max(most, await logMegabytes());
    }
    const [row] = await sql<{ megabytes: number }[]>`
      select pg_total_relation_size('written')::float8 / 1048576 as megabytes`;
    assert.ok(row!.megabytes > 100, `${row!.megabytes} MB were written`);
    assert.ok(most <= 96, `${most} MB of log`);
  });
});
