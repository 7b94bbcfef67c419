/**
 * Random histories of uploads: the evidence for each failure is that of `evidence_rules.ts`, and the gate, the
 * comment and the page of a build say the same of a run, before its upload and after it.
 * `deno task prove evidence 200` compares more of them.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, it } from "@std/testing/bdd";
import { type Repository, setBaseBranch } from "../../db/admin/repositories.ts";
import { detectedFacts } from "../../lib/ci/mod.ts";
import type { TestResult } from "../../lib/report/result.ts";
import { Random } from "../../tools/measure/bench/random.ts";
import { describeWithDatabase, describeWithDatabases } from "../database.ts";
import { checkTruthCounts } from "../db/truth_counts.ts";
import { withoutDatabase } from "../lib/cli/run_in_process.ts";
import { type FakeApi, startFakeApi } from "../lib/api_client/fake_api.ts";
import { NO_CI } from "../no_ci.ts";
import { createFixture, DAY, type Fixture, NOW } from "../routes/fixture.ts";
import { parseHtml } from "../routes/html.ts";
import { EvidenceRules, type PlainConclusion, type PlainRun, SET_UP } from "./evidence_rules.ts";

const { EVIDENCE_HISTORIES, TEST_DATABASES } = process.env;
/** One on another version of PostgreSQL. */
const HISTORIES = Number(EVIDENCE_HISTORIES ?? (TEST_DATABASES === "server" ? 1 : 2));
/** In the gate they run on a server if there is one: what is evidence is decided without the database. */
const describeHistories = EVIDENCE_HISTORIES ? describeWithDatabases : describeWithDatabase;
const UPLOADS = 25;

/** Tests whose sentences are looked for in each place. */
const MAX_LOOKED_FOR = 5;

const TESTS = ["a", "b", "c"];
const QUEUE = "gh-readonly-queue/main/pr-";
const MESSAGES = ["timeout", "refused", ""];
/** Branches with the pull requests that they are of; that of another name is one of a merge queue. */
const BRANCHES = [
  ...[["main", 0], ["main", 0], ["main", 0], ["fix", 7], ["fix", 7], ["fix-2", 7], ["fix", 0]],
  ...[["other", 0], ["other", 8], ["", 0], ["", 7], [QUEUE, 7], [QUEUE, 8]],
] as [branch: string, pull: number][];
/** Seconds between uploads. */
const GAPS = [600, 1_800, 5_400, 20_000, DAY, DAY, 3 * DAY, 9 * DAY];

/** The attempts of a test: most often it passes. */
function randomAttempts(random: Random): (string | null)[] {
  const message = MESSAGES[random.below(MESSAGES.length)]!;
  const kind = random.below(11);
  if (kind === 10) return [message, MESSAGES[random.below(MESSAGES.length)]!];
  return kind < 5 ? [null] : kind < 9 ? [message] : [message, null];
}

function randomTests(random: Random): Map<string, (string | null)[]> {
  const tests = new Map<string, (string | null)[]>();
  for (const name of TESTS) if (random.below(8) > 0) tests.set(name, randomAttempts(random));
  // Enough for many tests to fail at once, and for ten failures not to be many.
  const crowd = [0, 0, 0, 22, 60][random.below(5)]!;
  const failing = [0, 0, 6, 11, 20][random.below(5)]!;
  const message = MESSAGES[random.below(2)]!;
  for (let index = 0; index < crowd; index++) {
    tests.set(`crowd ${index}`, [index < failing ? message : null]);
  }
  // Of tests whose set-up fails some may run, or none.
  if (random.below(8) === 0) {
    if (random.below(2) === 0) tests.clear();
    tests.set(SET_UP, [MESSAGES[random.below(MESSAGES.length)]!]);
  }
  if (tests.size === 0) tests.set("a", [null]);
  return tests;
}

