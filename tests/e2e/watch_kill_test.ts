import assert from "node:assert/strict";
import { describe } from "@std/testing/bdd";
import { gzipSync } from "node:zlib";
import { join } from "node:path";
import { packTar } from "modern-tar";
import { openDatabase } from "../../db/connection/connect.ts";
import { IS_PROOF, itOnKilledDatabase, killCount } from "./kills.ts";
import { command, run } from "./program.ts";
import { prepare } from "./prepare.ts";
import { pause } from "../../lib/base/delay.ts";

/** How often a watcher is killed. */
const KILLS = killCount({ inGate: 1 });
const WATCHERS = 2;
/** Watchers that share a queue, and the number of archives in it. */
const SHARERS = 3;
/** Archives that each processes at a time, each in a thread that takes a while to start. */
const WORKERS = 2;
/** A queue, and how many attempts the kill of one watcher may interrupt. */
const QUEUES = {
  server: { queue: 12, interruptedAtMost: WORKERS },
  // The embedded database ends with the process that opened it, for the others too.
  embedded: { queue: 12, interruptedAtMost: SHARERS * WORKERS },
};
const TESTS = 1_000;
const SHA = "0123456789abcdef0123456789abcdef01234567";

/** An archive of results, of which one failed and passed: a disruption each. */
async function archive(no: number): Promise<Uint8Array> {
  const cases = Array.from(
    { length: TESTS },
    (_, i) => `<testcase classname="c" name="test ${i}" time="0.00${no % 10}"/>`,
  );
  const report = `<testsuite name="unit">${cases.join("")}<testcase classname="c" name="flaky">` +
    `<flakyFailure message="no ${no}"/></testcase></testsuite>`;
  const files = {
    "buildpulse.yml":
      `:commit: ${SHA}\n:repo_name_with_owner: acme/shop\n:build_url: https://ci/${no}\n`,
    "test_results/a.xml": report,
    "coverage/lcov.info": `SF:a\nDA:1,1\nDA:${no + 2},0\nend_of_record\n`,
  };
  return gzipSync(
    await packTar(
      Object.entries(files).map(([name, text]) => {
        const body = new TextEncoder().encode(text);
        return { header: { name, size: body.length, mtime: new Date(0) }, body };
      }),
    ),
  );
}

/** A folder, and what puts archives into it that are there for long. */
async function makeSource() {
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-kill-" });
  let count = 0;
  return {
    folder,
    count: () => count,
    async put() {
      const path = join(folder, `${count++}.gz`);
      await Deno.writeFile(path, await archive(count));
      const changed = new Date(Date.now() - 3_600_000);
      await Deno.utime(path, changed, changed);
    },
  };
}

/** Checks that every archive is stored, each exactly once. */
async function checkStored(
  environment: Record<string, string>,
  { archives }: { archives: number },
): Promise<{ attempts: number; interrupted: number }> {
  const database = await openDatabase({
    databaseUrl: environment.DATABASE_URL,
    dataDir: environment.DATA_DIR ?? "",
  });
  try {
    const [found] = await database.sql<Record<string, number>[]>`
      select
        (select count(*) from archive where status = 'processed')::int as processed,
        (select count(*) from archive)::int as archives,
        (select max(attempt_count) from archive)::int as attempts,
        (select count(*) from archive where attempt_count > 1)::int as interrupted,
        (select count(*) from submission where status = 'processed')::int as submissions,
        (select count(*) from submission)::int as listed,
        (select sum(test_result_count) from submission)::int as results,
        (select count(*) from negative_result where is_disruption)::int as disruptions,
        (select count(*) from coverage_report)::int as coverages,
        (select count(*) from test)::int as tests`;
    const { attempts, interrupted, ...counts } = found!;
    assert.deepEqual(counts, {
      processed: archives,
      archives,
      submissions: archives,
      listed: archives,
      results: archives * (TESTS + 2),
      disruptions: archives,
      coverages: archives,
      tests: TESTS + 1,
    });
    return { attempts: attempts!, interrupted: interrupted! };
  } finally {
    await database.close();
  }
}

async function expireLeases(environment: Record<string, string>): Promise<void> {
  const database = await openDatabase({
    databaseUrl: environment.DATABASE_URL,
    dataDir: environment.DATA_DIR ?? "",
  });
  await database.sql`update archive set claimed_until = now() where status = 'processing'`;
  await database.close();
}

