import { afterEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pause } from "../../../../lib/base/delay.ts";
import { parseComment } from "../../../../lib/comment/sections.ts";
import { type FakeForge, FORGE_TOKEN, startFakeForge } from "../../forge/fake_forge.ts";
import {
  type GateFixture,
  gateFixture,
  type Known,
  reportOf,
  testNamed,
} from "../gate_run/gate_fixture.ts";
import { type Ending, withoutDatabase } from "../run_in_process.ts";

/** What the service knows of the tests. */
const KNOWN = {
  quarantined: [testNamed("flaky")],
  verdicts: [{
    ...testNamed("known"),
    verdict: "known" as const,
    recent_base_negative_result: {
      recorded_at: "2026-01-31T08:00:00Z",
      build_url: "https://ci.example.com/builds/7",
    },
  }, { ...testNamed("flaky"), verdict: "quarantined" as const }],
};

const closing: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of closing.splice(0)) await one.close();
});

async function setUp(
  options: Parameters<typeof startFakeForge>[1] = {},
  known: Known = KNOWN,
): Promise<{ fixture: GateFixture; forge: FakeForge }> {
  const fixture = await gateFixture(known);
  const forge = startFakeForge("github", options);
  closing.push(fixture, forge);
  return { fixture, forge };
}

/** Runs a command as a job of GitHub Actions on pull request 12. */
async function run(
  { fixture, forge }: { fixture: GateFixture; forge: FakeForge },
  argv: string[],
  environment: Record<string, string> = {},
): Promise<Ending> {
  return await withoutDatabase(argv, {
    environment: {
      ...fixture.environment,
      GITHUB_ACTIONS: "true",
      GITHUB_EVENT_PATH: "",
      GITHUB_REPOSITORY: "acme/shop",
      GITHUB_REF: "refs/pull/12/merge",
      GITHUB_WORKFLOW: "CI",
      GITHUB_JOB: "unit",
      GITHUB_RUN_ID: "1",
      GITHUB_RUN_ATTEMPT: "1",
      GITHUB_SHA: "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678",
      GITHUB_TOKEN: FORGE_TOKEN,
      GITHUB_API_URL: forge.url,
      PUBLIC_URL: "https://flaky.example/",
      ...environment,
    },
    commentClock: {
      now: () => performance.now(),
      pause: (milliseconds) => pause(milliseconds),
      random: Math.random,
      scale: 0.1,
    },
    git: () => Promise.resolve(""),
  });
}

