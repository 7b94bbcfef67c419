import { afterEach, before, beforeEach, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { pause } from "../../../../lib/base/delay.ts";
import type { CliIo } from "../../../../lib/cli/io.ts";
import { describeWithDatabases } from "../../../database.ts";
import { archiveOf, reportOf } from "../../report/archive/make_archive.ts";
import { commandLine } from "../run_in_process.ts";
import { waitUntil } from "../../../wait_until.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";
const LONG_AGO = new Date(Date.now() - 3_600_000);

function metadata(repository: string, more = ""): string {
  return `:commit: ${SHA}\n:repo_name_with_owner: ${repository}\n${more}`;
}

describeWithDatabases("watch", (database) => {
  let folder: string;
  let next = 0;
  const now = () => Math.floor(Date.now() / 1000);
  // Sweeps follow each other sooner.
  const sleep = (milliseconds: number, stop?: AbortSignal) => pause(milliseconds / 50, stop);
  const run = (argv: string[], io: Partial<CliIo> = {}) =>
    commandLine(database)(argv, { now, sleep, ...io });
  // One worker thread: each takes a while to start.
  const once = (...more: string[]) => run(["watch", folder, "--once", "--workers", "1", ...more]);

  before(async () => {
    await run(["org", "create", "acme"]);
    await run(["org", "create", "other"]);
  });
  beforeEach(async () => {
    folder = await Deno.makeTempDir({ prefix: "test-analytics-watch-" });
  });
  afterEach(() => Deno.remove(folder, { recursive: true }));

  const newRepository = () => `acme/repository-${next++}`;

  async function put(
    key: string,
    entries: [string, string][] | Uint8Array,
    changed = LONG_AGO,
  ): Promise<void> {
    const path = join(folder, key);
    await Deno.mkdir(join(path, ".."), { recursive: true });
    await Deno.writeFile(path, Array.isArray(entries) ? await archiveOf(entries) : entries);
    await Deno.utime(path, changed, changed);
  }

  async function submissions(repository: string) {
    const { stdout } = await run([
      "submission",
      "list",
      "--org",
      "acme",
      "--repo",
      repository,
      "--json",
    ]);
    return JSON.parse(stdout) as { key: string; status: string; test_result_count: number }[];
  }

  it("processes each archive once, with its path as key", async () => {
    const repository = newRepository();
    await put("a/1.gz", [["buildpulse.yml", metadata(repository)], [
      "test_results/a.xml",
      reportOf("a"),
    ]]);
    await put("2.tgz", [["buildpulse.yml", metadata(repository)], [
      "test_results/a.xml",
      reportOf("b"),
    ]]);
    await put("readme.txt", new TextEncoder().encode("no archive"));
    await put(".hidden.gz", new TextEncoder().encode("not yet"));
    const first = await once("--org", "acme");
    assert.deepEqual([first.code, first.stderr], [0, ""]);
    assert.deepEqual(first.stdout.trimEnd().split("\n").sort(), [
      "2.tgz\tprocessed\t1",
      "a/1.gz\tprocessed\t1",
    ]);
    const again = await once("--org", "acme");
    assert.deepEqual([again.code, again.stdout, again.stderr], [0, "", ""]);
    assert.deepEqual(
      (await submissions(repository)).map(({ key, status }) => [key, status]).sort(),
      [["2.tgz", "processed"], ["a/1.gz", "processed"]],
    );
  });

  it("dates an archive without a time stamp by its upload", async () => {
    const repository = newRepository();
    await put("a.gz", [["buildpulse.yml", metadata(repository)], [
      "test_results/a.xml",
      reportOf("a"),
    ]]);
    await once("--org", "acme");
    const [row] = await database().sql<{ at: number }[]>`
      select extract(epoch from recorded_at)::float8 as at
      from submission join repository using (repository_id)
      where owner || '/' || name = ${repository}`;
    assert.equal(row?.at, Math.floor(LONG_AGO.getTime() / 1000));
  });

  it("makes one submission of the same bytes under two names", async () => {
    const repository = newRepository();
    const entries: [string, string][] = [
      ["buildpulse.yml", metadata(repository)],
      ["test_results/a.xml", reportOf("a")],
    ];
    await put("a.gz", entries);
    await put("b.gz", entries);
    const { stdout } = await once("--org", "acme", "--json", "--workers", "1");
    const outcomes = stdout.trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(
      outcomes.map(({ key, duplicate, submission_key }) => ({ key, duplicate, submission_key })),
      [
        { key: "a.gz", duplicate: false, submission_key: "a.gz" },
        { key: "b.gz", duplicate: true, submission_key: "a.gz" },
      ],
    );
    assert.equal((await submissions(repository)).length, 1);
  });

  it("keeps archives of two folders apart that have one name", async () => {
    const repository = newRepository();
    const reports = [reportOf("a"), "<testsuite>", reportOf("a")];
    const stdout: string[] = [];
    for (const [at, report] of reports.entries()) {
      const entries: [string, string][] = [
        ["buildpulse.yml", metadata(repository)],
        ["test_results/a.xml", report],
      ];
      await put(`${at}/report.gz`, entries);
      const source = join(folder, String(at));
      stdout.push((await run(["watch", source, "--once", "--org", "acme"])).stdout);
      if (at !== 1) continue;
      assert.deepEqual(
        (await submissions(repository)).map(({ key, status }) => [key.slice(0, 10), status]).sort(),
        [["report.gz#", "failed"], ["report.gz", "processed"]],
      );
      await put("1/report.gz", [entries[0]!, ["test_results/a.xml", reportOf("b")]], new Date(0));
      stdout.push((await run(["watch", source, "--once", "--org", "acme"])).stdout);
    }
    assert.equal(stdout[0], "report.gz\tprocessed\t1\n");
    assert.match(stdout[1]!, /^report\.gz\tfailed\t/);
    assert.equal(stdout[2], "report.gz\tprocessed\t1\n");
    // The same bytes again.
    assert.equal(stdout[3], "report.gz\tprocessed\t1\tduplicate\n");
    const keys = (await submissions(repository)).map(({ key, status }) => `${key} ${status}`)
      .sort();
    assert.equal(keys.length, 2);
    assert.equal(keys[0], "report.gz processed");
    assert.match(keys[1]!, /^report\.gz#[0-9a-f]{8} processed$/);
  });

  it("marks a broken archive as failed, lists it, and tries again when asked", async () => {
    const repository = newRepository();
    await put("broken.gz", [
      ["buildpulse.yml", metadata(repository)],
      ["test_results/a.xml", "<testsuite>"],
    ]);
    const first = await once("--org", "acme");
    assert.equal(first.code, 1);
    assert.match(first.stdout, /^broken\.gz\tfailed\tbroken\.gz: test_results\/a\.xml:1:\d+: /);
    assert.match(first.stderr, /error: 1 archive failed or will be retried\n$/);
    assert.deepEqual(await submissions(repository), [{
      ...(await submissions(repository))[0],
      key: "broken.gz",
      status: "failed",
      test_result_count: 0,
    }]);
    assert.equal((await once("--org", "acme")).stdout, "");
    const list = await run(["watch", folder, "--list"]);
    assert.match(list.stdout, /^broken\.gz\tfailed\tbroken\.gz: test_results\/a\.xml/);

    const again = await once("--org", "acme", "--retry-failed");
    assert.equal(again.code, 1);
    assert.match(again.stderr, /"message":"retrying failed archives","count":1/);
    // A new upload needs no --retry-failed.
    await put("broken.gz", [
      ["buildpulse.yml", metadata(repository)],
      ["test_results/a.xml", reportOf("a")],
    ], new Date(Date.now() - 1_800_000));
    const repaired = await once("--org", "acme");
    assert.equal(repaired.stdout, "broken.gz\tprocessed\t1\n");
    assert.deepEqual((await submissions(repository)).map(({ status }) => status), ["processed"]);
  });

  it("keeps the reason of one that names no repository", async () => {
    await put("nameless.gz", [["test_results/a.xml", reportOf("a")]]);
    await put("garbage.gz", new TextEncoder().encode("garbage"));
    const ending = await once("--org", "acme");
    assert.equal(ending.code, 1);
    assert.match(ending.stdout, /^nameless\.gz\tfailed\t.*buildpulse\.yml: found no such file/m);
    assert.match(ending.stdout, /^garbage\.gz\tfailed\t.*found gzip data that is damaged/m);
    assert.match(ending.stderr, /2 archives failed or will be retried/);
    const { stdout } = await run(["watch", folder, "--list", "--json"]);
    assert.deepEqual(JSON.parse(stdout).map(({ status }: { status: string }) => status), [
      "failed",
      "failed",
    ]);
  });

  it("finds the organization by the repository's owner", async () => {
    await put("a.gz", [["buildpulse.yml", metadata("Acme/own")], [
      "test_results/a.xml",
      reportOf("a"),
    ]]);
    await put("b.gz", [["buildpulse.yml", metadata("none/x")], [
      "test_results/a.xml",
      reportOf("a"),
    ]]);
    const { stdout } = await once();
    assert.match(stdout, /^a\.gz\tprocessed\t1$/m);
    assert.match(
      stdout,
      /^b\.gz\tfailed\tno organization is called "none", as the owner of none\/x: create it/m,
    );
  });

  it("waits for a file that is still written", async () => {
    const repository = newRepository();
    const entries: [string, string][] = [
      ["buildpulse.yml", metadata(repository)],
      ["test_results/a.xml", reportOf("a")],
    ];
    const whole = await archiveOf(entries);
    const path = join(folder, "slow.gz");
    await Deno.writeFile(path, whole.subarray(0, 50));
    let sweeps = 0;
    const { code, stdout } = await run(["watch", folder, "--once", "--org", "acme"], {
      async sleep() {
        sweeps++;
        if (sweeps < 3) return;
        await Deno.writeFile(path, whole);
        await Deno.utime(path, LONG_AGO, LONG_AGO);
      },
    });
    assert.deepEqual([code, stdout, sweeps], [0, "slow.gz\tprocessed\t1\n", 3]);
  });

  it("shares the work with other watchers", async () => {
    const repository = newRepository();
    for (let i = 0; i < 20; i++) {
      await put(`${i}.gz`, [
        ["buildpulse.yml", metadata(repository)],
        ["test_results/a.xml", reportOf(`test ${i}`)],
      ]);
    }
    const share = () => run(["watch", folder, "--once", "--org", "acme", "--workers", "2"]);
    const endings = await Promise.all([share(), share(), share()]);
    const lines = endings.flatMap(({ stdout }) => stdout.split("\n").filter((line) => line));
    assert.equal(lines.length, 20);
    assert.equal(new Set(lines).size, 20);
    assert.equal((await submissions(repository)).length, 20);
  });

  it("takes over the archive of a killed watcher once its claim has expired", async () => {
    const repository = newRepository();
    await put("a.gz", [["buildpulse.yml", metadata(repository)], [
      "test_results/a.xml",
      reportOf("a"),
    ]]);
    const source = await Deno.realPath(folder);
    const claim = (until: string) =>
      database().sql`
        insert into archive (source, key, version, status, claim_id, claimed_until, found_at,
          attempt_count)
        values (${source}, 'a.gz', 'x', 'processing', gen_random_uuid(), ${until}::timestamptz,
          now(), 1)
        on conflict (source, key) do update set claimed_until = excluded.claimed_until`;
    await claim("2100-01-01T00:00:00Z");
    assert.equal((await once("--org", "acme")).stdout, "");
    await claim("2000-01-01T00:00:00Z");
    assert.equal((await once("--org", "acme")).stdout, "a.gz\tprocessed\t1\n");
  });

  it("fails an archive that crashes its watchers repeatedly", async () => {
    const repository = newRepository();
    await put("a.gz", [["buildpulse.yml", metadata(repository)], [
      "test_results/a.xml",
      reportOf("a"),
    ]]);
    const info = await Deno.stat(join(folder, "a.gz"));
    await database().sql`
      insert into archive (source, key, version, status, found_at, attempt_count, reason)
      values (${await Deno.realPath(folder)}, 'a.gz', ${`${info.size}-${info.mtime!.getTime()}`},
        'processing', now(), 20, 'out of memory')`;
    const { stdout } = await once("--org", "acme");
    assert.equal(stdout, "a.gz\tfailed\tfailed after 20 attempts: out of memory\n");
  });

  it("runs until it is stopped", async () => {
    const repository = newRepository();
    const stop = new AbortController();
    let stdout = "";
    const seen = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const argv = ["watch", folder, "--org", "acme", "--interval", "1s", "--ops-port", "0"];
    let stderr = "";
    const ending = run(argv, {
      stop: stop.signal,
      stderr: (text) => void (stderr += text),
      stdout: (text) => {
        stdout += text;
        seen[stdout.trim().split("\n").length - 1]?.resolve();
        return Promise.resolve();
      },
    });
    // The first sweeps find nothing.
    await pause(100);
    assert.equal(stdout, "");
    await put("later.gz", [
      ["buildpulse.yml", metadata(repository, ":tags: [a b]\n")],
      ["test_results/a.xml", reportOf("a")],
    ]);
    await put("new\nline.gz", new TextEncoder().encode("garbage"));
    await Promise.all(seen.map(({ promise }) => promise));
    const opsUrl = /"message":"serving readiness and metrics","url":"(.+?)"/.exec(stderr)?.[1];
    const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
    assert.match(metrics, /\ntest_analytics_archives_total\{outcome="processed"\} 1\n/);
    assert.match(metrics, /\ntest_analytics_results_total 1\n/);
    const ready = await fetch(`${opsUrl}/ready`);
    await ready.body?.cancel();
    assert.equal(ready.status, 200);
    stop.abort();
    assert.equal((await ending).code, 0);
    const [good, bad, ...others] = stdout.trim().split("\n").sort();
    assert.deepEqual([good, others], ["later.gz\tprocessed\t1", []]);
    assert.match(bad!, /^new line\.gz\tfailed\t/);
    assert.match(stderr, /"message":"archives waiting","count":\d,"oldest_seconds":3\d{3}\}/);
    const messages = stderr.trim().split("\n").map((line) => JSON.parse(line).message);
    for (const message of ["started", "note", "archive failed", "archive processed"]) {
      assert.ok(messages.includes(message), message);
    }
    assert.match(stderr, /"message":"archive processed","key":"later.gz","results":1/);
  });

  /** A `watch` that runs until it is stopped, and what it has printed. */
  function watching(...more: string[]) {
    const stop = new AbortController();
    const printed: string[] = [];
    const ending = run(["watch", folder, "--org", "acme", "--interval", "1s", ...more], {
      stop: stop.signal,
      stdout: (text) => Promise.resolve(void printed.push(text)),
    });
    return { stop: () => stop.abort(), ending, printed };
  }

  it("logs an outage of the storage when it starts and when it ends", async () => {
    const stop = new AbortController();
    const messages: string[] = [];
    let sweeps = 0;
    const ending = run(["watch", folder, "--org", "acme", "--interval", "1s"], {
      stop: stop.signal,
      sleep: async (milliseconds) => {
        sweeps++;
        await sleep(milliseconds);
      },
      stderr: (text) =>
        void messages.push(
          ...text.matchAll(/"message":"(started|sweep .*?)"/g).map(([, it]) => it!),
        ),
    });
    await waitUntil("it has started", () => messages.length === 1);
    await Deno.rename(folder, `${folder}.away`);
    await waitUntil("a sweep failed", () => messages.length === 2);
    const failed = sweeps;
    await waitUntil("more sweeps", () => sweeps > failed + 1);
    await Deno.rename(`${folder}.away`, folder);
    await waitUntil("a sweep succeeded", () => messages.length === 3);
    stop.abort();
    assert.equal((await ending).code, 0);
    assert.deepEqual(messages, ["started", "sweep failed", "sweep recovered"]);
  });

  it("ends when another version of the program has migrated the database", async () => {
    await put("a.gz", [
      ["buildpulse.yml", metadata(newRepository())],
      ["test_results/a.xml", reportOf("a")],
    ]);
    const { ending, printed } = watching();
    await waitUntil("an archive is processed", () => printed.length === 1);
    const { sql } = database();
    await sql`insert into schema_migration (version, checksum) values (1000, '')`;
    try {
      await put("b.gz", [["buildpulse.yml", metadata(newRepository())]]);
      const { code, stderr } = await ending;
      assert.equal(code, 1);
      assert.match(stderr, /\nerror: the database has schema version 1000, expected \d+: .*\n$/);
      const [archive] = await sql<{ count: number }[]>`
        select count(*)::int from archive
        where source = ${await Deno.realPath(folder)} and key = 'b.gz'`;
      assert.equal(archive?.count, 0, "free for a process of the new version");
    } finally {
      await sql`delete from schema_migration where version = 1000`;
    }
  });

  it("reports usage errors and failures with a reason", async () => {
    const wrong: [string[], number, RegExp][] = [
      [["watch"], 2, /missing required argument 'source'/],
      [["watch", "ftp://x"], 2, /SOURCE: invalid address "ftp:\/\/x": expected a folder/],
      [["watch", "s3://"], 2, /SOURCE: invalid address "s3:\/\/"/],
      [["watch", "s3://bucket"], 2, /missing AWS_ACCESS_KEY_ID/],
      [["watch", "/none", "--once"], 1, /folder "\/none" not found: create it/],
      [["watch", folder, "--org", "nobody"], 1, /organization "nobody" is unknown/],
      [["watch", folder, "--interval", "0s"], 2, /--interval: invalid duration "0s"/],
      [["watch", folder, "--interval", "30d"], 2, /--interval: "30d" is too long: .* 1d/],
      [["watch", folder, "--lease", "25h"], 2, /--lease: "25h" is too long/],
    ];
    for (const [argv, code, message] of wrong) {
      const ending = await run(argv);
      assert.equal(ending.code, code, argv.join(" "));
      assert.match(ending.stderr, message);
    }
  });

  it("processes an archive that `upload` put into the folder", async () => {
    const repository = newRepository();
    const reports = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(join(reports, "a.xml"), reportOf("a", "web/a.ts"));
      await Deno.writeTextFile(join(reports, "lcov.info"), "SF:a\nDA:1,1\nend_of_record\n");
      await Deno.writeTextFile(join(reports, "OWNERS"), "/web/ @acme/web\n");
      const uploaded = await run([
        ..."upload --tags nightly --branch main --build-url https://ci.example/1".split(" "),
        ...[
          "--commit",
          "abc0000".padEnd(40, "0"),
          "--repo",
          repository,
          "--to",
          folder,
          join(reports, "a.xml"),
        ],
        ...["--coverage", join(reports, "lcov.info"), "--codeowners", join(reports, "OWNERS")],
      ]);
      assert.deepEqual([uploaded.code, uploaded.stderr], [0, ""]);
      assert.ok(uploaded.stdout.startsWith(`${folder}/${repository}/`), uploaded.stdout);
      // Not waited for, as an archive that may still be written.
      await Deno.utime(uploaded.stdout.trim(), LONG_AGO, LONG_AGO);
      const { code, stdout } = await once("--org", "acme", "--json");
      assert.equal(code, 0);
      const outcome = JSON.parse(stdout);
      assert.equal(`${folder}/${outcome.key}\n`, uploaded.stdout);
      assert.equal(outcome.commit_oid, "abc0000".padEnd(40, "0"));
      assert.equal(outcome.build_url, "https://ci.example/1");
      const [test] = await database().sql<{ tags: string[] }[]>`
        select array_to_json(array(
        select tag from test_tag g
        where g.repository_id = test.repository_id and g.tests @> test_no order by tag)) as tags
        from test join repository r using (repository_id) where owner || '/' || r.name = ${repository}`;
      assert.deepEqual(test?.tags, ["nightly", "owner:@acme/web"]);
    } finally {
      await Deno.remove(reports, { recursive: true });
    }
  });
});
