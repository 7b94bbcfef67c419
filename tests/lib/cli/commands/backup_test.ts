import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Database, openDatabase } from "../../../../db/connection/connect.ts";
import { listOrganizations } from "../../../../db/admin/organizations.ts";
import { pause } from "../../../../lib/base/delay.ts";
import { copyTemplate } from "../../../database.ts";
import { commandLine, withoutDatabase } from "../run_in_process.ts";
import { waitUntil } from "../../../wait_until.ts";

describe("a backup of the embedded database", () => {
  let dataDir = "";
  let folder = "";
  let database: Database;

  before(async () => {
    dataDir = await copyTemplate();
    folder = await Deno.makeTempDir({ prefix: "test-analytics-backup-" });
    database = await openDatabase({ dataDir });
  });
  after(async () => {
    await database.close();
    for (const path of [dataDir, folder]) await Deno.remove(path, { recursive: true });
  });

  const cli = commandLine(() => database);
  const backUp = (name: string) => cli(["backup", join(folder, name), "--data-dir", dataDir]);

  async function namesIn(copy: string): Promise<string[]> {
    const opened = await openDatabase({ dataDir: copy });
    try {
      return (await listOrganizations(opened.sql)).map(({ name }) => name);
    } finally {
      await opened.close();
    }
  }

  it("made while others write holds all that was acknowledged before, and is whole", async () => {
    const acknowledged: string[] = [];
    let writing = true;
    const writer = (async () => {
      for (let count = 0; writing; count++) {
        const { code } = await cli(["org", "create", `org-${count}`]);
        assert.equal(code, 0);
        acknowledged.push(`org-${count}`);
        // The backup runs in this process too.
        await pause(5);
      }
    })();
    try {
      for (const name of ["first", "second"]) {
        await waitUntil("20 are acknowledged", () => acknowledged.length >= 20);
        const before = [...acknowledged];
        const { code, stdout, stderr } = await backUp(name);
        assert.deepEqual([code, stdout, stderr], [0, `${join(folder, name)}\n`, ""]);
        const kept = await namesIn(join(folder, name));
        assert.deepEqual(before.filter((name) => !kept.includes(name)), []);
        // Nothing of later commands: organizations are there without a gap.
        assert.equal(kept.length, new Set(kept).size);
        for (let count = 0; count < kept.length; count++) assert.ok(kept.includes(`org-${count}`));
      }
    } finally {
      writing = false;
      await writer;
    }
  });

  it("is readable only by its owner, and leaves nothing else behind", async () => {
    assert.equal((await backUp("private")).code, 0);
    for (const path of ["postgres", "postgres/data"]) {
      const { mode } = await Deno.stat(join(folder, "private", path));
      assert.equal((mode ?? 0) & 0o777, 0o700, path);
    }
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
    assert.deepEqual(names.filter((name) => name.includes("unfinished")), []);
  });

  it("has the archives that wait in the inbox of up, with their time, and no links", async () => {
    const inbox = join(dataDir, "inbox");
    await Deno.mkdir(join(inbox, "acme", "shop"), { recursive: true });
    await Deno.mkdir(join(inbox, ".unfinished"));
    const archive = join(inbox, "acme", "shop", "1.gz");
    const uploadedAt = new Date("2026-01-02T03:04:05Z");
    for (const path of [archive, join(inbox, ".unfinished", "2.gz"), join(inbox, "notes.txt")]) {
      await Deno.writeTextFile(path, path, { mode: 0o644 });
    }
    await Deno.utime(archive, uploadedAt, uploadedAt);
    await Deno.symlink(archive, join(inbox, "link.gz"));
    await Deno.symlink(join(inbox, "acme"), join(inbox, "folder"));
    try {
      const { code, stdout } = await cli([
        "backup",
        join(folder, "waiting"),
        "--data-dir",
        dataDir,
        "--json",
      ]);
      assert.equal(code, 0);
      assert.equal(JSON.parse(stdout).archives, 1);
      const copied = join(folder, "waiting", "inbox");
      assert.deepEqual((await readdir(copied, { recursive: true })).sort(), [
        "acme",
        "acme/shop",
        "acme/shop/1.gz",
      ]);
      const copy = join(copied, "acme", "shop", "1.gz");
      assert.equal(await Deno.readTextFile(copy), archive);
      const { mode, mtime } = await Deno.stat(copy);
      assert.deepEqual([(mode ?? 0) & 0o777, mtime], [0o600, uploadedAt]);
      assert.equal(((await Deno.stat(join(copied, "acme"))).mode ?? 0) & 0o777, 0o700);
    } finally {
      await Deno.remove(inbox, { recursive: true });
    }
  });

  it("does not lie inside of what is copied", async () => {
    for (const inside of ["inbox/copy", "postgres/data/copy"]) {
      const { code, stderr } = await cli([
        "backup",
        join(dataDir, inside),
        "--data-dir",
        dataDir,
      ]);
      assert.equal(code, 1);
      assert.match(stderr, /is inside of ".*", which is copied: expected a folder elsewhere/);
    }
  });

  it("does not lie inside of what is copied by a link either", async () => {
    const link = join(folder, "link");
    await Deno.symlink(join(dataDir, "postgres"), link);
    for (const target of [join(link, "copy"), join(link, "new", "copy")]) {
      const { code, stderr } = await cli(["backup", target, "--data-dir", dataDir]);
      assert.equal(code, 1);
      assert.match(stderr, /is inside of ".*", which is copied: expected a folder elsewhere/);
    }
    await Deno.remove(link);
  });

  it("does not overwrite existing files", async () => {
    await Deno.mkdir(join(folder, "taken"));
    const { code, stderr } = await backUp("taken");
    assert.equal(code, 1);
    assert.match(stderr, /taken" exists already: expected a new folder/);
  });

  it("leaves nothing where it fails", async () => {
    await Deno.writeTextFile(join(folder, "taken", "file"), "");
    const { code } = await backUp("taken/file/copy");
    assert.equal(code, 1);
    const left = [...Deno.readDirSync(join(folder, "taken"))].map(({ name }) => name);
    assert.deepEqual(left, ["file"]);
  });
});

describe("a database that cannot be backed up", () => {
  it("is a PostgreSQL server", async () => {
    const { code, stderr } = await withoutDatabase(
      "backup copy --database-url postgres://someone@127.0.0.1:1/nothing",
    );
    assert.equal(code, 1);
    assert.match(
      stderr,
      /for a PostgreSQL server copy "\S+inbox" if `up` uses it, then use pg_dump/,
    );
  });

  it("is a folder without a database", async () => {
    const { code, stderr } = await withoutDatabase("backup copy --data-dir /nowhere");
    assert.equal(code, 1);
    assert.match(stderr, /no embedded database in "\/nowhere"/);
  });
});
