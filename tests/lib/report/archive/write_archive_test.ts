import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import {
  type ArchiveFacts,
  archivePath,
  inspectArchive,
  readArchived,
  writeArchive,
} from "../../../../lib/report/archive/mod.ts";
import { reportOf, sourceOf } from "./make_archive.ts";

const FACTS: ArchiveFacts = {
  repository: { owner: "acme/web", name: "shop" },
  commitOid: "0123e4",
  treeOid: "abc",
  environment: "Linux-X64",
  job: "test",
  workflow: "CI",
  shard: "2/4",
  attempt: "2",
  runner: "agent-7",
  exitCode: 1,
  branch: "a: branch #1",
  buildUrl: "https://ci.example/1",
  repositoryUrl: "https://github.com/acme/shop",
  provider: "gitlab",
  tags: ["a", "b"],
  recordedAt: 1_780_000_000,
  checkoutFolder: "/builds/acme/shop",
};

function file(path: string, text: string, size = text.length) {
  return { path, size, open: () => new Blob([text]).stream() };
}

async function written(files = [file("test-results/a.xml", reportOf("a"))], facts = FACTS) {
  const stream = ReadableStream.from(writeArchive({ facts, codeowners: "* @acme\n", files }));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

describe("an archive that is written", () => {
  it("round-trips", async () => {
    const source = sourceOf(await written());
    const contents = await inspectArchive(source);
    assert.deepEqual(contents.metadata, {
      repository: "acme/web/shop",
      commit: "0123e4",
      tree: "abc",
      branch: "a: branch #1",
      environment: "Linux-X64",
      job: "test",
      workflow: "CI",
      shard: "2/4",
      attempt: "2",
      runner: "agent-7",
      exitCode: "1",
      buildUrl: "https://ci.example/1",
      repositoryUrl: "https://github.com/acme/shop",
      tags: ["a", "b"],
      timestamp: "2026-05-28T20:26:40Z",
      checkoutFolder: "/builds/acme/shop",
      organization: "",
      provider: "gitlab",
    });
    assert.equal(contents.codeowners, "* @acme\n");
    for await (const entry of readArchived(source, contents.reports, contents)) {
      assert.equal(entry.ordinal, 2);
      assert.equal(await new Response(ReadableStream.from(entry.bytes)).text(), reportOf("a"));
    }
  });

  it("has no tree when it is not known", async () => {
    const contents = await inspectArchive(sourceOf(await written([], { ...FACTS, treeOid: null })));
    assert.equal(contents.metadata?.tree, "");
  });

  it("is the same when the facts and files are", async () => {
    assert.deepEqual(await written(), await written());
  });

  it("can be listed by tar", async () => {
    const path = await Deno.makeTempFile();
    try {
      await Deno.writeFile(path, await written());
      const { stdout } = await new Deno.Command("tar", { args: ["-tzf", path] }).output();
      assert.deepEqual(new TextDecoder().decode(stdout).split("\n"), [
        "buildpulse.yml",
        "CODEOWNERS",
        "test-results/a.xml",
        "",
      ]);
    } finally {
      await Deno.remove(path);
    }
  });

  it("fails when a file has another size than it had", async () => {
    await assert.rejects(written([file("test-results/a.xml", "longer", 3)]), /found 6 bytes/);
    await assert.rejects(written([file("test-results/a.xml", "short", 9)]), /expected 9/);
  });

  it("has paths that lead nowhere else", () => {
    assert.equal(archivePath("test-results", "/home/ci/a.xml"), "test-results/home/ci/a.xml");
    assert.equal(archivePath("test-results", "../../a.xml"), "test-results/a.xml");
    assert.equal(archivePath("test-results", "./x/./a.xml"), "test-results/x/a.xml");
    assert.equal(archivePath("coverage", "C:\\ci\\lcov.info"), "coverage/ci/lcov.info");
  });
});
