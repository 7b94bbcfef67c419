import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { openWorkFolder } from "../../../lib/storage/work_folder.ts";

describe("the folder for unfinished files", () => {
  it("is removed with its files, at the end or by the next process after a kill", async () => {
    const parent = await Deno.makeTempDir({ prefix: "test-analytics-work-" });
    const folders = async () => {
      const found = await Array.fromAsync(Deno.readDir(parent));
      return found.filter(({ isDirectory }) => isDirectory).map(({ name }) => join(parent, name));
    };
    try {
      // As after a kill: no process holds the lock, or there is none yet.
      await Deno.mkdir(join(parent, "killed", "0"), { recursive: true });
      await Deno.writeTextFile(join(parent, "killed", "lock"), "");
      await Deno.mkdir(join(parent, "killed at once"));
      const first = await openWorkFolder(parent);
      await Deno.writeTextFile(join(first.path, "body"), "x");
      const second = await openWorkFolder(parent);
      assert.deepEqual((await folders()).sort(), [first.path, second.path].sort());
      await first.close();
      assert.deepEqual(await folders(), [second.path]);
      await second.close();
      assert.deepEqual(await folders(), []);
    } finally {
      await Deno.remove(parent, { recursive: true });
    }
  });
});
