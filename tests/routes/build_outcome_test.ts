import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { after, before, beforeEach, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import type { Repository } from "../../db/admin/repositories.ts";
import { countFailedWithoutTest } from "../../db/read/digest.ts";
import type { Upload } from "../../db/write/store_submission.ts";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import { toolEndpoint } from "../../lib/cli/tool_endpoint.ts";
import { NO_GAPS } from "../../lib/report/report_gaps.ts";
import type { TestResult } from "../../lib/report/result.ts";
import { createApp } from "../../routes/mod.ts";
import { describeWithDatabase } from "../database.ts";
import { silentLog } from "../silent_log.ts";
import { createFixture, DAY, type Fixture, NOW } from "./fixture.ts";
import { parseHtml } from "./html.ts";

const SERVICE = "https://flaky.example.org";
const BUILD = "https://ci.example.org/builds/1";

/** What a build ended with: its tests that failed at last, and whether a job is red without one. */
interface Ended {
  failed: number;
  isRed: boolean;
}

const PASSED: Ended = { failed: 0, isRed: false };
const FAILED: Ended = { failed: 1, isRed: false };
const RED: Ended = { failed: 0, isRed: true };

/** The attempts of the test `a` in one upload, in order. */
const FAILED_AFTER_PASS = ["passing", "failure"] as const;
const PASSED_AFTER_FAILURE = ["failure", "passing"] as const;

/** An upload: whether the test `a` fails in it, or its attempts. */
type Leg = [
  isFailed: boolean | typeof FAILED_AFTER_PASS | typeof PASSED_AFTER_FAILURE,
  more?: Partial<Upload>,
];

const attempt = (attempt: string, more: Partial<Upload> = {}) => ({ attempt, ...more });

/** Uploads of one build, in the order in which they come. */
const BUILDS: [title: string, legs: Leg[], ended: Ended][] = [
  ["a leg that failed before one passed", [[true, attempt("1")], [false, attempt("1")]], FAILED],
  ["a leg that failed after one passed", [[false, attempt("1")], [true, attempt("1")]], FAILED],
  [
    "unnamed legs that were run again",
    [[true, attempt("1")], [false, attempt("1")], [false, attempt("2")], [false, attempt("2")]],
    PASSED,
  ],
  [
    "two legs that failed, of which one was run again",
    [[true, attempt("1")], [true, attempt("1")], [false, attempt("2")]],
    FAILED,
  ],
  ["a test that failed after it had passed", [[FAILED_AFTER_PASS, attempt("1")]], FAILED],
  ["a test that passed after it had failed", [[PASSED_AFTER_FAILURE, attempt("1")]], PASSED],
  [
    "a test that failed after it had passed, and not when the job was run again",
    [[FAILED_AFTER_PASS, attempt("1")], [false, attempt("2")]],
    PASSED,
  ],
  ["two commits", [[true, { commitOid: "aaaaaa1" }], [false, { commitOid: "aaaaaa2" }]], FAILED],
  [
    "another environment",
    [[true, { environment: "win" }], [false, { environment: "mac" }]],
    FAILED,
  ],
  [
    "a job that failed when it was run again",
    [[false, attempt("1")], [true, attempt("2")]],
    FAILED,
  ],
  [
    "a shard that failed when it was run again",
    [
      [false, attempt("1", { shard: "1/2" })],
      [false, attempt("1", { shard: "2/2" })],
      [true, attempt("2", { shard: "1/2" })],
      [false, attempt("2", { shard: "2/2" })],
    ],
    FAILED,
  ],
  [
    "a job that failed when it was run again, and another commit",
    [
      [false, attempt("1")],
      [true, attempt("2")],
      [false, attempt("1", { commitOid: "aaaaaa2" })],
    ],
    FAILED,
  ],
  [
    "a job that failed again after it had passed",
    [[true, attempt("1")], [false, attempt("2")], [true, attempt("3")]],
    FAILED,
  ],
  [
    "a late upload of an attempt that passed",
    [[true, attempt("2")], [false, attempt("1")]],
    FAILED,
  ],
  [
    "two environments that failed, of which one was run again",
    [
      [true, attempt("1", { environment: "win" })],
      [true, attempt("1", { environment: "mac" })],
      [false, attempt("2", { environment: "win" })],
    ],
    FAILED,
  ],
  [
    "two jobs that failed, of which one was run again",
    [
      [true, attempt("1", { job: "unit" })],
      [true, attempt("1", { job: "browser" })],
      [false, attempt("2", { job: "unit" })],
    ],
    FAILED,
  ],
  ["a job that was run again", [[true, attempt("1")], [false, attempt("2")]], PASSED],
  ["a late upload of an earlier attempt", [[false, attempt("2")], [true, attempt("1")]], PASSED],
  ["a job that was run again in unknown attempts", [[true], [false]], PASSED],
  [
    "a job of which another was run again on the next working day",
    [
      [true, attempt("1", { job: "unit", recordedAt: NOW - 3 * DAY })],
      [false, attempt("1", { job: "browser", recordedAt: NOW - 3 * DAY })],
      [false, attempt("2", { job: "browser" })],
    ],
    FAILED,
  ],
  [
    "a command that failed, and not when it was run again",
    [[false, attempt("1", { exitCode: 1 })], [false, attempt("2", { exitCode: 0 })]],
    PASSED,
  ],
  [
    "a command that failed when it was run again",
    [[false, attempt("1", { exitCode: 0 })], [false, attempt("2", { exitCode: 1 })]],
    RED,
  ],
  [
    "a command that failed, and not in another leg",
    [[false, attempt("1", { exitCode: 1 })], [false, attempt("1", { exitCode: 0 })]],
    RED,
  ],
];

/** Uploads of one build with tests of one file, whose set-up fails instead of a test `a`. */
const SET_UPS: typeof BUILDS = [
  [
    "a set-up of a file that was split",
    [[true, attempt("1", { shard: "1/2" })], [false, attempt("1", { shard: "2/2" })]],
    FAILED,
  ],
  [
    "a set-up of a file that was split, of which the other shard was run again",
    [[true, attempt("1", { shard: "1/2" })], [false, attempt("2", { shard: "2/2" })]],
    FAILED,
  ],
  [
    "a set-up of a file that was split, and run again",
    [
      [true, attempt("1", { shard: "1/2" })],
      [false, attempt("1", { shard: "2/2" })],
      [false, attempt("2", { shard: "1/2" })],
      [false, attempt("2", { shard: "2/2" })],
    ],
    PASSED,
  ],
  ["a set-up that was run again", [[true, attempt("1")], [false, attempt("2")]], PASSED],
  [
    "a set-up that was run again, and failed",
    [[false, attempt("1")], [true, attempt("2")]],
    FAILED,
  ],
];

const SET_UP = { name: '"before all" hook for "x"', file: "test/a.js" };

describeWithDatabase("what a build ended with", (database) => {
  let fixture: Fixture;
  let repository: Repository;
  let client: Client;

  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
    const app = createApp(
      {
        sql: database().sql,
        now: () => NOW,
        windowSeconds: WINDOW_SECONDS,
        log: silentLog,
      },
      (inner) => [toolEndpoint(inner, { publicUrl: SERVICE, log: silentLog })],
    );
    client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${SERVICE}/mcp`), {
        requestInit: {
          headers: { authorization: `Bearer ${fixture.token}`, host: "flaky.example.org" },
        },
        fetch: (url, init) => app(new Request(url, init), "192.0.2.7"),
      }),
    );
  });
  after(() => client.close());

  let repositoryCount = 0;
  beforeEach(async () => {
    repository = await fixture.addRepository("acme", `shop${repositoryCount++}`);
  });

  async function upload(results: Partial<TestResult>[], more: Partial<Upload> = {}) {
    return await fixture.upload(repository, results, {
      job: "unit",
      branch: "fix",
      commitOid: "aaaaaa1",
      buildUrl: BUILD,
      ...more,
    });
  }

  const text = async (path: string) => parseHtml(await (await fixture.get(path)).text()).text;
  const json = async (path: string) => await (await fixture.get(path)).json();

  // deno-lint-ignore no-explicit-any -- read as an agent does
  async function tool(buildUrl = BUILD): Promise<any> {
    const result = await client.callTool({
      name: "get_build_verdicts",
      arguments: { repository: `acme/${repository.name}`, build_url: buildUrl },
    });
    assert.ok(!result.isError, JSON.stringify(result.content));
    return result.structuredContent;
  }

  it("has the failure that is most probably due to the change, of a test that failed in several jobs", async () => {
    const failure = (message: string) => ({ name: "a", conclusion: "failure" as const, message });
    const known = failure("connection refused");
    for (const branch of ["other", "third"]) {
      await upload([known], { branch, commitOid: "bbbbbb1", buildUrl: `${BUILD}/${branch}` });
    }
    // Failed before, but never like this: unclear. The other two were seen: not yours.
    const attempts = [
      await upload([known], { recordedAt: NOW - 50, environment: "linux" }),
      await upload([failure("assertion failed")], { recordedAt: NOW - 40, environment: "windows" }),
      await upload([known], { recordedAt: NOW - 30, environment: "mac" }),
    ];
    const [, windows, { submissionId: latest }] = attempts as [
      unknown,
      { submissionId: string },
      { submissionId: string },
    ];
    const page = await text(`/repos/acme/${repository.name}/builds/${latest}`);
    assert.match(page, /1 of 1 test failed: it is unclear whose it is\. .*assertion failed/);
    const outcome = await json(`/api/repos/acme/${repository.name}/submissions/${latest}/build`);
    assert.deepEqual(outcome.failed_in, [windows.submissionId]);
    const { failed } = await tool();
    assert.deepEqual([failed[0].blame, failed[0].message], ["unclear", "assertion failed"]);
    // One that passes when it is run again does not count.
    await upload([{ name: "a" }], { recordedAt: NOW - 20, environment: "windows" });
    assert.match(
      await text(`/repos/acme/${repository.name}/builds/${latest}`),
      /1 of 1 test failed: it is not yours/,
    );
    assert.equal((await tool()).failed[0].blame, "not_yours");
  });

  it("counts each test that ran in any of its uploads once, those that were only skipped not", async () => {
    const failing = { name: "a", conclusion: "failure" as const, message: "broke" };
    const skipped = (name: string) => ({ name, conclusion: "skipped" as const });
    const unknown = (name: string) => ({ name, conclusion: "unknown" as const });
    const headline = async ({ submissionId }: { submissionId: string }) =>
      /\d+( of \d+)? tests? failed/.exec(
        await text(`/repos/acme/${repository.name}/builds/${submissionId}`),
      )?.[0];
    const first = await upload([failing, { name: "b" }, skipped("c"), skipped("d"), unknown("e")], {
      job: "unit",
      environment: "linux",
    });
    assert.equal(await headline(first), "1 of 2 tests failed");
    await upload([{ name: "a" }, { name: "b" }, { name: "c" }], {
      job: "unit",
      environment: "mac",
    });
    assert.equal(await headline(first), "1 of 3 tests failed");
    await upload([{ name: "y" }, { name: "z" }], { job: "lint" });
    assert.equal(await headline(first), "1 of 5 tests failed");
  });

  for (const [title, legs, { failed, isRed }] of [...BUILDS, ...SET_UPS]) {
    const isOfSetUp = title.startsWith("a set-up");
    it(`is the same everywhere: ${title}`, async () => {
      let id = "";
      for (const [index, [isFailed, more]] of legs.entries()) {
        const attempts = typeof isFailed === "boolean"
          ? [isFailed ? "failure" as const : "passing" as const]
          : isFailed;
        const ofTest = attempts.map((conclusion) => ({ name: "a", conclusion }));
        const ofSetUp = isFailed ? [{ ...SET_UP, conclusion: "failure" as const }] : [];
        const results = isOfSetUp
          ? [...ofSetUp, { ...SET_UP, name: `b${index}` }]
          : [...ofTest, { name: `b${index}` }];
        ({ submissionId: id } = await upload(results, {
          recordedAt: NOW - 100 + index,
          ...more,
        }));
      }
      const outcome = await json(`/api/repos/acme/${repository.name}/submissions/${id}/build`);
      assert.equal(outcome.submissions.length, legs.length);
      assert.deepEqual([outcome.failed_test_ids.length, outcome.failed_without_test], [
        failed,
        isRed,
      ]);

      const page = await text(`/repos/acme/${repository.name}/builds/${id}`);
      const [, , headline] =
        /(\d+ uploads?)?.*?((\d+)( of \d+)? tests? failed|All tests passed|No test failed|Red without a failed test)/
          .exec(page)!;
      assert.match(
        headline!,
        failed > 0
          ? /^1 of \d+ tests failed/
          : isRed
          ? /^Red without/
          : /^(All tests passed|No test failed)/,
      );

      const shown = failed > 0
        ? /1 failed/
        : isRed
        ? /red without a failed test/
        : /passed|1 flaky/;
      const isIn = async (list: string) =>
        (await text(`/repos/acme/${repository.name}/builds?outcome=${list}`))
          .includes("1 build");
      const list = await text(`/repos/acme/${repository.name}/builds`);
      const start = list.indexOf("aaaaaa");
      assert.match(list.slice(start), shown);
      assert.equal(await isIn("failed"), failed > 0 || isRed);
      const [item] =
        (await (await fixture.get(`/repos/acme/${repository.name}/builds.ndjson`)).text()).trim()
          .split("\n").map((line) => JSON.parse(line));
      assert.deepEqual([item.failed_test_count, item.failed_without_test], [failed, isRed]);
      const overview = await text(`/repos/acme/${repository.name}`);
      assert.match(overview.slice(overview.indexOf("Recent builds")), shown);

      const said = await tool();
      assert.deepEqual([said.build.failed_count, said.failed.length, said.failed_without_test], [
        failed,
        failed,
        isRed,
      ]);
      const red = await countFailedWithoutTest(database().sql, {
        repositoryId: repository.repositoryId,
        since: NOW - DAY,
      });
      assert.equal(red, isRed ? 1 : 0);
    });
  }

  it("is whole if it has what its job had before, not what was added or left out since", async () => {
    const tests = Array.from({ length: 20 }, (_, index) => ({ name: `t${index}` }));
    const added = { name: "new", file: "added.ts" };
    let commits = 0;
    const onMain = async (results: Partial<TestResult>[], days: number) => {
      for (let run = 0; run < 10; run++) {
        const at = { recordedAt: NOW - days * DAY + run, buildUrl: `${BUILD}/main/${commits}` };
        await upload(results, { ...at, branch: "main", commitOid: `cccccc${commits++}` });
      }
    };
    await onMain(tests, 5);
    const whole = await upload(tests, { recordedAt: NOW - 3 * DAY, buildUrl: `${BUILD}/whole` });
    const part = await upload(tests.slice(10), {
      recordedAt: NOW - 3 * DAY,
      commitOid: "aaaaaa2",
      buildUrl: `${BUILD}/part`,
    });
    const isWhole = async ({ submissionId }: { submissionId: string }) => {
      const path = `/api/repos/acme/${repository.name}/submissions/${submissionId}/build`;
      return (await json(path)).whole;
    };
    assert.deepEqual([await isWhole(whole), await isWhole(part)], [true, false]);
    await onMain([...tests.slice(10), added], 2);
    assert.deepEqual([await isWhole(whole), await isWhole(part)], [true, false]);
  });

  const names = Array.from({ length: 20 }, (_, index) => ({ name: `t${index}` }));

  let known: Repository | undefined;
  /** A repository whose job has two shards on the base branch. */
  async function sharded(): Promise<Repository> {
    if (known) return known;
    for (const days of [3, 2, 1]) {
      for (const shard of ["1/2", "2/2"]) {
        const at = { recordedAt: NOW - days * DAY, buildUrl: `${BUILD}/${days}` };
        await upload(names, { ...at, branch: "main", commitOid: `bbbbbb${days}`, shard });
      }
    }
    return known = repository;
  }

  /** Uploads of the pull request, by shard, and what says that its build is not whole. */
  const SIZES: [title: string, legs: Partial<Upload>[], whole: boolean | null, said: string][] = [
    ["both shards", [{ shard: "1/2" }, { shard: "2/2" }], true, ""],
    ["a missing shard", [{ shard: "1/2" }], false, "1 of 2 shards has no upload: 2/2"],
    [
      "a shard that no build of the base branch has",
      [{ shard: "1/3" }, { shard: "2/3" }],
      false,
      "1 of 3 shards has no upload: 3/3",
    ],
    ["a job of unknown size", [{ job: "new" }], null, ""],
    ["no job", [{ job: "" }], null, ""],
    [
      "a report that is cut off",
      [{ shard: "1/2", gaps: { ...NO_GAPS, cutOffReportCount: 1 } }, { shard: "2/2" }],
      false,
      "1 test process ended without a report",
    ],
    [
      "a suite that does not list all tests",
      [{ shard: "1/2", gaps: { ...NO_GAPS, unlistedSuiteCount: 1 } }, { shard: "2/2" }],
      false,
      "1 suite declares more tests than it lists",
    ],
    [
      "a failure outside of a test",
      [{ shard: "1/2", gaps: { ...NO_GAPS, outsideFailureCount: 1 } }, { shard: "2/2" }],
      false,
      "1 failure outside of a test",
    ],
    [
      "a report without results",
      [{ shard: "1/2", gaps: { ...NO_GAPS, emptyReportCount: 1 } }, { shard: "2/2" }],
      null,
      "",
    ],
  ];
  for (const [index, [title, legs, whole, said]] of SIZES.entries()) {
    it(`says the same everywhere about whether it is whole: ${title}`, async () => {
      repository = await sharded();
      for (const isFailed of [false, true]) {
        let id = "";
        const buildUrl = `${BUILD}/${index}/${isFailed ? "failed" : "passed"}`;
        for (const leg of legs) {
          const conclusion: TestResult["conclusion"] = isFailed ? "failure" : "passing";
          const results = [...names.slice(1), { name: "t0", conclusion } as const];
          ({ submissionId: id } = await upload(results, { attempt: "1", buildUrl, ...leg }));
        }
        const outcome = await json(`/api/repos/acme/${repository.name}/submissions/${id}/build`);
        assert.equal(outcome.whole, whole);
        assert.equal(outcome.not_whole.join(), said && `${said} (unit)`);
        const page = await text(`/repos/acme/${repository.name}/builds/${id}`);
        assert.equal(page.includes("Not whole"), whole === false);
        if (said !== "") assert.ok(page.includes(`Not whole: ${said} (unit)`));
        assert.equal(page.includes("nothing to fix"), whole === true && !isFailed);
        assert.equal(page.includes("All tests passed"), whole === true && !isFailed);
        const list = await (await fixture.get(`/repos/acme/${repository.name}/builds.ndjson`))
          .text();
        const listed = list.trim().split("\n").map((line) => JSON.parse(line))
          .find((build) => build.build_url === buildUrl);
        // Of these none needs what the job usually runs, which is compared for one build only.
        if (!isFailed) assert.equal(listed.outcome, whole === false ? "not whole" : "passed");
        const found = await tool(buildUrl);
        assert.equal(found.whole, whole);
        assert.equal(found.failed.length, isFailed ? 1 : 0);
        if (said !== "") assert.ok(found.next_step.includes(said), found.next_step);
      }
    });
  }

  it("is whole in a list that ends between its shards", async () => {
    const build = { job: "unit", buildUrl: `${BUILD}/long`, commitOid: "eeeeee1", attempt: "1" };
    await upload([{ name: "a" }], { ...build, shard: "1/2", recordedAt: NOW - 200 });
    for (let no = 0; no < 100; no++) {
      await upload([{ name: "a" }], { job: "unit", buildUrl: `${BUILD}/other` });
    }
    await upload([{ name: "a" }], { ...build, shard: "2/2", recordedAt: NOW });
    const page = await fixture.get(`/repos/acme/${repository.name}`);
    const overview = parseHtml(await page.text());
    const { text: row } = overview.all("tr").find((row) => row.text.includes("eeeeee1"))!;
    assert.ok(row.includes("passed"), row);
  });

  it("says the same everywhere of a test whose outcome is unknown, until it passes", async () => {
    repository = await sharded();
    const buildUrl = `${BUILD}/unclear`;
    const shards = ["1/2", "2/2"];
    const said = "the outcome of 1 test is unknown: suite > Class > t0 (test.ts)";
    const run = async (attempt: string, conclusion: "unknown" | "passing" | "skipped") => {
      let id = "";
      for (const shard of shards) {
        const t0 = { name: "t0", conclusion: shard === "1/2" ? conclusion : "passing" } as const;
        // Newer than the others, or their ids decide which are recent.
        const more = { recordedAt: NOW + 1, commitOid: "ddddddd1", attempt, buildUrl, shard };
        ({ submissionId: id } = await upload([...names.slice(1), t0], more));
      }
      const name = `acme/${repository.name}`;
      const { whole, not_whole } = await json(`/api/repos/${name}/submissions/${id}/build`);
      const page = await text(`/repos/${name}/builds/${id}`);
      const list = await (await fixture.get(`/repos/${name}/builds.ndjson?branch=fix`)).text();
      const listed = list.trim().split("\n").map((line) => JSON.parse(line))
        .find((build) => build.build_url === buildUrl);
      const overview = parseHtml(await (await fixture.get(`/repos/${name}`)).text());
      const recent = overview.all("tr").find((row) => row.text.includes("ddddddd"))!.text;
      const { next_step, ...found } = await tool(buildUrl);
      assert.equal(found.whole, whole);
      assert.equal(next_step.includes(`not whole (${said})`), whole === false, next_step);
      assert.equal(page.includes(`Not whole: ${said}`), whole === false);
      assert.equal(page.includes("nothing to fix"), whole === true);
      assert.equal(page.includes("All tests passed"), whole === true);
      assert.equal(listed.outcome, whole ? "passed" : "not whole");
      assert.ok(recent.includes(whole ? "passed" : "not whole"), recent);
      return { whole, not_whole };
    };
    const unclear = { whole: false, not_whole: [said] };
    assert.deepEqual(await run("1", "unknown"), unclear);
    assert.deepEqual(await run("2", "skipped"), unclear);
    assert.deepEqual(await run("3", "passing"), { whole: true, not_whole: [] });
    assert.deepEqual(await run("4", "unknown"), unclear);
  });

  it("says the same everywhere of a test whose outcome is unknown in one job, and that was retried in another", async () => {
    const more = { job: "unit", buildUrl: `${BUILD}/crashed` };
    await upload([{ name: "a", conclusion: "failure" }], { ...more, attempt: "1" });
    await upload([{ name: "a" }], { ...more, attempt: "2" });
    const results = [{ name: "a", conclusion: "unknown" as const }, { name: "b" }];
    const { submissionId: id } = await upload(results, { ...more, job: "e2e", attempt: "2" });
    const name = `acme/${repository.name}`;
    const { whole, not_whole } = await json(`/api/repos/${name}/submissions/${id}/build`);
    assert.equal(whole, false);
    assert.match(not_whole.join(), /^the outcome of 1 test is unknown: [^,]*a[^,]*$/);
    for (const path of ["", "/builds"]) {
      const page = parseHtml(await (await fixture.get(`/repos/${name}${path}`)).text());
      const rows = page.all("tr").map((row) => row.text);
      assert.ok(rows.some((row) => row.includes("1 flaky, not whole")), rows.join("\n"));
    }
  });

  let complete: Repository | undefined;
  /** A repository with the jobs `unit` and `e2e` in each build of the base branch and of three others, `deploy` on it only. */
  async function withJobs(): Promise<Repository> {
    if (complete) return complete;
    for (let index = 0; index < 10; index++) {
      const isOnBase = index % 2 === 0;
      const jobs = ["unit", "e2e", ...isOnBase ? ["deploy"] : [], ...index < 2 ? ["docs"] : []];
      for (const [seconds, job] of jobs.entries()) {
        await upload(names, {
          ...{ job, commitOid: `bbbbbb${index}`, buildUrl: `${BUILD}/earlier/${index}` },
          branch: isOnBase ? "main" : `topic-${index}`,
          // The second job is uploaded after the first of the next build.
          recordedAt: NOW - DAY + 100 * index + 150 * seconds,
        });
      }
    }
    return complete = repository;
  }

  /** A build, the jobs that it has, and those that it lacks. */
  const JOBS: [title: string, branch: string, jobs: string[], lacks: string][] = [
    ["the base branch, with all jobs", "main", ["unit", "e2e", "deploy"], ""],
    ["the base branch", "main", ["e2e"], "2 jobs without an upload: deploy, unit"],
    ["another branch, with all jobs that run there", "fix", ["unit", "e2e"], ""],
    ["another branch", "fix", ["e2e"], "1 job without an upload: unit"],
    ["another branch with a job that is new", "fix", ["e2e", "new"], ""],
  ];
  for (const [index, [title, branch, jobs, lacks]] of JOBS.entries()) {
    it(`says the same everywhere of a job that is missing: on ${title}`, async () => {
      repository = await withJobs();
      let id = "";
      const build = { branch, commitOid: `ccccccc${index}`, buildUrl: `${BUILD}/jobs/${index}` };
      for (const job of jobs) ({ submissionId: id } = await upload(names, { ...build, job }));
      const path = `submissions/${id}/build`;
      const outcome = await json(`/api/repos/acme/${repository.name}/${path}`);
      assert.deepEqual(outcome.not_whole, lacks === "" ? [] : [lacks]);
      const isKnown = !jobs.includes("new");
      assert.equal(outcome.whole, lacks === "" ? isKnown || null : false);
      const page = await text(`/repos/acme/${repository.name}/builds/${id}`);
      assert.equal(page.includes("nothing to fix"), outcome.whole === true);
      assert.equal(page.includes(`Not whole: ${lacks}`), lacks !== "");
      const { next_step, whole } = await tool(build.buildUrl);
      assert.equal(whole, outcome.whole);
      assert.equal(next_step.includes(`(${lacks})`), lacks !== "", next_step);
      // A job that is still running is uploaded later.
      if (lacks === "") return;
      for (const job of ["unit", ...branch === "main" ? ["deploy"] : []]) {
        await upload(names, { ...build, job });
      }
      assert.equal((await json(`/api/repos/acme/${repository.name}/${path}`)).whole, true);
    });
  }

  it("does not miss the jobs of another workflow", async () => {
    repository = await withJobs();
    const nightly = { workflow: "Nightly", branch: "main", job: "e2e", commitOid: "ddddddd" };
    const { submissionId } = await upload(names, { ...nightly, buildUrl: `${BUILD}/nightly` });
    const path = `submissions/${submissionId}/build`;
    const { not_whole } = await json(`/api/repos/acme/${repository.name}/${path}`);
    assert.deepEqual(not_whole, []);
  });
});
