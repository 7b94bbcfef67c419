/** Moves the clock of the running program forward and back. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { run, type Running, start } from "../../../tests/e2e/program.ts";
import type { FaultOptions } from "./main.ts";
import { createRunDatabase, type RunDatabase } from "./run_database.ts";
import { startProber } from "./prober.ts";
import { type Row, seconds, tallyText } from "./row.ts";
import { pause } from "../../../lib/base/delay.ts";

const DAY = 86_400;

/** Offsets of the clock; each is followed by the correct time again. */
const JUMPS = [
  { name: "a day forward", offset: "+1d", seconds: DAY },
  { name: "a day back", offset: "-1d", seconds: -DAY },
  { name: "an hour back", offset: "-1h", seconds: -3_600 },
] as const;

const REPORT = `<testsuite name="s"><testcase name="flaky"><flakyFailure/></testcase></testsuite>`;

/** A clock that jumps and returns, on each database; the clock of a server stays correct. */
export async function clockFaults({ say, databases }: FaultOptions): Promise<Row[]> {
  const library = await fakeTimeLibrary();
  if (library === null) {
    say("clock: skipped: expected libfaketime (Debian's package faketime)");
    return [];
  }
  const rows: Row[] = [];
  for (const kind of databases) {
    for (const jump of JUMPS) {
      const runDatabase = await createRunDatabase(kind);
      const folder = await Deno.makeTempDir({ prefix: "test-analytics-faults-" });
      try {
        rows.push(await jumpAndBack(runDatabase, { folder, library, jump }));
        say(JSON.stringify(rows.at(-1)));
      } finally {
        await Deno.remove(folder, { recursive: true });
        await runDatabase.remove();
      }
    }
  }
  return rows;
}

async function jumpAndBack(
  runDatabase: RunDatabase,
  { folder, library, jump }: { folder: string; library: string; jump: typeof JUMPS[number] },
): Promise<Row> {
  const clock = join(folder, "clock");
  const report = join(folder, "report.xml");
  await Deno.writeTextFile(report, REPORT);
  await Deno.writeTextFile(clock, "+0");
  // Only the wall clock jumps: the monotonic clock continues, as in a real system.
  const environment = {
    ...runDatabase.environment,
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    NO_FAKE_STAT: "1",
  };
  const now = Math.floor(Date.now() / 1000);
  const ingest = async (name: string, recordedAt?: number) => {
    const at = recordedAt === undefined
      ? []
      : ["--recorded-at", new Date(recordedAt * 1000).toISOString()];
    const facts = `ingest --org acme --repo acme/shop --commit ${name} --json`.split(" ");
    const url = ["--build-url", `https://ci.example.com/${name}`];
    const { code, stdout, stderr } = await run([...facts, ...url, ...at, report], environment);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as { recorded_at: string };
  };
  // Falls out of the window within the next day.
  await ingest("01d0000", now - 14 * DAY + DAY / 2);
  await ingest("2e30000", now - 3_600);
  const expiring = await run("token create --org acme --expires-in 12h".split(" "), environment);
  const shortToken = expiring.stdout.trim();

  const running = await start(["serve", "--port", "0"], environment);
  const prober = startProber(() => ({ url: running.url, token: runDatabase.token }), {
    target: "/api/repos/acme/shop/submissions",
  });
  const stored = ["01d0000", "2e30000"];
  const isAhead = jump.seconds > 0;
  try {
    await expectCommits(running, runDatabase.token, stored);
    assert.equal(await tokenStatus(running, shortToken), 204);
    await Deno.writeTextFile(clock, jump.offset);
    const jumpedAt = performance.now();
    await expectCommits(running, runDatabase.token, isAhead ? ["2e30000"] : stored);
    const recoveryMs = performance.now() - jumpedAt;
    assert.equal(await tokenStatus(running, shortToken), isAhead ? 401 : 204);
    const { recorded_at } = await ingest("3a40000");
    const given = now + jump.seconds;
    assert.ok(Math.abs(Date.parse(recorded_at) / 1000 - given) < 120, recorded_at);
    await expectCommits(running, runDatabase.token, [...isAhead ? ["2e30000"] : stored, "3a40000"]);
    // The correct time again: nothing from the wrong time remains in a cache.
    await Deno.writeTextFile(clock, "+0");
    await expectCommits(running, runDatabase.token, [...stored, "3a40000"]);
    assert.equal(await tokenStatus(running, shortToken), 204);
    await ingest("4f50000");
    await expectCommits(running, runDatabase.token, [...stored, "3a40000", "4f50000"]);
    await pause(200);
    const { tally, wrong } = await prober.stop();
    assert.deepEqual(wrong, []);
    assert.deepEqual([...tally.keys()], ["200"]);
    return {
      fault: `the clock moves ${jump.name} and returns during \`serve\` and \`ingest\``,
      database: runDatabase.kind,
      tries: 1,
      seen: `${tallyText(tally)}; window and expiry of tokens by the clock of the moment`,
      lost: "nothing",
      recovery: seconds(recoveryMs),
    };
  } finally {
    await prober.stop();
    const { code, stderr } = await running.stop("SIGTERM");
    assert.equal(code, 0, stderr);
  }
}

/** Asserts the submissions in the window, and that all other responses agree with them. */
async function expectCommits(
  { url }: Running,
  token: string,
  commits: readonly string[],
): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const json = async (path: string) => await (await fetch(`${url}${path}`, { headers })).json();
  const { submissions, count } = await json("/api/repos/acme/shop/submissions");
  const seen = submissions.map((item: { commit_oid: string }) => item.commit_oid);
  assert.deepEqual(seen.toSorted(), commits.toSorted());
  assert.equal(count, commits.length);
  const { tests } = await json("/api/repos/acme/shop/tests");
  // Each submission has one disruption of the test.
  assert.equal(tests[0].nondeterministic_negative_result_count, commits.length);
  const { results } = await json(`/api/tests/${tests[0].id}/results`);
  assert.equal(results.length, commits.length);
}

async function tokenStatus({ url }: Running, token: string): Promise<number> {
  const response = await fetch(`${url}/api`, { headers: { authorization: `Bearer ${token}` } });
  await response.body?.cancel();
  return response.status;
}

/** The library of Debian's package; `null` when it is not installed. */
async function fakeTimeLibrary(): Promise<string | null> {
  for (const folder of await readdir("/usr/lib").catch(() => [])) {
    const path = `/usr/lib/${folder}/faketime/libfaketime.so.1`;
    if (await Deno.stat(path).then(() => true, () => false)) return path;
  }
  return null;
}