/** Uploads in the order of time; a commit is of one branch, one of the merge queue perhaps of main, too. */
function* randomRuns(random: Random): Generator<PlainRun, void> {
  let at = NOW - 300 * DAY;
  let commits = 0;
  const make = (
    branch: string,
    tests: PlainRun["tests"],
    more: Partial<PlainRun> = {},
  ): PlainRun => {
    at += GAPS[random.below(GAPS.length)]!;
    const commit = `c0ffee${String(++commits).padStart(4, "0")}`;
    return {
      at,
      branch: branch === QUEUE ? `${QUEUE}${more.pull}-${commit}` : branch,
      pull: 0,
      commit,
      job: random.below(6) > 0 ? "unit" : "slow",
      workflow: random.below(4) > 0 ? "" : "ci",
      environment: random.below(6) > 0 ? "Linux-X64" : "Windows-X64",
      build: `https://ci.example/${commits}`,
      // Some services do not count attempts.
      attempt: random.below(3) > 0 ? "1" : "",
      tests,
      ...more,
    };
  };
  const same = { job: "unit", workflow: "", environment: "Linux-X64" };
  if (random.below(2) > 0) {
    for (let count = 0; count < 20; count++) yield make("main", new Map([["a", [null]]]), same);
  }
  if (random.below(2) > 0) {
    // A record of failures that were not the change.
    for (let count = 0; count < 11; count++) {
      const failed = make("other", new Map([["b", ["timeout"]]]), { ...same, attempt: "1" });
      yield failed;
      at += 60;
      yield { ...failed, at, attempt: "2", tests: new Map([["b", [null]]]) };
    }
  }
  let last = null as PlainRun | null;
  for (let count = 0; count < UPLOADS; count++) {
    const [branch, pull] = BRANCHES[random.below(BRANCHES.length)]!;
    const run = make(branch, randomTests(random), { pull });
    if (last?.branch.startsWith(QUEUE) && random.below(3) === 0) {
      last = { ...run, branch: "main", pull: 0, commit: last.commit };
    } else if (last !== null && random.below(3) === 0) {
      const attempt = last.attempt && String(Number(last.attempt) + 1);
      const tests = random.below(4) > 0 ? run.tests : last.tests;
      last = { ...last, at: run.at, tests, attempt };
      // Another workflow has a job of the same name.
      if (random.below(4) === 0) last = { ...last, workflow: "asan", build: run.build };
    } else {
      last = run;
    }
    yield last;
  }
}

function resultsOf({ tests }: PlainRun): Partial<TestResult>[] {
  return [...tests].flatMap(([name, attempts]) =>
    attempts.map((message) => ({
      name,
      ...message !== null && { conclusion: "failure" as const, message },
    }))
  );
}

function reportOf({ tests }: PlainRun): string {
  const cases = [...tests].map(([name, attempts]) => {
    const isFlaky = attempts.includes(null);
    const failures = attempts.filter((message) => message !== null).map((message, index) => {
      // Several elements `failure` would be one result.
      const element = isFlaky ? "flakyFailure" : index === 0 ? "failure" : "rerunFailure";
      return `<${element}${message && ` message="${message}"`}/>`;
    });
    return `<testcase classname="Class" name="${name}" file="test.ts">${
      failures.join("")
    }</testcase>`;
  });
  return `<testsuite name="suite">${cases.join("")}</testsuite>`;
}

interface Said {
  name: string;
  evidence: string | null;
  blame: string | null;
  share: number | null;
  share_of: number | null;
  share_from: string | null;
}

/** A conclusion with the field names of the API. */
function shown(name: string, { evidence, blame, share }: PlainConclusion): Said {
  return {
    name,
    evidence,
    blame,
    share: share && Math.floor(share.notTheChange * 1000 / share.of) / 1000,
    share_of: share && share.of,
    share_from: share && share.from,
  };
}

const factsOf = ({ name, evidence, blame, share, share_of, share_from }: Said): Said => ({
  name,
  evidence,
  blame,
  share,
  share_of,
  share_from,
});

const byName = (a: Said, b: Said) => a.name < b.name ? -1 : 1;

