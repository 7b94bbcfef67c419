import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { openWorkFolder } from "../../../lib/storage/work_folder.ts";

const PREFIX = "test-analytics-unfinished-";

describe("the folder for unfinished files", () => {
  it("is removed with its files, at the end or by the next process after a kill", async () => {
    const parent = await Deno.makeTempDir({ prefix: "test-analytics-work-" });
    const folders = async () =>
      (await Array.fromAsync(Deno.readDir(parent))).map(({ name }) => join(parent, name));
    try {
      // As after a kill: no process holds the lock.
      const killed = join(parent, `${PREFIX}killed`);
      await Deno.mkdir(join(killed, "0"), { recursive: true });
      await Deno.writeTextFile(join(killed, "lock"), "");
      // Of a process that has just created it, and of other programs.
      const starting = join(parent, `${PREFIX}starting`);
      await Deno.mkdir(starting);
      const other = join(parent, "other");
      await Deno.mkdir(other);
      await Deno.writeTextFile(join(other, "lock"), "");
      const first = await openWorkFolder(parent);
      await Deno.writeTextFile(join(first.path, "body"), "x");
      const second = await openWorkFolder(parent);
      const kept = [starting, other];
      assert.deepEqual((await folders()).sort(), [first.path, second.path, ...kept].sort());
      assert.equal(((await Deno.stat(first.path)).mode ?? 0) & 0o777, 0o700);
      await first.close();
      assert.deepEqual((await folders()).sort(), [second.path, ...kept].sort());
      await second.close();
      assert.deepEqual((await folders()).sort(), kept.sort());
    } finally {
      await Deno.remove(parent, { recursive: true });
    }
  });

  it("is opened by many at once, and none removes that of another", async () => {
    const parent = await Deno.makeTempDir({ prefix: "test-analytics-work-" });
    try {
      const opened = await Promise.all(Array.from({ length: 20 }, () => openWorkFolder(parent)));
      for (const { path } of opened) await Deno.writeTextFile(join(path, "body"), "x");
      for (const { close } of opened) await close();
    } finally {
      await Deno.remove(parent, { recursive: true });
    }
  });

  it("neither follows links nor touches folders of others", async () => {
    const parent = await Deno.makeTempDir({ prefix: "test-analytics-work-" });
    const victim = await Deno.makeTempDir({ prefix: "test-analytics-victim-" });
    try {
      await Deno.mkdir(join(victim, `${PREFIX}photos`));
      await Deno.writeTextFile(join(victim, `${PREFIX}photos`, "lock"), "");
      await Deno.symlink(victim, join(parent, ".unfinished"));
      await assert.rejects(openWorkFolder(join(parent, ".unfinished")), {
        name: "StorageError",
        message: /unfinished" is a link: expected a folder$/,
      });
      await Deno.symlink(join(victim, `${PREFIX}photos`), join(parent, `${PREFIX}link`));
      // Only root can give a folder away.
      const foreign = join(parent, `${PREFIX}foreign`);
      await Deno.mkdir(foreign);
      await Deno.writeTextFile(join(foreign, "lock"), "");
      if (Deno.uid() === 0) await Deno.chown(foreign, 65_534, 65_534);
      const work = await openWorkFolder(parent);
      await work.close();
      assert.deepEqual((await Array.fromAsync(Deno.readDir(victim))).length, 1);
      const left = (await Array.fromAsync(Deno.readDir(parent))).map(({ name }) => name).sort();
      const expected = [".unfinished", `${PREFIX}link`];
      if (Deno.uid() === 0) expected.push(`${PREFIX}foreign`);
      assert.deepEqual(left, expected.sort());
    } finally {
      for (const path of [parent, victim]) await Deno.remove(path, { recursive: true });
    }
  });
});
