import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { DurableFolder, FolderStorage } from "../../../lib/storage/folder.ts";

const NOW = 1_790_000_000;

describe("a folder of archives", () => {
  it("fails with a StorageError when a file cannot be read", async () => {
    const folder = await Deno.makeTempDir();
    try {
      // EISDIR stands for errors of disks and rights: root may read every file.
      await Deno.mkdir(`${folder}/a.gz`);
      for (const key of ["a.gz", "gone.gz"]) {
        const archive = { key, version: "", uploadedAt: NOW, isComplete: true };
        const reading = Array.fromAsync(new FolderStorage(folder).open(archive).open());
        await assert.rejects(reading, {
          name: "StorageError",
          message: new RegExp(`^${key}: E(ISDIR|NOENT)`),
        });
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });

  it("reads no further when stopped", async () => {
    const folder = await Deno.makeTempDir();
    try {
      await Deno.writeFile(`${folder}/a.gz`, new Uint8Array(1_000_000));
      const stop = new AbortController();
      const archive = { key: "a.gz", version: "", uploadedAt: NOW, isComplete: true };
      const pieces = new FolderStorage(folder, { stop: stop.signal }).open(archive).open();
      await assert.rejects(async () => {
        for await (const _ of pieces) stop.abort();
      }, { name: "StorageError", message: "a.gz: stopped" });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
});

describe("moving an archive into a folder", () => {
  const modeOf = async (path: string) => ((await Deno.stat(path)).mode ?? 0) & 0o777;

  it("gives a private one to its owner alone, and leaves the rights of any other", async () => {
    const folder = await Deno.makeTempDir();
    try {
      for (const isPrivate of [true, false]) {
        const name = `acme ${isPrivate}/shop/a.gz`;
        await Deno.writeTextFile(`${folder}/unfinished`, "a");
        await Deno.chmod(`${folder}/unfinished`, 0o664);
        await new DurableFolder(folder, isPrivate).move(`${folder}/unfinished`, name);
        assert.equal(await Deno.readTextFile(`${folder}/${name}`), "a");
        assert.equal(await modeOf(`${folder}/${name}`), isPrivate ? 0o600 : 0o664);
        if (!isPrivate) continue;
        assert.equal(await modeOf(`${folder}/acme true`), 0o700);
        assert.equal(await modeOf(`${folder}/acme true/shop`), 0o700);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });

  it("flushes the names of new folders once, and that of each archive", async () => {
    const folder = await Deno.makeTempDir();
    const { open } = Deno;
    const flushed: string[] = [];
    try {
      Deno.open = (path, ...options) => {
        flushed.push(String(path).slice(folder.length));
        return open(path, ...options);
      };
      const moving = new DurableFolder(folder, true);
      const move = async (name: string) => {
        await Deno.writeTextFile(`${folder}/new`, "a");
        flushed.length = 0;
        await moving.move(`${folder}/new`, name);
        return [...flushed];
      };
      assert.deepEqual(await move("acme/shop/1.gz"), ["/new", "/acme/shop", "/acme", ""]);
      assert.deepEqual(await move("acme/shop/2.gz"), ["/new", "/acme/shop"]);
      assert.deepEqual(await move("acme/web/1.gz"), ["/new", "/acme/web", "/acme"]);
      assert.deepEqual(await move("1.gz"), ["/new", ""]);
      // Removed meanwhile: it is created again.
      await Deno.remove(`${folder}/acme`, { recursive: true });
      assert.deepEqual(await move("acme/shop/3.gz"), ["/new", "/new", "/acme/shop", "/acme", ""]);
    } finally {
      Deno.open = open;
      await Deno.remove(folder, { recursive: true });
    }
  });

  it("does not follow links below the folder", async () => {
    const folder = await Deno.makeTempDir();
    const elsewhere = await Deno.makeTempDir();
    try {
      await Deno.symlink(elsewhere, `${folder}/acme`);
      await Deno.writeTextFile(`${folder}/unfinished`, "a");
      const moving = new DurableFolder(folder, true).move(`${folder}/unfinished`, "acme/shop/a.gz");
      await assert.rejects(moving, {
        name: "StorageError",
        message: /acme" is a link or a file: expected a folder$/,
      });
      assert.deepEqual([...Deno.readDirSync(elsewhere)], []);
    } finally {
      for (const path of [folder, elsewhere]) await Deno.remove(path, { recursive: true });
    }
  });
});