describe("comment", () => {
  it("says of a new test that no upload names its branch, where the service knows no base branch", async () => {
    const verdicts = [{ ...testNamed("fresh"), evidence: "new_test", blame: "yours" } as const];
    const given = await setUp({}, { quarantined: [], verdicts, earlier: { base_branch: "" } });
    const path = await given.fixture.write("report.xml", reportOf({ fresh: "failed" }));
    await run(given, ["comment", path]);
    assert.match(
      given.forge.comments[0]!.body,
      /probably yours: no upload names its branch, so there is no run to compare it with/,
    );
  });

  it("says which failures are probably those of the change, and is edited when they are gone", async () => {
    const given = await setUp();
    const path = await given.fixture.write(
      "report.xml",
      reportOf({ flaky: "failed", known: "failed", broken: "failed", good: "passed" }),
    );
    const { code, stdout, stderr } = await run(given, ["comment", path]);
    assert.deepEqual([code, stdout], [0, "acme/shop#12\n"]);
    assert.deepEqual(stderr.trim().split("\n"), [
      "::error file=cart.ts,title=new%3A shop > Cart > broken::expected 1, found 2",
      "::error file=cart.ts,title=known%3A shop > Cart > known::expected 1, found 2",
      "build: https://flaky.example/repos/acme/shop/build?" +
      "url=https%3A%2F%2Fgithub.com%2Facme%2Fshop%2Factions%2Fruns%2F1",
    ]);
    const { body } = given.forge.comments[0]!;
    assert.match(body, /^<!-- .*\n\*\*3 tests failed: 1 is probably yours, 2 are not\.\*\*\n/);
    assert.match(
      body,
      /#### `CI \/ unit`: 3 failed at `a1b2c3d`, \[build\]\(https:\/\/github\.com\/acme\/shop\/actions\/runs\/1\), \[all tests\]\(https:\/\/flaky\.example\/repos\/acme\/shop\/build\?url=\S+\)/,
    );
    assert.match(
      body,
      /\*\*Probably yours\*\* \(1\)\n\n- `shop > Cart > broken \(cart\.ts\)`\n {2}`expected 1, found 2` · probably yours: never failed in 0 runs on `the base branch`\n/,
    );
    assert.match(
      body,
      /known \(cart\.ts\)`\n.* · last seen \[2026-01-31\]\(https:\/\/ci\.example\.com\/builds\/7\) · \[history\]\(https:\/\/flaky\.example\/tests\/[0-9a-f]{24}\)/,
    );

    await given.fixture.write("report.xml", reportOf({ flaky: "passed", broken: "passed" }));
    await run(given, ["comment", path], { GITHUB_RUN_ID: "2" });
    assert.equal(given.forge.comments.length, 1);
    assert.match(given.forge.comments[0]!.body, /#### `CI \/ unit`: no test failed/);
    // The test that is missing has not passed, and does not by staying away.
    const missing = /^.*\n\*\*No test failed\. 1 test that failed before did not run\.\*\*/;
    assert.match(given.forge.comments[0]!.body, missing);
    await given.fixture.write("report.xml", reportOf({ broken: "passed" }));
    await run(given, ["comment", path], { GITHUB_RUN_ID: "3" });
    assert.match(given.forge.comments[0]!.body, missing);
    await given.fixture.write("report.xml", reportOf({ known: "passed" }));
    await run(given, ["comment", path], { GITHUB_RUN_ID: "4" });
    assert.match(given.forge.comments[0]!.body, /^.*\n\*\*Resolved: .*\*\*/);
  });

  it("is not said to resolve anything by a dry run in which all tests pass", async () => {
    const given = await setUp();
    const path = await given.fixture.write("report.xml", reportOf({ good: "passed" }));
    const { stdout } = await run(given, ["comment", "--dry-run", path]);
    assert.match(stdout, /^\*\*No test failed\.\*\*\n\n#### `CI \/ unit`: no test failed/);
  });

  it("does not say that all are resolved of more failed tests than the comment can name", async () => {
    const given = await setUp();
    const names = Array.from({ length: 70 }, (_, index) => `t${index}`);
    const report = (conclusion: "failed" | "passed") =>
      reportOf(Object.fromEntries(names.map((name) => [name, conclusion])));
    const path = await given.fixture.write("report.xml", report("failed"));
    await run(given, ["comment", path]);
    await given.fixture.write("report.xml", report("passed"));
    await run(given, ["comment", path], { GITHUB_RUN_ID: "2" });
    assert.match(given.forge.comments[0]!.body, /^.*\n\*\*No test failed\.\*\*/);
  });

  it("has the days of TIME_ZONE, and refuses a wrong one unless it is part of the gate", async () => {
    const given = await setUp();
    const path = await given.fixture.write("report.xml", reportOf({ known: "failed" }));
    const honolulu = { TIME_ZONE: "Pacific/Honolulu" };
    const zoned = await run(given, ["comment", "--dry-run", path], honolulu);
    assert.match(zoned.stdout, /last seen \[2026-01-30\]/);
    const option = ["comment", "--dry-run", "--time-zone", "Asia/Tokyo", path];
    assert.match((await run(given, option, honolulu)).stdout, /last seen \[2026-01-31\]/);

    const wrong = { TIME_ZONE: "W. Europe Standard Time" };
    const refused = await run(given, ["comment", "--dry-run", path], wrong);
    assert.equal(refused.code, 2);
    assert.match(
      refused.stderr,
      /TIME_ZONE: invalid time zone "W. Europe Standard Time": expected/,
    );
    const gated = await run(given, ["gate", "--comment", "--exit-code", "1", path], wrong);
    assert.equal(gated.code, 1);
    assert.match(gated.stderr, /comment: TIME_ZONE: invalid time zone .*; its days are UTC/);
    assert.match(given.forge.comments[0]!.body, /last seen \[2026-01-31\]/);
  });

  it("is not edited to say that failures are resolved by a run that was not whole", async () => {
    const fixture = await gateFixture({
      ...KNOWN,
      earlier: {
        expected_test_count: 40,
        base_test_counts: [40, 40, 40],
        expected_skipped_count: 0,
      },
    });
    const forge = startFakeForge("github");
    closing.push(fixture, forge);
    const given = { fixture, forge };
    const path = await fixture.write("report.xml", reportOf({ broken: "failed", good: "passed" }));
    await run(given, ["comment", path]);
    await fixture.write("report.xml", reportOf({ good: "passed" }));
    await run(given, ["comment", path], { GITHUB_RUN_ID: "2" });
    assert.match(
      forge.comments[0]!.body,
      /\*\*Not all tests ran\. No test failed\. 1 test that failed before did not run\.\*\*[^]*1 of about 40 tests ran/,
    );
    assert.match(forge.comments[0]!.body, /#### `CI \/ unit`: no test failed/);
    assert.doesNotMatch(forge.comments[0]!.body, /resolved/i);
  });

  it("does not say that a test with an unknown outcome passes", async () => {
    const given = await setUp();
    const path = await given.fixture.write("report.xml", reportOf({ broken: "failed" }));
    await run(given, ["comment", path]);
    const crashed = reportOf({ broken: "passed" })
      .replace("</testsuite>", '<testcase name="crash" status="crashed"/></testsuite>');
    await given.fixture.write("report.xml", crashed);
    await run(given, ["comment", path], { GITHUB_RUN_ID: "2" });
    const { body } = given.forge.comments[0]!;
    assert.match(body, /\*\*Not whole\*\*: `the outcome of 1 test is unknown: .*crash.*`/);
    assert.doesNotMatch(body, /resolved/i);
  });

  it("is not written when nothing failed", async () => {
    const given = await setUp();
    const path = await given.fixture.write("report.xml", reportOf({ good: "passed" }));
    const { code, stdout, stderr } = await run(given, ["comment", path]);
    assert.deepEqual([code, stdout, stderr], [0, "", ""]);
    assert.deepEqual(given.forge.comments, []);
  });

  it("is not written for a report that is missing or cut off, which is said", async () => {
    const given = await setUp();
    const cut = await given.fixture.write("cut.xml", "<testsuite><testcase name='a'/>");
    const { code, stdout, stderr } = await run(given, ["comment", cut, "nothing.xml"]);
    assert.deepEqual([code, stdout, given.forge.comments], [0, "", []]);
    assert.match(stderr, /^comment: .*cut\.xml:1:\d+: /m);
    assert.match(stderr, /^comment: .*nothing\.xml/m);
  });

  it('is edited when a report is missing or cut off, so that it does not go on saying "resolved"', async () => {
    const given = await setUp();
    const path = await given.fixture.write("report.xml", reportOf({ broken: "failed" }));
    await run(given, ["comment", path]);
    await given.fixture.write("report.xml", reportOf({ broken: "passed" }));
    await run(given, ["comment", path], { GITHUB_RUN_ID: "2" });
    assert.match(given.forge.comments[0]!.body, /^.*\n\*\*Resolved: /);
    const partly = /^.*\n\*\*Not all tests ran\. No test failed\./;
    await given.fixture.write("report.xml", "<testsuite><testcase name='a'/>");
    await run(given, ["comment", path], { GITHUB_RUN_ID: "3" });
    assert.match(given.forge.comments[0]!.body, partly);
    await run(given, ["comment", "nothing.xml"], { GITHUB_RUN_ID: "4" });
    assert.match(given.forge.comments[0]!.body, partly);
    assert.match(given.forge.comments[0]!.body, /nothing\.xml/);
    await given.fixture.write("report.xml", "<testsuites/>");
    await run(given, ["comment", path], { GITHUB_RUN_ID: "5" });
    assert.match(given.forge.comments[0]!.body, partly);
    assert.match(given.forge.comments[0]!.body, /\*\*Not whole\*\*: `no test ran`/);
  });

  it("does not take a report that is older than the job for its own", async () => {
    const given = await setUp();
    const path = await given.fixture.write(
      "report.xml",
      reportOf({ broken: "failed" }).replace(
        "<testsuite ",
        '<testsuite timestamp="2026-11-27T09:00:00Z" ',
      ),
    );
    const gitlab = {
      GITHUB_ACTIONS: "",
      GITLAB_CI: "true",
      CI_JOB_STARTED_AT: "2026-11-28T09:00:00Z",
    };
    const { stdout } = await run(given, ["comment", "--dry-run", path], gitlab);
    assert.match(
      stdout,
      /^\*\*Not all tests ran\. No test failed\. 1 problem of the reports\.\*\*/,
    );
    assert.match(
      stdout,
      /report\.xml: is of 2026-11-27T09:00:00Z, before the job began .*: left out/,
    );
  });

  it("names a report of the folder that is not read, unless it is older than the job", async () => {
    const given = await setUp();
    await given.fixture.write("report.xml", reportOf({ good: "passed" }));
    const path = await given.fixture.write("results.trx", "<TestRun/>");
    const gitlab = {
      GITHUB_ACTIONS: "",
      GITLAB_CI: "true",
      CI_JOB_STARTED_AT: "2026-11-28T09:00:00Z",
    };
    const now = Date.parse("2026-11-28T09:01:00Z") / 1_000;
    for (const [writtenAt, isSaid] of [[now, true], [now - 3_600, false]] as const) {
      await Deno.utime(path, writtenAt, writtenAt);
      const args = ["comment", "--dry-run", given.fixture.folder];
      const { stdout } = await run(given, args, gitlab);
      assert.equal(/results\.trx is a report and was not read/.test(stdout), isSaid, stdout);
    }
  });

  it("keeps the section of another workflow whose job was given the same name", async () => {
    const given = await setUp();
    const path = await given.fixture.write("report.xml", reportOf({ broken: "failed" }));
    await run(given, ["comment", "--job", "test", path]);
    await given.fixture.write("report.xml", reportOf({ broken: "passed", other: "failed" }));
    const nightly = { GITHUB_WORKFLOW: "Nightly", GITHUB_RUN_ID: "2" };
    await run(given, ["comment", "--job", "test", path], nightly);
    const { body } = given.forge.comments[0]!;
    assert.match(body, /^.*\n\*\*2 tests failed/);
    assert.equal(body.split("#### `test`").length, 3);
  });

  it("is written for a run without reports that ended red", async () => {
    const given = await setUp();
    await run(given, ["comment", "--exit-code", "1", "nothing.xml"]);
    assert.match(given.forge.comments[0]!.body, /^.*\n\*\*Ended red without a failed test\./);
  });

  it("names tests that passed only on a retry, and reports that cannot be read", async () => {
    const given = await setUp();
    await given.fixture.write("a/attempt_1.xml", reportOf({ retried: "failed" }));
    await given.fixture.write("a/attempt_2.xml", reportOf({ retried: "passed" }));
    await given.fixture.write("a/broken.xml", "<testsuite>");
    await run(given, ["comment", "--job", "my job", join(given.fixture.folder, "a")]);
    const { body } = given.forge.comments[0]!;
    assert.match(
      body,
      /\*\*Not all tests ran\. No test failed\. 1 test passed only on a retry\. 1 problem of/,
    );
    assert.match(body, /#### `my job`: 1 flaky, 1 problem/);
  });

  it("tells owners and page of quarantined tests, and of those that passed only on a retry", async () => {
    const given = await setUp();
    const fixture = await gateFixture({
      quarantined: [
        { ...testNamed("flaky"), quarantine_owner: "@acme/cart" },
        { ...testNamed("retried"), quarantine_owner: "@acme/mail" },
      ],
      verdicts: [{
        ...testNamed("unstable"),
        verdict: "flaky",
        owners: ["@acme/web", "@acme/core"],
        recent_nondeterministic_negative_result: {
          recorded_at: "2026-01-31T08:00:00Z",
          build_url: "https://ci.example.com/builds/7",
        },
      }],
    });
    closing.push(fixture);
    await fixture.write(
      "a/attempt_1.xml",
      reportOf({ flaky: "failed", retried: "failed", unstable: "failed", fresh: "failed" }),
    );
    await fixture.write(
      "a/attempt_2.xml",
      reportOf({ flaky: "failed", retried: "passed", unstable: "passed", fresh: "passed" }),
    );
    const folder = join(fixture.folder, "a");
    const dry = await run({ ...given, fixture }, ["comment", "--dry-run", folder]);
    assert.equal(dry.code, 0, dry.stderr);
    const history = /\[history\]\(https:\/\/flaky\.example\/tests\/[0-9a-f]{24}\)/g;
    assert.deepEqual(dry.stdout.replaceAll(history, "HISTORY").split("\n\n").slice(2), [
      "**Not yours** (1)",
      "- `shop > Cart > flaky (cart.ts)`\n  `expected 1, found 2` · " +
      "not yours: it also passed on the same code · quarantined · owner `@acme/cart` · HISTORY",
      "**Passed only on a retry** (3)",
      [
        "- `shop > Cart > retried (cart.ts)`",
        "  `expected 1, found 2` · owner `@acme/mail` · HISTORY",
        "- `shop > Cart > unstable (cart.ts)`",
        "  `expected 1, found 2` · last seen [2026-01-31](https://ci.example.com/builds/7) · " +
        "owner `@acme/web`, `@acme/core` · HISTORY",
        "- `shop > Cart > fresh (cart.ts)`",
        "  `expected 1, found 2`\n",
      ].join("\n"),
    ]);
    await run({ ...given, fixture }, ["gate", "--comment", folder]);
    assert.match(
      given.forge.comments[0]!.body,
      /- `shop > Cart > retried \(cart\.ts\)`\n {2}`expected 1, found 2` · owner `@acme\/mail`/,
    );
  });

  it("has a section for each of several jobs that end at once", async () => {
    const given = await setUp({ delayMs: () => Math.random() * 10 });
    const path = await given.fixture.write("report.xml", reportOf({ broken: "failed" }));
    const jobs = Array.from({ length: 5 }, (_, index) => `job ${index}`);
    await Promise.all(jobs.map((job) => run(given, ["comment", "--job", job, path])));
    assert.equal(given.forge.comments.length, 1);
    assert.deepEqual(parseComment(given.forge.comments[0]!.body).map(({ job }) => job), jobs);
  });

  it("has a section for each shard and environment of a job, named by CI or by options", async () => {
    const given = await setUp();
    const failed = await given.fixture.write("failed.xml", reportOf({ broken: "failed" }));
    const passed = await given.fixture.write("passed.xml", reportOf({ broken: "passed" }));
    const circle = {
      GITHUB_ACTIONS: "",
      CIRCLECI: "true",
      CIRCLE_PROJECT_USERNAME: "acme",
      CIRCLE_PROJECT_REPONAME: "shop",
      CIRCLE_PULL_REQUEST: "https://github.com/acme/shop/pull/12",
      CIRCLE_JOB: "unit",
    };
    const node = (index: string) => ({ CIRCLE_NODE_INDEX: index, CIRCLE_NODE_TOTAL: "2" });
    // The second of each pair passes, which says nothing of the first.
    const legs: [args: string[], environment: Record<string, string>][] = [
      [["--environment", "node18"], circle],
      [["--environment", "node20"], circle],
      [["--job", "unit", "--shard", "1/2"], { RUNNER_NAME: "one" }],
      [["--job", "unit", "--shard", "2/2"], { RUNNER_NAME: "one" }],
      [["--job", "e2e"], { ...circle, ...node("0") }],
      [["--job", "e2e"], { ...circle, ...node("1") }],
    ];
    for (const [index, [args, environment]] of legs.entries()) {
      const path = index % 2 === 0 ? failed : passed;
      const { stderr } = await run(given, ["comment", ...args, path], environment);
      assert.doesNotMatch(stderr, /comment:/);
    }
    const { body } = given.forge.comments[0]!;
    assert.deepEqual(
      parseComment(body).map(({ job, failed }) => [job, failed]),
      [
        ["e2e 1/2", 1],
        ["unit (node18)", 1],
        ["unit 1/2", 1],
      ],
    );
    assert.match(body, /^.*\n\*\*1 test failed/);
  });

  it("names the run and commit that were tested, when `workflow_run` started it", async () => {
    const given = await setUp();
    const path = await given.fixture.write("report.xml", reportOf({ broken: "failed" }));
    const event = await given.fixture.write(
      "event.json",
      JSON.stringify({
        workflow_run: {
          id: 77,
          html_url: "https://github.com/acme/shop/actions/runs/77",
          head_sha: "a".repeat(40),
          head_branch: "fix",
          head_repository: { owner: { login: "fork" } },
        },
      }),
    );
    const { stdout, stderr } = await run(given, ["comment", "--job", "unit", path], {
      GITHUB_EVENT_PATH: event,
      GITHUB_REF: "refs/heads/main",
    });
    assert.equal(stdout, "acme/shop#12\n", stderr);
    assert.match(
      given.forge.comments[0]!.body,
      /#### `unit`: 1 failed at `aaaaaaa`, \[build\]\(https:\/\/github\.com\/acme\/shop\/actions\/runs\/77\)/,
    );
  });

  it("has one section for a job of Buildkite, whichever agent ran its last build", async () => {
    const given = await setUp();
    const path = await given.fixture.write("report.xml", reportOf({ broken: "failed" }));
    for (const agent of ["agent 1", "agent 2"]) {
      const { stdout, stderr } = await run(given, ["comment", path], {
        GITHUB_ACTIONS: "",
        BUILDKITE: "true",
        BUILDKITE_REPO: "https://github.com/acme/shop.git",
        BUILDKITE_COMMIT: "a".repeat(40),
        BUILDKITE_PULL_REQUEST: "12",
        BUILDKITE_STEP_KEY: "unit",
        BUILDKITE_AGENT_NAME: agent,
      });
      assert.equal(stdout, "acme/shop#12\n", stderr);
    }
    assert.deepEqual(parseComment(given.forge.comments[0]!.body).map(({ job }) => job), ["unit"]);
  });

  it("names the author's commit where GitLab tests the merged result", async () => {
    const given = await setUp();
    const path = await given.fixture.write("report.xml", reportOf({ broken: "failed" }));
    const { stdout, stderr } = await run(given, ["comment", "--dry-run", path], {
      GITHUB_ACTIONS: "",
      GITLAB_CI: "true",
      CI_PROJECT_PATH: "acme/shop",
      CI_JOB_NAME: "unit: [node, 20]",
      CI_COMMIT_SHA: "b".repeat(40),
      CI_MERGE_REQUEST_SOURCE_BRANCH_SHA: "a".repeat(40),
    });
    assert.match(stdout, /#### `unit: \[node, 20\]`: 1 failed at `aaaaaaa`/, stderr);
  });

  it("goes to the job summary when the token may not write, with exit code 0", async () => {
    const given = await setUp({ isReadOnly: true });
    const path = await given.fixture.write("report.xml", reportOf({ broken: "failed" }));
    const summary = await given.fixture.write("summary.md", "before\n");
    const { code, stdout, stderr } = await run(given, ["comment", path], {
      GITHUB_STEP_SUMMARY: summary,
    });
    assert.deepEqual([code, stdout], [0, ""]);
    assert.match(
      stderr,
      /^::error .*\ncomment: 127\.0\.0\.1:\d+ answered with status 403: Resource not accessible by integration: the token may not comment there, as in pull requests from forks\nbuild: .*\n$/,
    );
    assert.match(
      await readFile(summary, "utf8"),
      /^before\n\*\*1 test failed: it is probably yours\.\*\*\n\n#### /,
    );
  });

  it("says in one line why there is no comment, with exit code 0", async () => {
    const given = await setUp();
    const path = await given.fixture.write("report.xml", reportOf({ broken: "failed" }));
    const cases: [Record<string, string>, RegExp][] = [
      [
        { GITHUB_TOKEN: "" },
        /\ncomment: GITHUB_TOKEN is missing: expected a token .*\nbuild: .*\n$/,
      ],
      [
        { GITHUB_REF: "refs/heads/main" },
        /\ncomment: this run belongs to no open pull request: .*\nbuild: .*\n$/,
      ],
      [
        { GITHUB_API_URL: "nowhere" },
        /\ncomment: GITHUB_API_URL is not an address: .*\nbuild: .*\n$/,
      ],
    ];
    for (const [environment, message] of cases) {
      const { code, stdout, stderr } = await run(given, ["comment", path], environment);
      assert.deepEqual([code, stdout], [0, ""]);
      assert.match(stderr, message);
    }
    assert.deepEqual(given.forge.received, []);
  });

  it("prints the section with --dry-run, even if the service is away", async () => {
    const given = await setUp();
    const path = await given.fixture.write("report.xml", reportOf({ broken: "failed" }));
    const { stdout } = await run(given, ["comment", "--dry-run", path], {
      PLATFORM_API_TOKEN: "",
    });
    assert.match(
      stdout,
      /^\*\*1 test failed: it is unknown whether it is yours\.\*\*\n\n#### `CI \/ unit`: 1 failed/,
    );
    assert.match(stdout, /\nNo verdicts: `` PLATFORM_API_TOKEN is missing/);
    assert.match(stdout, /\n\*\*Failed\*\* \(1\)\n/);
    assert.deepEqual(given.forge.received, []);
  });

  it("says before anything else that the job ended red without a failed test", async () => {
    const given = await setUp();
    const path = await given.fixture.write("report.xml", reportOf({ good: "passed" }));
    const { stdout } = await run(given, ["comment", "--exit-code", "134", path]);
    assert.equal(stdout, "acme/shop#12\n");
    assert.match(
      given.forge.comments[0]!.body,
      /\*\*Ended red without a failed test\. No test failed\.\*\*[^]*#### `CI \/ unit`: red without a failed test.*\n\n\*\*Ended red without a failed test\*\*: exit code 134/,
    );
  });

  it("prints with --json what was written", async () => {
    const given = await setUp();
    const path = await given.fixture.write("report.xml", reportOf({ broken: "failed" }));
    const { stdout } = await run(given, ["comment", "--json", path]);
    const { comment, job, failed, yours, flaky } = JSON.parse(stdout);
    assert.deepEqual(
      { comment, job, failed, yours, flaky },
      { comment: "acme/shop#12", job: "CI / unit", failed: 1, yours: 1, flaky: 0 },
    );
  });

  it("needs a report", async () => {
    const given = await setUp();
    const { code, stderr } = await run(given, ["comment"]);
    assert.equal(code, 2);
    assert.match(stderr, /missing REPORTS/);
  });
});

describe("gate --comment", () => {
  it("writes the comment, and keeps the exit code when that fails", async () => {
    for (const isReadOnly of [false, true]) {
      const given = await setUp({ isReadOnly });
      const flaky = await given.fixture.write("flaky.xml", reportOf({ flaky: "failed" }));
      const broken = await given.fixture.write("broken.xml", reportOf({ broken: "failed" }));
      const green = await run(given, ["gate", "--comment", flaky]);
      assert.equal(green.code, 0, green.stdout + green.stderr);
      const args = ["gate", "--comment", "--job", "unit, node 20", broken];
      const red = await run(given, args, { GITHUB_RUN_ID: "2" });
      assert.equal(red.code, 1);
      if (isReadOnly) {
        assert.match(red.stderr, /^comment: .*status 403/m);
        assert.deepEqual(given.forge.comments, []);
      } else {
        assert.equal(given.forge.comments.length, 1);
        const { body } = given.forge.comments[0]!;
        assert.match(body, /2 tests failed: 1 is probably yours, 1 is not/);
        assert.deepEqual(parseComment(body).map(({ job }) => job), [
          "CI / unit",
          "unit, node 20",
        ]);
      }
    }
  });
});
