import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { gzipSync } from "node:zlib";
import { join } from "node:path";
import process from "node:process";
import { packTar } from "modern-tar";
import { openDatabase } from "../../db/connect.ts";
import { openTestServer } from "../database.ts";
import { command, run } from "./program.ts";

/** How often a watcher is killed; the long proof sets 100. */
const KILLS = Number(process.env.TEST_WATCH_KILLS || "4");
const WATCHERS = 2;
const TESTS = 3_000;
const SHA = "0123456789abcdef0123456789abcdef01234567";

/** An archive of results, of which one failed and passed: a disruption each. */
async function archive(no: number): Promise<Uint8Array> {
  const cases = Array.from(
    { length: TESTS },
    (_, i) => `<testcase classname="c" name="test ${i}" time="0.00${no % 10}"/>`,
  );
  const report = `<testsuite name="unit">${cases.join("")}<testcase classname="c" name="flaky">` +
    `<failure message="no ${no}"/></testcase><testcase classname="c" name="flaky"/></testsuite>`;
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

async function prove(environment: Record<string, string>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-kill-" });
  let count = 0;
  const put = async () => {
    const path = join(folder, `${count++}.gz`);
    await Deno.writeFile(path, await archive(count));
    const changed = new Date(Date.now() - 3_600_000);
    await Deno.utime(path, changed, changed);
  };
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
    const { code, stderr } = await run(["org", "create", "acme"], environment);
    assert.equal(code, 0, stderr);
    const watchers = Array.from({ length: WATCHERS }, watch);
    for (let i = 0; i < KILLS; i++) {
      for (let more = 0; more < 4; more++) await put();
      await new Promise((resolve) => setTimeout(resolve, 300 + Math.random() * 2_700));
      const victim = i % WATCHERS;
      await kill(watchers[victim]!);
      watchers[victim] = watch();
    }
    for (const watcher of watchers) await kill(watcher);

    // What the dead had begun is taken over when their claims have run out.
    await new Promise((resolve) => setTimeout(resolve, 2_100));
    const last = await run(["watch", folder, "--org", "acme", "--once"], environment);
    assert.equal(last.code, 0, last.stderr);

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
      // deno-lint-ignore no-console -- figures of the long proof
      if (KILLS > 4) console.log({ archives: count, kills: KILLS, attempts, interrupted });
      assert.deepEqual(counts, {
        processed: count,
        archives: count,
        submissions: count,
        listed: count,
        results: count * (TESTS + 2),
        disruptions: count,
        coverages: count,
        tests: TESTS + 1,
      });
    } finally {
      await database.close();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

describe("watchers that are killed at any moment", () => {
  it("process every archive exactly once, on the embedded database", async () => {
    const dataDir = await Deno.makeTempDir({ prefix: "test-analytics-kill-data-" });
    try {
      await prove({ DATA_DIR: dataDir });
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  });

  const server = process.env.TEST_DATABASE_URL;
  if (server) {
    it("process every archive exactly once, on a server", async () => {
      const database = await openTestServer(server);
      try {
        const [row] = await database.sql<{ name: string }[]>`select current_database() as name`;
        const url = new URL(server);
        url.pathname = `/${row!.name}`;
        await prove({ DATABASE_URL: url.href });
      } finally {
        await database.close();
      }
    });
  }
});
