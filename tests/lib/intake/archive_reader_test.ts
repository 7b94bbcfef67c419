import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { ArchiveReader, workerFailure } from "../../../lib/intake/archive_reader.ts";
import { StorageError } from "../../../lib/storage/storage.ts";
import type { ArchiveSource } from "../../../lib/report/archive/mod.ts";
import { archiveOf, reportOf } from "../report/archive/make_archive.ts";
import { pause } from "../../../lib/base/delay.ts";

const METADATA = ":commit: 4f2a9c1\n:repo_name_with_owner: acme/shop\n";
const LISTENER = { note: () => {} };

async function sourceOf(report: string) {
  const bytes = await archiveOf([
    ["buildpulse.yml", METADATA],
    ["test_results/a.xml", report],
  ]);
  return {
    name: "a.gz",
    async *open() {
      yield bytes;
    },
  };
}

/** A report that takes seconds to read and has a few kB in its archive. */
function slowReport(): string {
  return `<testsuite>${'<testcase name="a" classname="b"/>'.repeat(1_500_000)}</testsuite>`;
}

async function read(reader: ArchiveReader, source: ArchiveSource) {
  return await reader.read(source, {
    given: {},
    now: 2_000,
    recordedAt: 1_000,
    listener: LISTENER,
  });
}

describe("reading archives in a worker thread", () => {
  it("returns the facts of the archive and the results with their test identities", async () => {
    const reader = new ArchiveReader();
    const { facts, files } = await read(
      reader,
      await sourceOf(`<testsuite><testcase name="ä"/><testcase name="b"/></testsuite>`),
    );
    reader.close();
    assert.equal(facts.commitOid, "4f2a9c1");
    const { content } = files.results!;
    assert.equal(content.resultCount, 2);
    const names = Array.from(content.testHashes, (_, index) => content.identityAt(index).name);
    assert.deepEqual(names.sort(), ["b", "ä"]);
  });

  it("starts no thread once it was stopped", async () => {
    const reader = new ArchiveReader({ stop: AbortSignal.abort() });
    const source = await sourceOf("<testsuite/>");
    const reading = assert.rejects(read(reader, source), { name: "StorageError" });
    // A thread that starts is waited for in later turns of the event loop.
    const later = pause(0).then(() => "later");
    assert.notEqual(await Promise.race([reading, later]), "later");
    reader.close();
  });

  it("passes on the errors of reports with their kind", async () => {
    const reader = new ArchiveReader();
    await assert.rejects(read(reader, await sourceOf("<testsuite>")), {
      name: "ReportError",
      kind: "incomplete",
      message: /^a\.gz: test_results\/a\.xml:1:\d+: /,
    });
    reader.close();
  });

  it("fails an archive at its deadline without blocking this thread, and reads the next", async () => {
    const reader = new ArchiveReader({ deadline: { baseMs: 1_000, msPerByte: 0 } });
    const slow = await sourceOf(slowReport());
    let ticks = 0;
    const timer = setInterval(() => ticks++, 10);
    await assert.rejects(read(reader, slow), {
      name: "ReportError",
      kind: "limit",
      message: /^a\.gz: not read within 1 s$/,
    });
    clearInterval(timer);
    assert.ok(ticks >= 10, `${ticks} ticks`);
    const { files } = await read(reader, await sourceOf(reportOf("a")));
    assert.equal(files.results?.content.resultCount, 1);
    reader.close();
  });

  it("blames the upload only if the worker thread runs out of memory", () => {
    const outOfMemory = Object.assign(new Error("heap"), { code: "ERR_WORKER_OUT_OF_MEMORY" });
    assert.throws(() => {
      throw workerFailure(outOfMemory, "a.gz");
    }, {
      kind: "limit",
      message: "a.gz: takes more than 1024 MB of memory to read: split it",
    });
    const other = new Error("crashed");
    assert.equal(workerFailure(other, "a.gz"), other);
  });

  it("does not count the time that the storage takes", async () => {
    const reader = new ArchiveReader({ deadline: { baseMs: 2_000, msPerByte: 0 } });
    const source = await sourceOf(reportOf("a"));
    const slowStorage = {
      ...source,
      async *open() {
        await pause(2_500);
        yield* source.open();
      },
    };
    assert.ok((await read(reader, slowStorage)).files.results);
    reader.close();
  });

  it("does not mix up the bytes of a broken archive with those of the next", async () => {
    const reader = new ArchiveReader();
    const broken = {
      name: "broken.gz",
      async *open() {
        yield new Uint8Array(1_000).fill(1);
        await pause(200);
        yield new Uint8Array(1_000).fill(2);
      },
    };
    const source = await sourceOf(reportOf("a"));
    const slow = {
      ...source,
      async *open() {
        await pause(400);
        yield* source.open();
      },
    };
    await assert.rejects(read(reader, broken), { name: "ReportError" });
    assert.ok((await read(reader, slow)).files.results);
    reader.close();
  });

  it("stops immediately when aborted", async () => {
    const stop = new AbortController();
    const reader = new ArchiveReader({ stop: stop.signal });
    const slow = await sourceOf(slowReport());
    setTimeout(() => stop.abort(), 500);
    await assert.rejects(read(reader, slow), StorageError);
    reader.close();
  });

  it("passes on a failure of the storage as it is", async () => {
    const reader = new ArchiveReader();
    const failure = new StorageError("the network is down");
    const source = {
      name: "a.gz",
      // deno-lint-ignore require-yield -- it fails before it has anything
      async *open(): AsyncGenerator<Uint8Array> {
        throw failure;
      },
    };
    await assert.rejects(read(reader, source), (error) => error === failure);
    reader.close();
  });
});
