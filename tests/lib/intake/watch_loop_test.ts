import assert from "node:assert/strict";
import { after, before, it } from "@std/testing/bdd";
import { pause } from "../../../lib/base/delay.ts";
import { createOrganization } from "../../../db/admin/organizations.ts";
import { watchArchives } from "../../../lib/intake/watch_loop.ts";
import { FolderStorage } from "../../../lib/storage/folder.ts";
import { StorageError, type StoredArchive } from "../../../lib/storage/storage.ts";
import { describeWithDatabases } from "../../database.ts";
import { silentLog } from "../../silent_log.ts";
import { archiveOf, reportOf } from "../report/archive/make_archive.ts";

const NOW = 1_790_000_000;

/** A folder whose archives cannot be read while `isOut`. */
class UnreliableStorage extends FolderStorage {
  isOut = true;
  attempts = 0;

  override open(archive: StoredArchive) {
    this.attempts++;
    if (this.isOut) throw new StorageError("the disk is full");
    return super.open(archive);
  }
}

describeWithDatabases("watching", (database) => {
  let folder = "";

  before(async () => {
    folder = await Deno.makeTempDir();
    const acme = { name: "acme", purchaseUnitCount: 0, createdAt: NOW };
    await createOrganization(database().sql, acme);
  });
  after(() => Deno.remove(folder, { recursive: true }));

  it("retries archives less and less often during an outage, and all after it", async () => {
    for (const no of [1, 2, 3]) {
      await Deno.writeFile(
        `${folder}/20260101T000000Z-000000000000000${no}.gz`,
        await archiveOf([
          [
            "buildpulse.yml",
            `:commit: abc\n:repo_name_with_owner: acme/shop\n:build_url: https://ci/${no}\n`,
          ],
          ["test_results/a.xml", reportOf("a")],
        ]),
      );
    }
    const stop = new AbortController();
    const storage = new UnreliableStorage(folder, { stop: stop.signal, isInbox: true });
    const processed: string[] = [];
    const waits: number[] = [];
    const watching = watchArchives({
      sql: database().sql,
      storage,
      organization: null,
      leaseSeconds: 60,
      now: () => NOW,
      listener: { note: () => {} },
      log: silentLog,
      origin: { author: "test", command: "watch" },
    }, {
      interval: 0.1,
      workers: 1,
      once: false,
      metrics: undefined,
      stop: stop.signal,
      async sleep(milliseconds) {
        await pause(1);
        waits.push(milliseconds);
        storage.isOut = waits.length < 9;
      },
      onOutcome({ key, status }) {
        if (status === "processed") processed.push(key);
        return Promise.resolve();
      },
    });
    const deadline = performance.now() + 20_000;
    while ((processed.length < 3 || waits.at(-1) !== 100) && performance.now() < deadline) {
      await pause(20);
    }
    stop.abort();
    await watching;
    assert.equal(processed.length, 3);
    assert.deepEqual(waits.slice(0, 9), [200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000]);
    assert.equal(waits.at(-1), 100);
  });
});
