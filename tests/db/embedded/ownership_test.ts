/** `open.ts` and `folder.ts`: one process owns the database, others use it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "@std/testing/bdd";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import { copyTemplate } from "../../database.ts";
import { start } from "./run.ts";
import { pause } from "../../../lib/base/delay.ts";

/** Openings of another database, one after the other, while a statement waits for the next owner of this one. */
const MAX_OPENINGS = 8;

/** Concurrent statements. */
const CLIENTS = 8;

describe("the embedded database", () => {
  let dataDir = "";
  let open: Database[] = [];

  async function opened(): Promise<Database> {
    const database = await openDatabase({ dataDir });
    open.push(database);
    return database;
  }

  beforeEach(async () => {
    dataDir = await copyTemplate();
    open = [];
  });
  afterEach(async () => {
    for (const database of open) await database.close();
    await Deno.remove(dataDir, { recursive: true });
  });

  it("is shared by two processes that start at the same time", async () => {
    const processes = [start("hold", dataDir), start("hold", dataDir)];
    for (const process of processes) assert.equal(await process.read(), "ready");
    for (const process of processes) {
      await process.write("hello");
      assert.equal(await process.read(), "hello");
    }
    for (const process of processes) {
      await process.write("close");
      assert.equal(await process.read(), "closed");
      await process.end();
    }
  });

  it("is taken over by a client when its owner ends", async () => {
    const owner = start("hold", dataDir);
    assert.equal(await owner.read(), "ready");
    const client = await opened();
    await client.sql`create table kept (n integer)`;
    await client.sql`insert into kept values (${1})`;
    await owner.write("close");
    assert.equal(await owner.read(), "closed");
    await owner.end();
    assert.deepEqual([...await client.sql`select n from kept`], [{ n: 1 }]);
  });

  it("is taken over after its owner was killed, with all acknowledged writes", async () => {
    const owner = start("hold", dataDir);
    assert.equal(await owner.read(), "ready");
    const client = await opened();
    await client.sql`create table kept (n integer)`;
    await client.sql`insert into kept values (${1})`;
    await owner.kill();
    // One statement may fail on the lost connection, the next one must not.
    const rows = async () => [...await client.sql`select n from kept`];
    assert.deepEqual(await rows().catch(rows), [{ n: 1 }]);
  });

  it("is opened by the next process after its owner was killed", async () => {
    const owner = start("hold", dataDir);
    assert.equal(await owner.read(), "ready");
    await owner.kill();
    const { sql } = await opened();
    assert.deepEqual([...await sql`select 1 as n`], [{ n: 1 }]);
  });

  it("rolls back the transaction of a killed client", async () => {
    const { sql } = await opened();
    await sql`create table held (n integer)`;
    const client = start("hold", dataDir);
    assert.equal(await client.read(), "ready");
    await client.write("transaction");
    assert.equal(await client.read(), "in transaction");
    await client.kill();
    assert.deepEqual([...await sql`select count(*)::integer as n from held`], [{ n: 0 }]);
  });

  it("lets other processes finish their transactions before its owner ends", async () => {
    const owner = await openDatabase({ dataDir });
    const client = await opened();
    await client.sql`create table kept (n integer)`;
    let ended: Promise<void> | undefined;
    await client.sql.begin(async (sql) => {
      await sql`insert into kept values (${1})`;
      ended = owner.close();
      await pause(200);
      await sql`insert into kept values (${2})`;
    });
    await ended;
    assert.deepEqual([...await client.sql`select sum(n)::integer as n from kept`], [{ n: 3 }]);
  });

  it("recovers at once when its owner ends under load", async () => {
    const owner = await openDatabase({ dataDir });
    const client = await opened();
    let [stop, isDone] = [false, false];
    let failures = 0;
    let openings = 0;
    let most = 0;
    const load = async () => {
      while (!stop) {
        const before = openings;
        await client.sql`select ${"x"}::text as x`.catch(() => failures++);
        most = Math.max(most, openings - before);
      }
    };
    const otherDir = await copyTemplate();
    // Not a clock: a busy machine slows these down as well.
    const openOther = async () => {
      for (; !isDone; openings++) await (await openDatabase({ dataDir: otherDir })).close();
    };
    const other = openOther();
    const running = Array.from({ length: CLIENTS }, load);
    await pause(100);
    await owner.close();
    assert.deepEqual([...await client.sql`select 1 as n`], [{ n: 1 }]);
    stop = true;
    await Promise.all(running);
    isDone = true;
    await other;
    await Deno.remove(otherDir, { recursive: true });
    // The next owner opens the database once; a stuck connection would take a minute.
    assert.ok(most < MAX_OPENINGS, `a statement took as long as opening ${most} databases`);
    assert.equal(failures, 0);
  });

  it("refuses a folder with other files", async () => {
    await Deno.remove(join(dataDir, "postgres", "data"), { recursive: true });
    await Deno.mkdir(join(dataDir, "postgres", "data"));
    await assert.rejects(opened(), /data" is not a database of PostgreSQL 18: expected/);
    await Deno.writeTextFile(join(dataDir, "postgres", "data", "PG_VERSION"), "12\n");
    await assert.rejects(opened(), /data" is not a database of PostgreSQL 18: expected/);
  });

  it("refuses a data folder that is a file", async () => {
    const file = join(dataDir, "file");
    await Deno.writeTextFile(file, "");
    await assert.rejects(
      openDatabase({ dataDir: file }),
      /^Error: data folder ".*file" cannot be used: .*expected a folder that may be written to/,
    );
  });

  it("works in a folder whose path is too long for a socket", async () => {
    const long = join(dataDir, "x".repeat(120));
    await Deno.mkdir(long);
    await Deno.rename(join(dataDir, "postgres"), join(long, "postgres"));
    const owner = await openDatabase({ dataDir: long });
    const socket = await Deno.readLink(join(long, "postgres", "socket"));
    try {
      const client = start("hold", long);
      assert.equal(await client.read(), "ready");
      await client.write("close");
      assert.equal(await client.read(), "closed");
      await client.end();
    } finally {
      await owner.close();
    }
    await assert.rejects(Deno.stat(join(socket, "..")), Deno.errors.NotFound);
  });

  it("makes its files readable by the user only", async () => {
    await opened();
    const info = await Deno.stat(join(dataDir, "postgres"));
    assert.equal((info.mode ?? 0) & 0o777, 0o700);
  });
});