/** Three take from one queue; one is killed on the way. */
async function proveSharing(
  environment: Record<string, string>,
  { queue, interruptedAtMost }: { queue: number; interruptedAtMost: number },
): Promise<void> {
  const source = await makeSource();
  for (let i = 0; i < queue; i++) await source.put();
  const line = ["watch", source.folder, "--org", "acme", "--once", "--lease", "1h"];
  line.push("--workers", String(WORKERS));
  try {
    await prepare(environment, ["org create acme"]);
    const start = () => command(line, { environment }).spawn();
    const victim = start();
    const others = Array.from({ length: SHARERS - 1 }, () => start().output());
    // It is killed when it and the others have done some: surely in the middle of one.
    let victimSaid = "";
    const stderrOfVictim = victim.stderr.cancel();
    for await (const text of victim.stdout.pipeThrough(new TextDecoderStream())) {
      victimSaid += text;
      if (victimSaid.split("\n").length > queue / (2 * SHARERS)) break;
    }
    victim.kill("SIGKILL");
    await Promise.all([victim.status, stderrOfVictim]);
    const endings = await Promise.all(others);
    // What it had begun is taken over when its lease expires. A short lease would do the same to
    // watchers that a busy machine holds up.
    await expireLeases(environment);
    const last = await run(line, environment);
    assert.equal(last.code, 0, last.stderr);
    const doneBy = [
      victimSaid,
      ...endings.map(({ stdout }) => new TextDecoder().decode(stdout)),
      last.stdout,
    ].map((stdout) => [...stdout.matchAll(/^(\S+)\tprocessed\t/gm)].map(([, key]) => key));
    // The victim may have stored some more than it lived to say.
    const said = doneBy.flat();
    assert.equal(new Set(said).size, said.length, "nothing was done twice");
    // On a busy machine one may start after the queue is empty.
    const [byVictim, ...byOthers] = doneBy.map((keys) => keys.length);
    assert.ok(byVictim! > 0 && byOthers.some((count) => count > 0), "they shared the queue");
    const { interrupted } = await checkStored(environment, { archives: queue });
    assert.ok(interrupted <= interruptedAtMost, `${interrupted} were begun twice`);
  } finally {
    await Deno.remove(source.folder, { recursive: true });
  }
}

async function prove(environment: Record<string, string>): Promise<void> {
  const { folder, put, count } = await makeSource();
  const watch = () =>
    command(
      ["watch", folder, "--org", "acme", "--lease", "2s", "--interval", "1s"],
      { environment },
    ).spawn();
  /** Kills it and waits until nothing of it is left. */
  const kill = async (watcher: Deno.ChildProcess) => {
    try {
      watcher.kill("SIGKILL");
    } catch {
      // It ended by itself: the database it used was another watcher's, which was killed.
    }
    await Promise.all([watcher.status, watcher.stdout.cancel(), watcher.stderr.cancel()]);
  };
  try {
    await prepare(environment, ["org create acme"]);
    const watchers = Array.from({ length: WATCHERS }, watch);
    for (let i = 0; i < KILLS; i++) {
      for (let more = 0; more < 4; more++) await put();
      await pause(300 + Math.random() * 2_700);
      const victim = i % WATCHERS;
      await kill(watchers[victim]!);
      watchers[victim] = watch();
    }
    for (const watcher of watchers) await kill(watcher);

    // What the dead had begun is taken over when their claims have run out.
    await pause(2_100);
    const rest = ["watch", folder, "--org", "acme", "--once"];
    let last = await run(rest, environment);
    if (last.code !== 0) {
      // An archive that three kills hit is set aside, as if it had ended the process itself.
      const failed = last.stdout.split("\n").filter((line) => line.includes("\tfailed\t"));
      assert.ok(
        failed.length > 0 && failed.every((line) => line.includes("\tset aside: ")),
        failed.join("\n") + last.stderr,
      );
      last = await run([...rest, "--retry-failed"], environment);
    }
    assert.equal(last.code, 0, last.stderr);

    const { attempts, interrupted } = await checkStored(environment, { archives: count() });
    // deno-lint-ignore no-console -- figures of the long proof
    if (IS_PROOF) console.log({ archives: count(), kills: KILLS, attempts, interrupted });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

describe("watchers that are killed at any moment", () => {
  itOnKilledDatabase("process every archive exactly once", prove);
});

describe("watchers that share a queue, one of them killed", () => {
  itOnKilledDatabase(
    "process each archive once",
    (environment) =>
      proveSharing(environment, environment.DATA_DIR ? QUEUES.embedded : QUEUES.server),
  );
});
