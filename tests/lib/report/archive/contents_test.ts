import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { inspectArchive, readArchived } from "../../../../lib/report/archive/mod.ts";
import { ARCHIVE_LIMITS } from "../../../../lib/report/limits.ts";
import { archiveOf, reportOf, sourceOf, tarOf } from "./make_archive.ts";

async function pathsOf(bytes: Uint8Array) {
  const { reports, coverage } = await inspectArchive(sourceOf(bytes));
  return { reports: reports.map((file) => file.path), coverage: coverage.map((file) => file.path) };
}

async function textsOf(bytes: Uint8Array): Promise<string[]> {
  const source = sourceOf(bytes);
  const { reports, digest } = await inspectArchive(source);
  const texts: string[] = [];
  for await (const entry of readArchived(source, reports, { digest })) {
    texts.push(await new Response(ReadableStream.from(entry.bytes)).text());
  }
  return texts;
}

function refused(bytes: Uint8Array, message: RegExp, limits = {}) {
  return assert.rejects(
    inspectArchive(sourceOf(bytes), { limits: { ...ARCHIVE_LIMITS, ...limits } }),
    {
      message,
    },
  );
}

describe("the contents of an archive", () => {
  it("are reports, coverage, CODEOWNERS and metadata, in either form", async () => {
    const bytes = await archiveOf([
      ["test_results/a.xml", reportOf("a")],
      ["coverage/lcov.info", "TN:\n"],
      ["CODEOWNERS", "* @acme/web\n"],
      ["buildpulse.log", "said something"],
      ["buildpulse.yml", ":commit: abc\n"],
      ["test-results/b.xml", reportOf("b")],
    ]);
    const contents = await inspectArchive(sourceOf(bytes));
    assert.deepEqual(contents.reports, [
      { path: "test-results/b.xml", ordinal: 5 },
      { path: "test_results/a.xml", ordinal: 0 },
    ]);
    assert.deepEqual(contents.coverage, [{ path: "coverage/lcov.info", ordinal: 1 }]);
    assert.equal(contents.codeowners, "* @acme/web\n");
    assert.equal(contents.metadata?.commit, "abc");
  });

  it("come in natural order of their paths, whatever the order in the archive", async () => {
    const names = ["10", "2", "b/1", "1", "9", "a"];
    const bytes = await archiveOf(
      names.map((name) => [`test_results/part_${name}.xml`, reportOf(name)]),
    );
    assert.deepEqual(
      await textsOf(bytes),
      ["1", "2", "9", "10", "a", "b/1"].map((name) => reportOf(name)),
    );
  });

  it("come in that order when they are large", async () => {
    const report = (name: string) => reportOf(name) + `<!--${"x".repeat(7_000_000)}-->`;
    const names = ["3", "8", "7", "2", "6", "1", "5", "4"];
    const bytes = await archiveOf(names.map((name) => [`test_results/${name}.xml`, report(name)]));
    const source = sourceOf(bytes, 100_000);
    const { reports, digest } = await inspectArchive(source);
    const read: string[] = [];
    for await (const entry of readArchived(source, reports, { digest })) {
      const text = await new Response(ReadableStream.from(entry.bytes)).text();
      assert.equal(text.length, entry.size);
      read.push(entry.path.slice("test_results/".length, -".xml".length));
    }
    assert.deepEqual(read, names.toSorted());
  });

  it("have no metadata when there is none", async () => {
    assert.equal((await inspectArchive(sourceOf(await archiveOf([])))).metadata, null);
  });

  it("keep the double slash of an absolute path, and drop ./ segments", async () => {
    const bytes = await archiveOf([
      ["./test_results//home/ci/a.xml", reportOf("a")],
      ["test_results/./b.xml", reportOf("b")],
    ]);
    assert.deepEqual((await pathsOf(bytes)).reports, [
      "test_results//home/ci/a.xml",
      "test_results/b.xml",
    ]);
  });

  it("count the last of a path that occurs twice, but each report", async () => {
    const bytes = await archiveOf([
      ["test_results/a.xml", reportOf("old")],
      ["test_results/b.xml", reportOf("b")],
      ["test_results/a.xml", reportOf("new")],
      ["buildpulse.yml", ":commit: old\n"],
      ["buildpulse.yml", ":commit: new\n"],
    ]);
    assert.deepEqual(await textsOf(bytes), [reportOf("old"), reportOf("new"), reportOf("b")]);
    assert.equal((await inspectArchive(sourceOf(bytes))).metadata?.commit, "new");
  });

  it("skip links, folders, and files that are not reports", async () => {
    const notes: string[] = [];
    const bytes = await archiveOf([
      ["test_results/", "", { type: "directory" }],
      ["test_results/evil.xml", "", { type: "symlink", linkname: "/etc/passwd" }],
      ["test_results/hard.xml", "", { type: "link", linkname: "../../etc/passwd" }],
      ["test_results/log.txt", "not a report"],
      ["test_results/junit.report", `<?xml version="1.0"?>\n${reportOf("a")}`],
      ["elsewhere/a.xml", reportOf("a")],
    ]);
    const contents = await inspectArchive(sourceOf(bytes), { onNote: (note) => notes.push(note) });
    assert.deepEqual(contents.reports.map(({ path }) => path), ["test_results/junit.report"]);
    assert.deepEqual(notes, [
      "build.gz: test_results/evil.xml: is a link or device: skipped",
      "build.gz: test_results/hard.xml: is a link or device: skipped",
      "build.gz: test_results/log.txt: is not a report: skipped",
    ]);
  });

  it("keep files of the folders whatever their paths, and note others that lead out", async () => {
    const notes: string[] = [];
    const bytes = await archiveOf([
      ["test_results/../../../etc/cron.d/a.xml", reportOf("a")],
      ["test-results/./a/../b.xml", reportOf("a")],
      ["test-results/a/b.xml", reportOf("b")],
      ["coverage/../lcov.info", "end_of_record"],
      ["/etc/passwd", "root"],
      ["../CODEOWNERS", "* @evil"],
      ['x/../"a".xml', reportOf("a")],
    ]);
    const contents = await inspectArchive(sourceOf(bytes), { onNote: (note) => notes.push(note) });
    assert.deepEqual(contents.reports.map(({ path }) => path), [
      "test-results/a/b.xml",
      "test-results/a/b.xml",
      "test_results/etc/cron.d/a.xml",
    ]);
    assert.deepEqual(contents.coverage.map(({ path }) => path), ["coverage/lcov.info"]);
    assert.equal(contents.codeowners, null);
    assert.deepEqual(notes, [
      'build.gz: "/etc/passwd": leads out of the archive: skipped',
      'build.gz: "../CODEOWNERS": leads out of the archive: skipped',
      String.raw`build.gz: "x/../\"a\".xml": leads out of the archive: skipped`,
    ]);
  });

  it("may have long paths and names that are not ASCII", async () => {
    const long = `test_results/${"ordner/".repeat(60)}prüfung.xml`;
    assert.deepEqual((await pathsOf(await archiveOf([[long, reportOf("a")]]))).reports, [long]);
  });

  it("are read at all chunk boundaries", async () => {
    const bytes = await archiveOf([["test_results/a.xml", reportOf("a")], [
      "CODEOWNERS",
      "* @acme\n",
    ]]);
    for (const chunkBytes of [1, 7, 100_000]) {
      const { codeowners, reports } = await inspectArchive(sourceOf(bytes, chunkBytes));
      assert.equal(codeowners, "* @acme\n");
      assert.equal(reports.length, 1);
    }
  });

  it("are read while others are skipped, whatever their sizes", async () => {
    // More than a decoder holds at once, and less.
    for (const sizes of [[10, 300_000], [300_000, 10], [2_000_000, 2_000_000], [600, 600]]) {
      const texts = sizes.map((size) => randomBytes(size / 2).toString("hex"));
      const bytes = await archiveOf([
        ["buildpulse.yml", ":commit: abc\n"],
        ["coverage/first", texts[0]!],
        ["test_results/log.txt", texts[0]!],
        ["coverage/last", texts[1]!],
        ["elsewhere", texts[1]!],
      ]);
      const source = sourceOf(bytes, 60_000);
      const { coverage, digest } = await inspectArchive(source);
      for (const wanted of [coverage, coverage.slice(1)]) {
        const read: string[] = [];
        for await (const { path, bytes } of readArchived(source, wanted, { digest })) {
          read.push(path);
          const text = await new Response(ReadableStream.from(bytes)).text();
          assert.equal(text, texts[path === "coverage/first" ? 0 : 1]);
        }
        assert.deepEqual(read, wanted.map(({ path }) => path));
      }
      // A reader may stop early.
      for await (const { bytes } of readArchived(source, coverage, { digest })) {
        for await (const _ of bytes) break;
      }
    }
  });

  it("may come in several gzip members", async () => {
    const tar = await tarOf([["test_results/a.xml", reportOf("a")]]);
    const bytes = Buffer.concat([gzipSync(tar.subarray(0, 700)), gzipSync(tar.subarray(700))]);
    assert.equal((await pathsOf(bytes)).reports.length, 1);
  });
});

