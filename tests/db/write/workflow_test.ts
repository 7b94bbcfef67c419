/** Workflows with a job of the same name: `codeVersionOf` in `db/read/fragments.ts`, and what asks about a run. */
import assert from "node:assert/strict";
import { after, before, beforeEach, it } from "@std/testing/bdd";
import { join } from "node:path";
import type { Repository } from "../../../db/admin/repositories.ts";
import { loadHasReruns } from "../../../db/read/reruns.ts";
import { deleteSubmission } from "../../../db/write/delete_submission.ts";
import { describeWithDatabases } from "../../database.ts";
import { type FakeApi, startFakeApi } from "../../lib/api_client/fake_api.ts";
import { withoutDatabase } from "../../lib/cli/run_in_process.ts";
import { NO_CI } from "../../no_ci.ts";
import { createFixture, DAY, type Fixture, NOW } from "../../routes/fixture.ts";
import { parseHtml } from "../../routes/html.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";

describeWithDatabases("workflows with a job of the same name", (database) => {
  let fixture: Fixture;
  let shop: Repository;
  let api: FakeApi;
  let folder: string;
  let count = 0;

  before(async () => {
    api = startFakeApi((request) => fixture.app(request));
    folder = await Deno.makeTempDir({ prefix: "test-analytics-workflow-" });
  });
  after(async () => {
    await api.close();
    await Deno.remove(folder, { recursive: true });
  });
  beforeEach(async () => {
    fixture = await createFixture(database(), { name: `workflow-${++count}` });
    shop = await fixture.addRepository("acme", "shop");
  });

  /** Uploads a run of the job `test`, at the same commit as all others. */
  async function upload(workflow: string, message: string | null, run = `${++count}`) {
    return await fixture.upload(shop, [
      { name: "a", ...message !== null && { conclusion: "failure", message } },
    ], {
      commitOid: SHA,
      branch: "fix",
      environment: "Linux-X64",
      job: "test",
      workflow,
      attempt: "1",
      buildUrl: `https://github.com/acme/shop/actions/runs/${run}`,
      recordedAt: NOW - DAY + ++count,
    });
  }

  async function evidenceOf({ submissionId }: { submissionId: string }): Promise<string> {
    const path = `/api/repos/acme/shop/submissions/${submissionId}/tests?status=failed`;
    const { tests } = await (await fixture.get(path)).json();
    return tests[0].evidence;
  }

  for (
    const [first, second] of [["CI", "ASan"], ["", "CI"], ["CI", ""]] as const
  ) {
    it(`prove nothing of each other: ${first || "unknown"} and ${second || "unknown"}`, async () => {
      await upload(first, null);
      const failed = await upload(second, "overflow");
      assert.deepEqual([failed.disruptionCount, await evidenceOf(failed)], [0, "few"]);
      const { tests } = await (await fixture.get("/api/repos/acme/shop/tests")).json();
      assert.deepEqual(tests, []);
      const { repositoryId } = shop;
      const window = { repositoryId, windowStart: NOW - 14 * DAY };
      assert.equal(await loadHasReruns(database().sql, window), false);
      const again = await upload(second, "overflow");
      assert.deepEqual([again.disruptionCount, await evidenceOf(again)], [0, "few"]);
    });
  }

  for (const workflow of ["", "ASan"]) {
    it(`is repeated by the same one: ${workflow || "unknown"}`, async () => {
      const passed = await upload(workflow, null);
      await upload("CI", null);
      const failed = await upload(workflow, "overflow");
      assert.deepEqual([failed.disruptionCount, await evidenceOf(failed)], [1, "passed_here"]);
      const { organizationId } = fixture.organization;
      await deleteSubmission(database().sql, { organizationId, key: passed.key });
      const { tests } = await (await fixture.get("/api/repos/acme/shop/tests")).json();
      assert.deepEqual(tests, [], "without the run that proved it");
    });
  }

  it("shows no truth of each other's failures", async () => {
    const failed = await upload("ASan", "overflow");
    const truth = async () => {
      const [row] = await database().sql<{ truth: string | null }[]>`
        select truth from failure_evidence where repository_id = ${shop.repositoryId}
          and submission_id = decode(${failed.submissionId}, 'hex')`;
      return row!.truth;
    };
    for (let run = 0; run < 2; run++) await upload("CI", null);
    assert.equal(await truth(), null);
    await upload("ASan", null);
    assert.equal(await truth(), "not_the_change");
  });

  it("in one build stand for themselves", async () => {
    const failed = await upload("ASan", "overflow", "7");
    await fixture.upload(shop, [{ name: "a" }], {
      commitOid: SHA,
      environment: "Linux-X64",
      job: "test",
      workflow: "CI",
      attempt: "2",
      buildUrl: "https://github.com/acme/shop/actions/runs/7",
      recordedAt: NOW - DAY + ++count,
    });
    const page = await fixture.get(`/repos/acme/shop/builds/${failed.submissionId}`);
    const { text } = parseHtml(await page.text());
    assert.match(text, /1 test failed/);
    assert.match(text.replaceAll(/\s/g, ""), /WorkflowASan,CI/);
  });

  /** The gate in a job of GitHub, where the test failed. */
  async function gate(workflow: string, run: string): Promise<string> {
    const report = join(folder, "report.xml");
    await Deno.writeTextFile(
      report,
      `<testsuite name="suite"><testcase classname="Class" name="a" file="test.ts"><failure message="overflow"/></testcase></testsuite>`,
    );
    const { stdout, stderr } = await withoutDatabase(["gate", "--exit-code", "1", report], {
      environment: {
        ...NO_CI,
        GITHUB_ACTIONS: "true",
        GITHUB_EVENT_NAME: "push",
        GITHUB_REPOSITORY: "acme/shop",
        GITHUB_SHA: SHA,
        GITHUB_REF: "refs/heads/fix",
        GITHUB_JOB: "test",
        GITHUB_WORKFLOW: workflow,
        GITHUB_RUN_ID: run,
        GITHUB_RUN_ATTEMPT: "1",
        RUNNER_OS: "Linux",
        RUNNER_ARCH: "X64",
        PLATFORM_API_URL: api.url,
        PLATFORM_API_TOKEN: fixture.token,
      },
      git: () => Promise.resolve(""),
      now: () => NOW,
    });
    assert.notEqual(stdout, "", stderr);
    return stdout;
  }

  it("are distinguished by the gate, before an upload and after it", async () => {
    await upload("CI", null);
    assert.doesNotMatch(await gate("ASan", "72"), /same code|not yours/);
    await upload("ASan", "overflow", "72");
    assert.doesNotMatch(await gate("ASan", "72"), /same code|not yours/);
    assert.match(await gate("CI", "73"), /not yours: it also passed on the same code/);
    await upload("CI", "overflow", "73");
    assert.match(await gate("CI", "73"), /not yours: it also passed on the same code/);
  });
});
