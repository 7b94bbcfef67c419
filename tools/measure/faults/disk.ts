/** Fills the disk that the database is on, and makes room again. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { launch } from "../../../tests/e2e/launch.ts";
import { makeOwnServer, type OwnServer } from "../../../tests/e2e/postgres.ts";
import { run } from "../../../tests/e2e/program.ts";
import { copyTemplate } from "../../../tests/database.ts";
import type { FaultOptions } from "./main.ts";
import { makeToken, type RunDatabase, useServer } from "./run_database.ts";
import { addTally, startProber } from "./prober.ts";
import { type Row, seconds, spread, tallyText } from "./row.ts";
import { fullInboxDisk } from "./inbox_disk.ts";
import { fill, makeRoom, onSmallDisk, withTemporaryFolder } from "./small_disk.ts";
import { SystemUnderTest } from "./system_under_test.ts";
import { putArchive } from "./uploads.ts";
import { pause } from "../../../lib/base/delay.ts";

const MEGABYTE = 1024 * 1024;

/** Enough for a new database and its log, and little more. */
const DISK_MEGABYTES = 192;

/** New tests of an upload that needs more room than there is: some 10 MB of tables and log. */
const LARGE_UPLOAD_TESTS = 20_000;

/** What is left of the disk, in turn: less and more than a segment of the log (16 MB). */
const LEFT_MEGABYTES = [2, 8, 14, 20];

const MOST_ROUNDS = 10;

/** Messages of the system, of PostgreSQL and of the program about a full disk. */
const NO_SPACE = /no space|disk full|almost full|could not (?:extend|write)|ENOSPC|os error 28/i;

/** A full disk under each database, and where `upload` and `backup` write. */
export async function diskFaults(options: FaultOptions): Promise<Row[]> {
  if (process.getuid?.() !== 0 || Deno.build.os !== "linux") {
    options.say("disk: left out, expected root on Linux, who can mount a small disk");
    return [];
  }
  const rows: Row[] = [];
  for (const kind of options.databases) {
    await onSmallDisk(DISK_MEGABYTES, async (disk) => {
      const { runDatabase, server } = await placeOnDisk(kind, disk);
      const system = await SystemUnderTest.on(runDatabase, options.random);
      try {
        rows.push(await fullDatabaseDisk(system, { disk, server, ...options }));
        options.say(JSON.stringify(rows.at(-1)));
      } finally {
        await system.remove();
      }
    });
  }
  if (options.databases.includes("embedded")) {
    rows.push(await fullInboxDisk(options));
    options.say(JSON.stringify(rows.at(-1)));
  }
  await onSmallDisk(8, async (disk) => void rows.push(await fullTarget(disk)));
  return rows;
}

async function placeOnDisk(
  kind: RunDatabase["kind"],
  disk: string,
): Promise<{ runDatabase: RunDatabase; server: OwnServer | null }> {
  return await withTemporaryFolder(disk, async () => {
    if (kind === "server") {
      const server = await makeOwnServer({ fsync: "on", max_wal_size: "32MB" });
      return { runDatabase: await useServer(server, () => server.remove()), server };
    }
    const environment = { DATA_DIR: await copyTemplate() };
    const token = await makeToken(environment);
    return {
      runDatabase: { kind, environment, token, remove: () => Promise.resolve() },
      server: null,
    };
  });
}

