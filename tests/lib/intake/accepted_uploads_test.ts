import { after, afterEach, before, beforeEach, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { claimArchive } from "../../../db/admin/archives.ts";
import { deleteSubmission } from "../../../db/write/delete_submission.ts";
import { createLog } from "../../../lib/base/log.ts";
import { Metrics } from "../../../lib/base/metrics.ts";
import { type AcceptedUpload, AcceptedUploads } from "../../../lib/intake/accepted_uploads.ts";
import { ArchiveReader } from "../../../lib/intake/archive_reader.ts";
import { processArchive } from "../../../lib/intake/process_archive.ts";
import { watchArchives } from "../../../lib/intake/watch_loop.ts";
import { fileSource, FolderStorage } from "../../../lib/storage/folder.ts";
import { lockRepositories } from "./lock_repositories.ts";
import { describeWithDatabases } from "../../database.ts";
import { newOrganization } from "../../organizations.ts";
import { archiveOf, reportOf } from "../report/archive/make_archive.ts";
import { waitUntil } from "../../wait_until.ts";

const NOW = 1_790_000_000;

describeWithDatabases("accepted uploads", (database) => {
  const reader = new ArchiveReader();
  let organizationId = 0;
  let folder = "";
  let lines: string[] = [];
  let next = 0;

  before(async () => {
    ({ organizationId } = await newOrganization(database().sql));
  });
  after(() => reader.close());
  beforeEach(async () => {
    folder = await Deno.makeTempDir();
    lines = [];
  });
  afterEach(() => Deno.remove(folder, { recursive: true }));

  function makeContext() {
    const stop = new AbortController();
    const metrics = new Metrics();
    const storage = new FolderStorage(folder, { stop: stop.signal, isInbox: true });
    const watcher = {
      sql: database().sql,
      storage,
      organization: null,
      leaseSeconds: 60,
      now: () => NOW,
      listener: { note: () => {} },
      log: createLog({ write: (line) => void lines.push(line), now: () => NOW }),
      origin: { author: "test", command: "up" },
      // What waits for its end is not interrupted on a slow machine.
      shutdownTimeoutMs: 60_000,
    };
    return { watcher, stop, metrics, accepted: new AcceptedUploads({ ...watcher, metrics }) };
  }

  /** An upload as the door hands it over: it lies in the inbox and was read. */
  async function upload(
    { report = reportOf("a"), key = `acme/shop/20260101T000000Z-${hex(next++)}.gz` } = {},
  ): Promise<AcceptedUpload> {
    const path = join(folder, key);
    await Deno.mkdir(dirname(path), { recursive: true });
    await Deno.writeFile(
      path,
      await archiveOf([
        [
          "buildpulse.yml",
          `:commit: abc\n:repo_name_with_owner: acme/shop\n:build_url: https://ci/${key}\n`,
        ],
        ["test_results/a.xml", report],
      ]),
    );
    const { facts, files } = await reader.read(fileSource(path), {
      given: {},
      now: NOW,
      recordedAt: NOW,
      listener: { note: () => {} },
    });
    return { key, read: { facts, files } };
  }

  async function notesOf(key: string): Promise<string[] | undefined> {
    const [row] = await database().sql<{ notes: string[] }[]>`
      select array_to_json(notes) as notes from submission where key = ${key}`;
    return row?.notes;
  }

  const hex = (no: number) => no.toString(16).padStart(16, "0");

  async function submissions(key: string) {
    const rows = await database().sql<{ key: string; status: string; count: number }[]>`
      select key, status, test_result_count as count from submission where key = ${key}`;
    return rows.map(({ key, status, count }) => ({ key, status, count }));
  }

  async function archive(key: string) {
    const [row] = await database().sql<{ status: string; claim: string | null }[]>`
      select status, claim_id::text as claim from archive
      where source = ${folder} and key = ${key}`;
    return row && { ...row };
  }

  async function stored(accepted: AcceptedUploads, { key }: AcceptedUpload): Promise<void> {
    await waitUntil("it is stored", () => !accepted.has(key));
  }

  const isThere = (key: string) => Deno.stat(join(folder, key)).then(() => true, () => false);

  it("their notes from the check are stored", async () => {
    const { accepted } = makeContext();
    const one = await upload({ report: '<testsuites tests="1"/>' });
    accepted.add(one);
    await accepted.close();
    assert.deepEqual(await notesOf(one.key), [
      'kept the commit "abc" as text: expected 7 to 64 hex digits',
      "a.xml: found no test result, although it declares 1 test",
    ]);
  });

  it("they are stored from what the check has read, and leave the inbox", async () => {
    const { accepted, metrics } = makeContext();
    const one = await upload();
    // Not a byte of the archive is read again.
    await Deno.truncate(join(folder, one.key), 1);
    accepted.add(one);
    assert.equal(accepted.has(one.key), true);
    await accepted.close();
    assert.equal(accepted.has(one.key), false);
    assert.deepEqual(await submissions(one.key), [{ key: one.key, status: "processed", count: 1 }]);
    assert.deepEqual(await archive(one.key), { status: "processed", claim: null });
    assert.equal(await isThere(one.key), false);
    assert.match(lines.join(), / info archive processed key=\S+ results=1 duplicate=false/);
    assert.match(metrics.text(), /archives_total\{outcome="processed"\} 1\n/);
    assert.match(metrics.text(), /results_total 1\n/);
  });

  it("coverage alone is stored once", async () => {
    const { sql } = database();
    const one = await upload();
    const { files } = one.read;
    one.read.files = { ...files, results: null, coverage: { coveredLineCount: 1, lineCount: 2 } };
    const archiveFile = await Deno.readFile(join(folder, one.key));
    const reports = async () =>
      (await sql<{ count: number }[]>`select count(*)::int from coverage_report`)[0]!.count;
    const before = await reports();
    for (const isStored of [true, false]) {
      await Deno.writeFile(join(folder, one.key), archiveFile);
      const { accepted } = makeContext();
      lines = [];
      accepted.add(one);
      await accepted.close();
      assert.equal(/archive processed/.test(lines.join()), isStored);
      assert.equal(await reports(), before + 1);
      // Otherwise the next sweep removes it.
      assert.equal(await isThere(one.key), !isStored);
    }
  });

  it("their notes are logged, as by watch", async () => {
    const one = await upload();
    one.read.files.notes = ["split tags at commas"];
    const notes: string[] = [];
    const { watcher, metrics } = makeContext();
    const listener = { note: (text: string) => void notes.push(text) };
    const accepted = new AcceptedUploads({ ...watcher, listener, metrics });
    accepted.add(one);
    await accepted.close();
    assert.deepEqual(notes, [`${one.key}: split tags at commas`]);
  });

  /** An upload that waits for a lock; one transaction at a time runs in the embedded database. */
  async function blockedUpload() {
    const { accepted } = makeContext();
    accepted.add(await upload());
    await accepted.close();
    const lock = await lockRepositories(database().sql);
    const { watcher, metrics } = makeContext();
    lines = [];
    const blocked = new AcceptedUploads({ ...watcher, metrics, shutdownTimeoutMs: 100 });
    const one = await upload();
    blocked.add(one);
    return { lock, blocked, one };
  }

  it("the process ends in time while a transaction waits for a lock", async () => {
    if (database().kind === "embedded") return;
    const { lock, blocked, one } = await blockedUpload();
    try {
      await blocked.close();
      assert.match(lines.join(), /shutdown timeout: archives were left .* count=1/);
    } finally {
      await lock.release();
    }
    await stored(blocked, one);
  });

  it("an upload that the end of the process interrupts leaves nothing, and is not a crash", async () => {
    const { sql, kind } = database();
    if (kind === "embedded") return;
    const { lock, blocked, one } = await blockedUpload();
    const closing = blocked.close();
    await waitUntil("the timeout", () => lines.join().includes("shutdown timeout"));
    await lock.release();
    await closing;
    const rows = await sql`select status from archive where key = ${one.key}`;
    assert.deepEqual([...rows], []);
    await stored(makeContext().accepted, one);
  });

  it("an upload whose statement waits for a lock is rolled back before the process ends", async () => {
    const { sql, kind } = database();
    if (kind === "embedded") return;
    const { lock, blocked, one } = await blockedUpload();
    await blocked.close();
    const rows = await sql`select status from archive where key = ${one.key}`;
    await lock.release();
    assert.deepEqual([...rows], []);
    await stored(makeContext().accepted, one);
  });

  it("an upload is stored again after its submission was deleted, and once otherwise", async () => {
    const one = await upload();
    for (const [isStored, deletes] of [[true, false], [false, true], [true, false]] as const) {
      const { accepted } = makeContext();
      lines = [];
      accepted.add(await upload({ key: one.key }));
      await accepted.close();
      assert.equal(/archive processed .* duplicate=false/.test(lines.join()), isStored);
      assert.equal((await submissions(one.key)).length, 1);
      assert.equal((await archive(one.key))?.status, "processed");
      // Otherwise the next sweep removes it.
      assert.equal(await isThere(one.key), !isStored);
      if (deletes) await deleteSubmission(database().sql, { organizationId, key: one.key });
    }
  });

  it("an upload of an earlier submission under another key is recorded as a duplicate", async () => {
    const { accepted } = makeContext();
    const one = await upload();
    const other = await upload();
    const again = { ...other, read: { ...one.read } };
    accepted.add(one);
    await stored(accepted, one);
    accepted.add(again);
    await stored(accepted, again);
    assert.equal((await archive(other.key))?.status, "duplicate");
    assert.deepEqual(await submissions(other.key), []);
  });

  it("an upload that another process has claimed is left to it", async () => {
    const { accepted } = makeContext();
    const one = await upload();
    const claim = { source: folder, key: one.key, claimId: crypto.randomUUID() };
    await claimArchive(database().sql, { ...claim, version: "1", leaseSeconds: 60 });
    accepted.add(one);
    await accepted.close();
    assert.equal((await archive(one.key))?.claim, claim.claimId);
    assert.deepEqual(await submissions(one.key), []);
    assert.equal(await isThere(one.key), true);
  });

  it("an upload that can never be stored has failed, as by watch", async () => {
    const { accepted } = makeContext();
    const one = await upload();
    one.read.facts.organization = "unknown";
    accepted.add(one);
    await accepted.close();
    assert.match(lines.join(), /archive failed .* is unknown/);
    assert.equal((await archive(one.key))?.status, "failed");
  });

  it("the sweep does not process a waiting upload", async () => {
    const { watcher, stop, metrics } = makeContext();
    const one = await upload();
    const options = { interval: 1, workers: 1, once: true, metrics, stop: stop.signal };
    await watchArchives(watcher, { ...options, accepted: { has: (key) => key === one.key } });
    assert.equal(await archive(one.key), undefined);
    await watchArchives(watcher, options);
    assert.equal((await archive(one.key))?.status, "processed");
  });

  it("an upload is stored once when a sweep of another process takes it too", async () => {
    const { watcher, accepted } = makeContext();
    for (let round = 0; round < 10; round++) {
      const report = reportOf(`round ${round}`);
      const one = await upload({ report });
      const found = (await watcher.storage.find(one.key))!;
      const sweep = processArchive(watcher, found, reader);
      accepted.add(one);
      await sweep;
      await stored(accepted, one);
      assert.deepEqual(await submissions(one.key), [
        { key: one.key, status: "processed", count: 1 },
      ]);
      assert.equal((await archive(one.key))?.status, "processed");
    }
  });

  it("uploads that take much memory together are left to the sweep", async () => {
    const { accepted } = makeContext();
    const large = async () => {
      const one = await upload({ report: reportOf(`large ${next}`) });
      one.read.files.results!.content.textBytes = 40_000_000;
      return one;
    };
    const [first, second] = [await large(), await large()];
    accepted.add(first);
    accepted.add(second);
    assert.deepEqual([accepted.has(first.key), accepted.has(second.key)], [true, false]);
    await accepted.close();
    assert.equal(await isThere(second.key), true);
  });

  it("uploads that were not begun stay in the inbox at the end", async () => {
    const { accepted } = makeContext();
    const all: AcceptedUpload[] = [];
    for (let no = 0; no < 5; no++) all.push(await upload({ report: reportOf(`end ${no}`) }));
    for (const one of all) accepted.add(one);
    await accepted.close();
    const left = (await Promise.all(all.map(({ key }) => isThere(key)))).filter(Boolean);
    assert.equal(left.length, 3);
    accepted.add(await upload());
    assert.equal(lines.filter((line) => line.includes("archive processed")).length, 2);
  });
});