describe("a broken archive", () => {
  it("is refused when it is cut off anywhere", async () => {
    const bytes = await archiveOf([["test_results/a.xml", randomBytes(3_000).toString("hex")]]);
    for (let length = 0; length < bytes.length; length += 97) {
      await refused(bytes.subarray(0, length), /^build\.gz: found gzip data that is damaged/);
    }
  });

  it("is refused when its tar ends early", async () => {
    const tar = await tarOf([["test_results/a.xml", "x".repeat(2_000)]]);
    for (const length of [0, 100, 512, 700, 2_600, 3_000]) {
      await refused(
        gzipSync(tar.subarray(0, length)),
        /^build\.gz: found tar data that is damaged or cut off \(.+\), expected a complete gzip'd tar/,
      );
    }
  });

  it("is refused when a header was changed, and when it is not an archive at all", async () => {
    const tar = await tarOf([["test_results/a.xml", reportOf("a")]]);
    tar[3]! ^= 1;
    await refused(gzipSync(tar), /checksum/);
    await refused(new TextEncoder().encode("<html>Sign in</html>"), /gzip data that is damaged/);
    await refused(gzipSync("<html>Sign in</html>".repeat(200)), /a gzip.d file that is not a tar/);
  });

  it("is refused for control characters in a path", async () => {
    await refused(
      await archiveOf([["test_results/\x1b[31m.xml", ""]]),
      /^build\.gz: found the path "test_results\/\\u001b\[31m\.xml", expected no control/,
    );
  });

  it("passes an error of its source on as it is", async () => {
    const error = new Error("connection reset");
    const source = {
      name: "build.gz",
      async *open(): AsyncGenerator<Uint8Array> {
        yield gzipSync("x").subarray(0, 10);
        throw error;
      },
    };
    await assert.rejects(inspectArchive(source), (thrown) => thrown === error);
  });

  it("is refused when it changes between the readings", async () => {
    const first = await archiveOf([["test_results/a.xml", reportOf("a")]]);
    const second = await archiveOf([["test_results/a.xml", reportOf("b")]]);
    const { reports, digest } = await inspectArchive(sourceOf(first));
    await assert.rejects(async () => {
      for await (const _ of readArchived(sourceOf(second), reports, { digest }));
    }, { message: /^build\.gz: changed while it was read/ });
  });
});

