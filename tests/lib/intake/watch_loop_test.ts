import assert from "node:assert/strict";
import { afterEach, before, beforeEach, it } from "@std/testing/bdd";
import { isDoneWithin, pause } from "../../../lib/base/delay.ts";
import { createLog } from "../../../lib/base/log.ts";
import { watchArchives } from "../../../lib/intake/watch_loop.ts";
import { FolderStorage } from "../../../lib/storage/folder.ts";
import { StorageError, type StoredArchive } from "../../../lib/storage/storage.ts";
import { lockRepositories } from "./lock_repositories.ts";
import { describeWithDatabases } from "../../database.ts";
import { newOrganization } from "../../organizations.ts";
import { archiveOf, reportOf } from "../report/archive/make_archive.ts";
import { waitUntil } from "../../wait_until.ts";

const NOW = 1_790_000_000;

/** A folder whose archives cannot be read while `isOut`. */
class UnreliableStorage extends FolderStorage {
  isOut = true;

  override open(archive: StoredArchive) {
    if (this.isOut) throw new StorageError("the disk is full");
    return super.open(archive);
  }
}

describeWithDatabases("watching", (database) => {
  let folder = "";
  let lines: string[] = [];

  before(async () => {
    await newOrganization(database().sql);
  });
  beforeEach(async () => {
    folder = await Deno.makeTempDir();
    lines = [];
  });
  afterEach(() => Deno.remove(folder, { recursive: true }));

  const keyOf = (no: number) => `20260101T000000Z-000000000000000${no}.gz`;

  /** Adds archives together: no sweep finds some of them. */
  async function addArchives(...numbers: number[]): Promise<void> {
    const archives = await Promise.all(numbers.map((no) => {
      const metadata = `:commit: abc\n:repo_name_with_owner: acme/shop\n:build_url: https://ci/${
        folder.slice(-6)
      }/${no}\n`;
      const report = ["test_results/a.xml", reportOf("a")] as const;
      return archiveOf([["buildpulse.yml", metadata], report]);
    }));
    numbers.forEach((no, index) => Deno.writeFileSync(`${folder}/${keyOf(no)}`, archives[index]!));
  }

  /** Watches with one worker; `processed` are the keys so far. */
  function watch(
    storage: FolderStorage,
    stop: AbortSignal,
    more: { sleep?: typeof pause; shutdownTimeoutMs?: number } = {},
  ) {
    const processed: string[] = [];
    const ended = watchArchives({
      sql: database().sql,
      storage,
      organization: null,
      leaseSeconds: 60,
      now: () => NOW,
      listener: { note: () => {} },
      log: createLog({ write: (line) => void lines.push(line), now: () => NOW }),
      origin: { author: "test", command: "watch" },
    }, {
      interval: 0.1,
      workers: 1,
      once: false,
      metrics: undefined,
      stop,
      ...more,
      onOutcome({ key, status }) {
        if (status === "processed") processed.push(key);
        return Promise.resolve();
      },
    });
    const until = async (count: number) => {
      await waitUntil(`${count} are processed`, () => processed.length >= count);
      assert.equal(processed.length, count);
    };
    return { processed, ended, until };
  }

  it("processes other archives while one cannot be removed, and says so once", async () => {
    await addArchives(1, 2);
    const stop = new AbortController();
    const storage = new FolderStorage(folder, { stop: stop.signal, isInbox: true });
    const { remove } = storage;
    Object.assign(storage, {
      remove: (archive: StoredArchive) =>
        archive.key === keyOf(1)
          ? Promise.reject(Object.assign(new Error("permission denied"), { code: "EACCES" }))
          : remove!(archive),
    });
    const { ended, until } = watch(storage, stop.signal);
    await until(2);
    await pause(300);
    await addArchives(3);
    await until(3);
    stop.abort();
    await ended;
    const said = lines.filter((line) => line.includes("archive not removed"));
    // At the end of its processing, and once by the sweeps.
    assert.equal(said.length, 2, said.join());
    assert.match(said[0]!, /key=\S+01\.gz error="permission denied"/);
    assert.doesNotMatch(lines.join(), /sweep failed/);
  });

  it("ends in time while a worker waits for a lock and another archive for the worker", async () => {
    const { sql, kind } = database();
    // One transaction at a time runs in the embedded database.
    if (kind === "embedded") return;
    const stop = new AbortController();
    const storage = new FolderStorage(folder, { stop: stop.signal, isInbox: true });
    await addArchives(1);
    const { ended, until } = watch(storage, stop.signal, { shutdownTimeoutMs: 1_000 });
    await until(1);
    const lock = await lockRepositories(sql);
    await addArchives(2, 3);
    await waitUntil("two wait", () => lines.join().includes("archives waiting count=2"));
    await pause(200);
    const begun = performance.now();
    stop.abort();
    try {
      const isDone = await isDoneWithin(ended, 20_000);
      assert.ok(isDone, `still watching ${Math.round(performance.now() - begun)} ms later`);
      assert.match(lines.join(), /shutdown timeout: archives were left .* count=1/);
    } finally {
      await lock.release();
      await ended;
    }
    await pause(300);
  });

  it("releases an archive that waits for a lock while a sweep still waits, too", async () => {
    const { sql, kind } = database();
    if (kind === "embedded") return;
    const stop = new AbortController();
    const storage = new FolderStorage(folder, { stop: stop.signal, isInbox: true });
    const { list } = storage;
    const swept = Promise.withResolvers<void>();
    let waits: "no" | "soon" | "now" = "no";
    Object.assign(storage, {
      async *list() {
        if (waits === "soon") {
          waits = "now";
          await swept.promise;
        }
        yield* list.call(storage);
      },
    });
    await addArchives(1);
    const { ended, until } = watch(storage, stop.signal, { shutdownTimeoutMs: 100 });
    await until(1);
    const lock = await lockRepositories(sql);
    await addArchives(2);
    const isClaimed = async () => {
      const rows = await sql`
        select 1 from archive where source = ${storage.name} and key = ${keyOf(2)}
          and claim_id is not null`;
      return rows.length > 0;
    };
    try {
      await waitUntil("it is claimed", isClaimed);
      waits = "soon";
      await waitUntil("a sweep waits", () => waits === "now");
      stop.abort();
      await waitUntil("it is released", async () => !await isClaimed());
    } finally {
      const released = lock.release();
      swept.resolve();
      stop.abort();
      await released;
      await ended;
    }
  });

  it("retries archives less and less often during an outage, and all after it", async () => {
    await addArchives(1, 2, 3);
    const stop = new AbortController();
    const storage = new UnreliableStorage(folder, { stop: stop.signal, isInbox: true });
    const waits: number[] = [];
    const sleep = async (milliseconds: number) => {
      await pause(1);
      waits.push(milliseconds);
      storage.isOut = waits.length < 9;
    };
    const { ended, until } = watch(storage, stop.signal, { sleep });
    await until(3);
    await waitUntil("it sweeps as before", () => waits.at(-1) === 100);
    stop.abort();
    await ended;
    assert.deepEqual(waits.slice(0, 9), [200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000]);
  });
});
