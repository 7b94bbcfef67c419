import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { FolderStorage } from "../../../lib/storage/folder.ts";

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