describeHistories("the evidence in random histories", (database) => {
  let api: FakeApi;
  let folder: string;
  let fixture: Fixture;
  let repository: Repository;

  before(async () => {
    api = startFakeApi((request) => fixture.app(request));
    folder = await mkdtemp(join(tmpdir(), "test-analytics-evidence-"));
  });
  after(async () => {
    await api.close();
    await rm(folder, { recursive: true });
  });

  /** Runs a command as the job of a run. */
  async function command(words: string[], run: PlainRun): Promise<string> {
    const report = join(folder, "report.xml");
    await writeFile(report, reportOf(run));
    const facts = [
      ...["--repo", "acme/shop", "--job", run.job, "--environment", run.environment],
      ...["--commit", run.commit, "--build-url", run.build, "--attempt", run.attempt],
      ...run.branch === "" ? [] : ["--branch", run.branch],
    ];
    const { stdout, stderr } = await withoutDatabase([...words, ...facts, report], {
      environment: {
        ...NO_CI,
        // The name of a queue's branch says which pull request it tests.
        ...(run.pull > 0 && !run.branch.startsWith(QUEUE) || run.workflow !== "") && {
          BUILDKITE: "true",
          BUILDKITE_REPO: "https://github.com/acme/shop",
          BUILDKITE_PIPELINE_SLUG: run.workflow,
          BUILDKITE_PULL_REQUEST: run.branch.startsWith(QUEUE)
            ? "false"
            : String(run.pull || false),
        },
        PLATFORM_API_URL: api.url,
        PLATFORM_API_TOKEN: fixture.token,
      },
      git: () => Promise.resolve(""),
      now: () => run.at,
    });
    assert.notEqual(stdout, "", stderr);
    return stdout;
  }

  async function gate(run: PlainRun) {
    const { headline, failed } = JSON.parse(
      await command(["gate", "--exit-code", "1", "--json"], run),
    );
    return {
      headline,
      failed: (failed as (Said & { said: string })[]).map((one) => ({
        ...factsOf(one),
        said: one.said,
      })),
    };
  }

  for (let seed = 1; seed <= HISTORIES; seed++) {
    it(`is that of the definitions, the same in every place (seed ${seed})`, async () => {
      fixture = await createFixture(database(), { name: `histories-${seed}` });
      repository = await fixture.addRepository("acme", "shop");
      // Otherwise it is another one until there are builds of main.
      await setBaseBranch(database().sql, repository, "main");
      const rules = new EvidenceRules();
      for (const run of randomRuns(new Random(seed))) await check(run, rules);
    });
  }

  async function check(run: PlainRun, rules: EvidenceRules): Promise<void> {
    fixture.clock.now = run.at;
    const expected = rules.conclude(run);
    const failedAtLast = [...expected].filter(([name]) => !run.tests.get(name)!.includes(null))
      .map(([name, one]) => shown(name, one)).sort(byName);
    const what = JSON.stringify({ ...run, tests: [...run.tests] });
    const names = failedAtLast.map(({ name }) => name);
    const answer = rules.answer(run, names);
    const beforeUpload = names.length > 0 ? await gate(run) : null;
    if (beforeUpload) {
      const found = beforeUpload.failed.map(factsOf).sort(byName);
      const expected = names.map((name) => shown(name, answer.conclusions.get(name)!));
      assert.deepEqual(found, expected, `gate before ${what}`);
    }
    const { tests: _, at: recordedAt, commit: commitOid, build: buildUrl, pull, ...facts } = run;
    const { submissionId } = await fixture.upload(repository, resultsOf(run), {
      ...facts,
      branch: run.branch || null,
      ...detectedFacts(null, { branch: run.branch, commit: run.commit, isOwnRepository: true }),
      ...pull > 0 && { pullNumber: pull },
      recordedAt,
      uploadedAt: run.at,
      commitOid,
      buildUrl,
    });
    rules.add(run);
    await checkTruthCounts(database());
    const path = `/api/repos/acme/shop/submissions/${submissionId}/tests?status=failed&limit=100`;
    const { tests } = await (await fixture.get(path)).json();
    // Each failed attempt has the conclusion of its test.
    const ofTests = new Map((tests as Said[]).map((one) => [one.name, factsOf(one)]));
    assert.deepEqual(
      [...ofTests.values()].sort(byName),
      [...expected].map(([name, one]) => shown(name, one)).sort(byName),
      `stored ${what}`,
    );
    if (!beforeUpload) return;
    const afterwards = await gate(run);
    if (!answer.isItself) assert.deepEqual(afterwards, beforeUpload, `gate after ${what}`);
    const said = afterwards.failed.map(factsOf).sort(byName);
    assert.deepEqual(said, failedAtLast, `gate after ${what}`);
    const page = await pageOf(submissionId);
    // A page is of all runs of a build.
    const isFirst = rules.runs.filter(({ build }) => build === run.build).length === 1;
    const comment = (await command(["comment", "--dry-run"], run)).replaceAll("`", "");
    const [first] = comment.split("\n");
    // A run that is not whole says so before.
    assert.equal(first!.replace("Not all tests ran. ", ""), `**${afterwards.headline}**`, what);
    if (isFirst) {
      // The page also says how many tests ran.
      const whose = afterwards.headline.replace(/^.* failed: /, "failed: ");
      assert.ok(page.includes(whose), `${whose} ${page}`);
    }
    for (const { said } of afterwards.failed.slice(0, MAX_LOOKED_FOR)) {
      assert.ok(comment.includes(said), `${said}: ${comment}`);
      if (isFirst) assert.ok(page.includes(said), `${said}: ${page}`);
    }
  }

  async function pageOf(submissionId: string): Promise<string> {
    const page = await fixture.get(`/repos/acme/shop/builds/${submissionId}`);
    return parseHtml(await page.text()).text;
  }
});