async function fullDatabaseDisk(
  system: SystemUnderTest,
  { disk, server, tries, say }: FaultOptions & { disk: string; server: OwnServer | null },
): Promise<Row> {
  await system.newRepository(500);
  await system.service();
  const tally = new Map<string, number>();
  const recoveryMs: number[] = [];
  const messages = new Set<string>();
  let gapMs = 0;
  let refused = 0;
  let restarts = 0;
  const rounds = Math.min(tries, MOST_ROUNDS);
  for (let round = 0; round < rounds; round++) {
    const { length } = system.certain;
    const prober = startProber(() => system.address(), {
      target: `/api/repos/${system.repository}/submissions?limit=1`,
      isRight: (body) => JSON.parse(body).count >= length,
    });
    await fill(disk, LEFT_MEGABYTES[round % LEFT_MEGABYTES.length]! * MEGABYTE);
    const upload = system.nextUpload(LARGE_UPLOAD_TESTS);
    const isWatched = round % 3 === 2;
    const args = await system.ingestArgs(upload);
    if (isWatched) await putArchive(upload, system.folder);
    const watch = ["watch", system.folder, "--org", "acme", "--lease", "2s", "--interval", "1s"];
    const watcher = isWatched ? launch(watch, system.runDatabase.environment) : null;
    let isDone = false;
    if (watcher) await pause(5_000);
    else {
      const { code, stderr } = await run(args, system.runDatabase.environment);
      isDone = code === 0;
      if (!isDone) {
        refused++;
        say(`ingest, ${code}: ${stderr.trim()}`);
        assert.equal(code, 1, stderr);
        messages.add(NO_SPACE.test(stderr) ? "no room" : "connection lost");
      }
    }
    await prober.untilRight(5_000).catch(() => say(`no right answer: ${[...prober.seen.tally]}`));
    await makeRoom(disk);
    const roomAt = performance.now();
    if (server && !await answers(server)) {
      restarts++;
      await server.stop("immediate").catch(() => {});
      await server.start();
    }
    await prober.untilRight();
    if (watcher) {
      while (!watcher.isOver() && performance.now() - roomAt < 60_000) {
        await pause(200);
        const list = await run([...watch, "--list"], system.runDatabase.environment);
        if (list.stdout.includes(`${upload.no}.gz\tprocessed\t`)) break;
      }
      const { stdout, stderr } = await watcher.stop();
      if (NO_SPACE.test(stderr)) refused++;
      say(`watch: ${stdout.trim()}; ${stderr.trim()}`);
      assert.match(stdout, /\tprocessed\t/, stderr);
      await Deno.remove(join(system.folder, `${upload.no}.gz`));
    } else if (!isDone) {
      const { there } = await system.check(upload);
      assert.deepEqual(there, [], "it was refused and is there");
      const again = await run(args, system.runDatabase.environment);
      assert.equal(again.code, 0, again.stderr);
    }
    recoveryMs.push(performance.now() - roomAt);
    const seen = await prober.stop();
    assert.deepEqual(seen.wrong, []);
    addTally(tally, seen.tally);
    gapMs = Math.max(gapMs, seen.longestGapMs);
    system.certain.push(upload);
    await system.check();
  }
  return {
    fault: `2, 8, 14 or 20 MB free under the database; ${refused} of ${rounds} uploads met it` +
      (messages.size > 0 ? ` (${[...messages].join(", ")})` : ""),
    database: system.runDatabase.kind,
    tries: rounds,
    seen: `${tallyText(tally)}; longest without an answer ${seconds(gapMs)}`,
    lost: "nothing",
    recovery: `${spread(recoveryMs)} until stored` +
      (restarts > 0 ? `; ${restarts} × PostgreSQL itself had to be started` : ""),
  };
}

/** Whether a server lets clients in, within the time that it needs to recover. */
async function answers({ port }: OwnServer): Promise<boolean> {
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return true;
    } catch {
      await pause(100);
    }
  }
  return false;
}

/** A full disk where `upload` puts its archive, and where `backup` puts its copy. */
async function fullTarget(disk: string): Promise<Row> {
  const data = await copyTemplate();
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-faults-" });
  try {
    const report = join(folder, "a.xml");
    const cases = Array.from({ length: 50_000 }, () => `<testcase name="${crypto.randomUUID()}"/>`);
    await Deno.writeTextFile(report, `<testsuite name="a">${cases.join("")}</testsuite>`);
    await fill(disk, MEGABYTE);
    const facts = "--repo acme/shop --commit c0ffee0 --tree c0ffee0 --to".split(" ");
    const upload = await run(["upload", ...facts, disk, report], {});
    assert.equal(upload.code, 1, upload.stderr);
    assert.match(upload.stderr, NO_SPACE);
    const backup = await run(["backup", join(disk, "copy")], { DATA_DIR: data });
    assert.equal(backup.code, 1, backup.stderr);
    assert.match(backup.stderr, NO_SPACE);
    const left = (await readdir(disk, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile()).map(({ name }) => name);
    assert.deepEqual(left.sort(), ["ballast"]);
    await makeRoom(disk);
    const again = await run(["upload", ...facts, disk, report], {});
    assert.equal(again.code, 0, again.stderr);
    return {
      fault: "full disk where `upload` or `backup` writes",
      database: "embedded",
      tries: 2,
      seen: "exit code 1, the reason, and nothing left behind",
      lost: "nothing",
      recovery: "none needed",
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
    await Deno.remove(data, { recursive: true });
  }
}
