import assert from "node:assert/strict";
import { after, before, beforeEach, it } from "@std/testing/bdd";
import { dirname, join } from "node:path";
import { claimArchive, failArchive } from "../../../db/admin/archives.ts";
import { SECONDS_PER_DAY } from "../../../lib/base/time.ts";
import { createLog } from "../../../lib/base/log.ts";
import { Metrics } from "../../../lib/base/metrics.ts";
import { cleanInbox } from "../../../lib/intake/clean_inbox.ts";
import { FolderStorage } from "../../../lib/storage/folder.ts";
import { describeWithDatabase } from "../../database.ts";

const LIMITS = { seconds: 7 * SECONDS_PER_DAY, bytes: 1_000 };

describeWithDatabase("cleaning the inbox", (database) => {
  let folder = "";
  let storage: FolderStorage;
  let lines: string[] = [];
  let metrics: Metrics;
  let room: Parameters<typeof cleanInbox>[0]["room"];
  const today = Math.floor(Date.now() / 1000);

  before(async () => void (folder = await Deno.makeTempDir()));
  after(() => Deno.remove(folder, { recursive: true }));
  beforeEach(async () => {
    for await (const { name } of Deno.readDir(folder)) {
      await Deno.remove(join(folder, name), { recursive: true });
    }
    await database().sql`delete from archive`;
    storage = new FolderStorage(folder, { isInbox: true });
    metrics = new Metrics();
    room = {
      freeBytes: 10_000,
      neededBytes: 1_000,
    };
    lines = [];
  });

  async function write(key: string, size: number): Promise<void> {
    await Deno.mkdir(dirname(join(folder, key)), { recursive: true });
    await Deno.writeFile(join(folder, key), new Uint8Array(size));
  }

  /** An archive that failed some days ago. */
  async function fail(key: string, { size, days }: { size: number; days: number }): Promise<void> {
    const { sql } = database();
    await write(key, size);
    const { version } = (await storage.find(key))!;
    const claim = { source: folder, key, claimId: crypto.randomUUID() };
    await claimArchive(sql, { ...claim, version, leaseSeconds: 60 });
    await failArchive(sql, { ...claim, reason: "broken", submissionKey: key });
    await sql`
      update archive set finished_at = to_timestamp(${today - days * SECONDS_PER_DAY})
      where key = ${key}`;
  }

  async function clean(days = 0): Promise<string[]> {
    const now = () => today + days * SECONDS_PER_DAY;
    const log = createLog({ write: (line) => void lines.push(line), now });
    await cleanInbox({ sql: database().sql, storage, log, metrics, now, room }, LIMITS);
    const left = await Array.fromAsync(storage.list());
    return left.flat().map(({ key }) => key);
  }

  it("deletes failed archives after their time, and no others", async () => {
    await fail("acme/shop/a.gz", { size: 10, days: 1 });
    await fail("acme/shop/b.gz", { size: 20, days: 3 });
    await write("acme/shop/waiting.gz", 5);
    assert.deepEqual((await clean()).length, 3);
    assert.deepEqual(await clean(5), ["acme/shop/a.gz", "acme/shop/waiting.gz"]);
    assert.match(lines.join(), /failed archive deleted .*acme\/shop\/b\.gz.* bytes=20/);
    assert.match(metrics.text(), /_failed_archives_deleted_total 1\n/);
    assert.match(metrics.text(), /_failed_archives_bytes 10\n/);
  });

  it("keeps the latest failed archives up to a size", async () => {
    await fail("acme/a.gz", { size: 500, days: 1 });
    await fail("acme/b.gz", { size: 400, days: 2 });
    await fail("acme/c.gz", { size: 300, days: 3 });
    assert.deepEqual(await clean(), ["acme/a.gz", "acme/b.gz"]);
  });

  it("leaves half of the room on a small disk to new uploads", async () => {
    await fail("acme/a.gz", { size: 300, days: 1 });
    await fail("acme/b.gz", { size: 300, days: 2 });
    await fail("acme/c.gz", { size: 300, days: 3 });
    room = { ...room, freeBytes: 500, neededBytes: 600 };
    assert.deepEqual(await clean(), ["acme/a.gz"]);
  });

  it("keeps an archive that was uploaded again", async () => {
    await fail("acme/a.gz", { size: 10, days: 1 });
    await write("acme/a.gz", 11);
    assert.deepEqual(await clean(30), ["acme/a.gz"]);
  });

  it("removes folders that have been empty for an hour", async () => {
    await Deno.mkdir(join(folder, "old", "shop"), { recursive: true });
    await Deno.mkdir(join(folder, ".unfinished"));
    await write("used/a.gz", 1);
    await clean();
    assert.ok(await Deno.stat(join(folder, "old", "shop")));
    await clean(1);
    const left = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
    assert.deepEqual(left.sort(), [".unfinished", "used"]);
  });
});