describe("the limits of an archive", () => {
  it("refuse too many bytes, stored or decompressed", async () => {
    const bytes = await archiveOf([["coverage/a", randomBytes(20_000).toString("hex")]]);
    await refused(bytes, /found more than 5000 compressed bytes, expected fewer/, {
      compressedBytes: 5_000,
    });
    await refused(bytes, /found more than 30000 decompressed bytes/, { decompressedBytes: 30_000 });
  });

  it("refuse a decompression bomb before it expands", async () => {
    const limits = { ...ARCHIVE_LIMITS, ratioFreeBytes: 4 * 1024 * 1024 };
    const zeros = Buffer.alloc(16 * 1024 * 1024);
    const tar = await tarOf([]);
    await refused(
      gzipSync(Buffer.concat([zeros, tar])),
      /tar data that is damaged|bytes decompressed from/,
      limits,
    );
    const header = (await tarOf([["coverage/a", ""]])).subarray(0, 512);
    header.set(new TextEncoder().encode(`${zeros.length.toString(8).padStart(11, "0")}\0`), 124);
    header.fill(32, 148, 156);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.set(new TextEncoder().encode(sum.toString(8).padStart(6, "0") + "\0 "), 148);
    const bomb = inspectArchive(sourceOf(gzipSync(Buffer.concat([header, zeros]))), { limits });
    const { message } = await bomb.then(() => assert.fail("accepted"), (error: Error) => error);
    const [, decompressed] =
      /(\d+) bytes decompressed from \d+, expected at most 200 times as many/.exec(message) ?? [];
    assert.ok(Number(decompressed) < zeros.length / 2, message);
  });

  it("refuse too many entries, a long path, a large file, large metadata", async () => {
    const bytes = await archiveOf([["a", ""], ["b", ""], ["buildpulse.yml", "x".repeat(5_000)]]);
    await refused(bytes, /found 3 entries, expected at most 2/, { entryCount: 2 });
    await refused(bytes, /a path of 14 characters, expected at most 5/, { pathCharacters: 5 });
    await refused(bytes, /"buildpulse\.yml" with 5000 bytes, expected at most 9/, {
      entryBytes: 9,
    });
    await refused(bytes, /buildpulse\.yml: found 5000 bytes/, { metadataBytes: 100 });
  });
});
