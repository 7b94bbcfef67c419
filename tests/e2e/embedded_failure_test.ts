import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { openDatabase } from "../../db/connection/connect.ts";
import { copyTemplate } from "../database.ts";
import { launch } from "./launch.ts";
import { runHere } from "./prepare.ts";
import { run, start } from "./program.ts";
import { pause } from "../../lib/base/delay.ts";

/** The file that PostgreSQL creates before it extends its log; PGlite's process id is 42. */
const NEXT_SEGMENT = "pg_wal/xlogtemp.42";

describe("the embedded database", () => {
  let dataDir: string;
  const inside = (path: string) => join(dataDir, "postgres", "data", path);

  before(async () => {
    dataDir = await copyTemplate();
  });
  after(() => Deno.remove(dataDir, { recursive: true }));

  it("ends the process with the reason when it panics", async () => {
    const running = await start(["serve", "--port", "0"], { DATA_DIR: dataDir });
    // Its log cannot grow then, as on a full disk.
    await Deno.mkdir(inside(NEXT_SEGMENT));
    const client = await openDatabase({ dataDir });
    try {
      await assert.rejects(async () => {
        for (let n = 0; n < 3; n++) {
          await client.sql`select pg_switch_wal()`;
          await client.sql`create table if not exists written (n integer)`;
          await client.sql`insert into written values (${n})`;
        }
      });
      // Without a signal: it ends by itself.
      const { code, stderr } = await running.stop("SIGCONT", 10_000);
      assert.equal(code, 1, stderr);
      assert.match(stderr, /^error: the embedded database .* failed: PANIC: .*xlogtemp/m);
      assert.match(stderr, /was acknowledged is kept/);
    } finally {
      await client.close();
      await Deno.remove(inside(NEXT_SEGMENT));
    }
    assert.equal((await runHere(["org", "create", "acme"], { DATA_DIR: dataDir })).code, 0);
  });

  it("is created whole after kills, announced, with files that only their owner can read", async () => {
    const folder = await Deno.makeTempDir({ prefix: "test-analytics-test-" });
    const environment = { DATA_DIR: join(folder, "data") };
    const create = ["org", "create", "acme"];
    try {
      for (const afterMs of [300, 1000, 1800]) {
        const creation = launch(create, environment);
        await pause(afterMs);
        await creation.kill();
      }
      const created = await run(create, environment);
      const again = await runHere(create, environment);
      assert.deepEqual([created.code, again.code], [0, 1], created.stderr);
      assert.match(created.stderr, /^creating a database in /m);
      assert.doesNotMatch(again.stderr, /creating/);
      const names = [...Deno.readDirSync(join(folder, "data", "postgres"))].map(({ name }) => name);
      assert.deepEqual(names.sort(), ["data", "lock"]);
      const { stdout } = await new Deno.Command("find", {
        args: [join(folder, "data"), "-perm", "/077", "-printf", "%M %p\n"],
      }).output();
      assert.equal(new TextDecoder().decode(stdout), "");
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });

  for (const file of ["global/pg_control", "pg_wal/000000010000000000000001"]) {
    it(`is called damaged when ${file} is`, async () => {
      const copy = await copyTemplate();
      try {
        const path = join(copy, "postgres", "data", file);
        const bytes = await Deno.readFile(path);
        await Deno.writeFile(path, bytes.fill(7));
        for (const args of [["doctor"], ["org", "list"], ["serve", "--port", "0"]]) {
          const { code, stdout, stderr } = await runHere(args, { DATA_DIR: copy });
          assert.equal(code, 1, stderr);
          assert.match(stdout + stderr, /files of the embedded database in ".*" are damaged: /);
          assert.match(stdout + stderr, /restore a backup/);
          assert.doesNotMatch(stdout + stderr, /another user|undefined|\[object/);
        }
      } finally {
        await Deno.remove(copy, { recursive: true });
      }
    });
  }
});
