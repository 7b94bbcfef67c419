/** `disk_space.ts`, through statements. */
import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import fs from "node:fs";
import { openDatabase } from "../../../db/connection/connect.ts";
import { copyTemplate } from "../../database.ts";

describe("the embedded database on a disk that is almost full", () => {
  const { statfsSync } = fs;
  let dataDir: string;
  let free = 1e12;
  let database: Awaited<ReturnType<typeof openDatabase>>;

  before(async () => {
    Object.assign(fs, { statfsSync: () => ({ bavail: free, bsize: 1 }) });
    dataDir = await copyTemplate();
    database = await openDatabase({ dataDir });
    await database.sql`create table written (n integer)`;
  });
  after(async () => {
    Object.assign(fs, { statfsSync });
    await database.close();
    await Deno.remove(dataDir, { recursive: true });
  });

  it("refuses writes with the reason, answers queries, and accepts writes again", async () => {
    const { sql } = database;
    const write = (n: number) => sql`insert into written values (${n})`;
    await write(1);
    free = 20 * 1024 * 1024;
    const refusal = { code: "53100", message: /^the disk of ".*" is almost full: 20 MB are free/ };
    await assert.rejects(async () => await write(2), refusal);
    await assert.rejects(
      sql.begin(async (tx) => {
        await tx`select n from written for update`;
      }),
      refusal,
    );
    await assert.rejects(async () => await sql`create table other (n integer)`, refusal);
    assert.deepEqual([...await sql`select n from written`], [{ n: 1 }]);
    assert.deepEqual([...await sql`select 'updated' as updated_at, ${"delete from"} as x`], [
      { updated_at: "updated", x: "delete from" },
    ]);
    free = 1e12;
    await write(3);
    assert.deepEqual([...await sql`select n from written order by n`], [{ n: 1 }, { n: 3 }]);
  });

  it("is not created where it would not fit", async () => {
    const empty = await Deno.makeTempDir({ prefix: "test-analytics-test-" });
    try {
      free = 80 * 1024 * 1024;
      await assert.rejects(
        openDatabase({ dataDir: empty }),
        /^DatabaseError: the disk of ".*" is almost full: 80 MB are free/,
      );
    } finally {
      await Deno.remove(empty, { recursive: true });
    }
  });
});
