/** From the reports of CI jobs to the exit code of the gate: upload.sh, `up`, the quarantine policy, `gate`. */
import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { createAcme, newServiceData, prepare, type ServiceData } from "../e2e/prepare.ts";
import { type Running, start } from "../e2e/program.ts";
import { withoutDatabase } from "../lib/cli/run_in_process.ts";
import { waitUntil } from "../wait_until.ts";

const SCRIPT = fileURLToPath(new URL("../../deploy/ci/upload.sh", import.meta.url));
const PUSHES = 3;

const SECRET = "planted-secret";
const SECRETS = {
  GITHUB_TOKEN: SECRET,
  CI_JOB_TOKEN: SECRET,
  AWS_SECRET_ACCESS_KEY: SECRET,
};

/** What the CI service says of a job in addition to the commit. */
type Job = Record<string, string>;

const github = (system: string, attempt: number): Job => ({
  GITHUB_ACTIONS: "true",
  GITHUB_EVENT_NAME: "push",
  GITHUB_SERVER_URL: `https://x-access-token:${SECRET}@github.com`,
  GITHUB_REF: "refs/heads/main",
  GITHUB_JOB: "unit",
  GITHUB_RUN_ATTEMPT: String(attempt),
  RUNNER_OS: system,
  RUNNER_ARCH: "X64",
  RUNNER_NAME: `https://user:${SECRET}@runner`,
});

/** A cell of a matrix: its values are in no variable. */
const jenkins = (node: string): Job => ({
  JENKINS_URL: "https://jenkins.example/",
  JOB_NAME: "shop/main",
  STAGE_NAME: "Test",
  BRANCH_NAME: "main",
  NODE_NAME: node,
});

describe("a test that always fails on one system", () => {
  let data: ServiceData;
  let environment: Record<string, string>;
  let service: Running;
  let tokens: Awaited<ReturnType<typeof createAcme>>;
  let checkout: string;
  let push = 0;

  const git = async (args: string[]) => {
    const { stdout } = await new Deno.Command("git", { args, cwd: checkout }).output();
    return new TextDecoder().decode(stdout).trim();
  };

  before(async () => {
    data = await newServiceData();
    environment = { ...data.environment };
    tokens = await createAcme(environment);
    await prepare(environment, [
      ["quarantine", "policy", "set", "--org", "acme", "--min-results", "2"],
    ]);
    service = await start(["up", "--port", "0", "--upload-port", "0"], environment);
    checkout = await Deno.makeTempDir({ prefix: "test-analytics-chain-" });
    await git(["init", "--quiet"]);
    await git(["remote", "add", "origin", "https://github.com/acme/shop.git"]);
  });
  after(async () => {
    const { stderr } = await service.stop("SIGTERM");
    assert.ok(!stderr.includes(SECRET));
    await data.remove();
    await Deno.remove(checkout, { recursive: true });
  });

  async function commitNext() {
    push++;
    const author = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
    await Deno.writeTextFile(join(checkout, "version"), String(push));
    await git(["add", "version"]);
    await git([...author, "commit", "--quiet", "--message", String(push)]);
  }

  async function jobOf(repository: string, job: Job): Promise<Job> {
    const commit = await git(["rev-parse", "HEAD"]);
    const build = `https://user:${SECRET}@jenkins.example/job/shop/${push}/`;
    const address = `https://user:${SECRET}@github.com/${repository}.git`;
    return job.JENKINS_URL
      ? { ...job, GIT_URL: address, GIT_COMMIT: commit, BUILD_URL: build }
      : { ...job, GITHUB_REPOSITORY: repository, GITHUB_SHA: commit, GITHUB_RUN_ID: String(push) };
  }

  /** Writes the report of a job. */
  async function report(isRed: boolean) {
    const failure = isRed ? `<failure message="expected a\\b, found a/b"/>` : "";
    await Deno.writeTextFile(
      join(checkout, "junit.xml"),
      `<testsuite name="paths"><testcase classname="Paths" name="joins">${failure}</testcase>
        <testcase classname="Paths" name="other" time="${push}.${isRed ? 1 : 2}"/></testsuite>`,
    );
  }

  async function upload(repository: string, job: Job, isRed: boolean): Promise<void> {
    await report(isRed);
    const { code, stdout } = await new Deno.Command("sh", {
      args: [SCRIPT],
      cwd: checkout,
      clearEnv: true,
      env: {
        PATH: process.env.PATH ?? "",
        HOME: checkout,
        ...SECRETS,
        ...await jobOf(repository, job),
        TEST_ANALYTICS_URL: service.uploadUrl,
        TEST_ANALYTICS_REPORTS: "junit.xml",
        TEST_ANALYTICS_STRICT: "true",
        UPLOAD_TOKEN: tokens.upload,
      },
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stdout));
  }

  /** Waits until a number of submissions are processed. */
  async function untilProcessed(repository: string, count: number): Promise<void> {
    await waitUntil(`${count} submissions of ${repository}`, async () => {
      const { submissions = [] } = await read(`/api/repos/${repository}/submissions?limit=100`);
      return submissions.filter((one: { status: string }) => one.status === "processed").length ===
        count;
    }, { pauseMs: 100 });
  }

  const authorization = () => ({ authorization: `Bearer ${tokens.api}` });

  const read = async (path: string) =>
    await (await fetch(service.url + path, { headers: authorization() })).json();

  const quarantined = async () =>
    (await prepare(environment, [["quarantine", "list", "--org", "acme"]])).join("");

  async function gate(repository: string, job: Job): Promise<number> {
    await report(true);
    const { code } = await withoutDatabase([
      "gate",
      "--exit-code",
      "1",
      join(checkout, "junit.xml"),
    ], {
      environment: {
        ...await jobOf(repository, job),
        PLATFORM_API_URL: service.url,
        PLATFORM_API_TOKEN: tokens.api,
      },
      git,
      now: () => Math.floor(Date.now() / 1000),
    });
    return code;
  }

  const LEGS: Record<string, { repository: string; linux: Job; windows: Job }> = {
    "environments of GitHub Actions": {
      repository: "acme/paths",
      linux: github("Linux", 1),
      windows: github("Windows", 1),
    },
    "cells of a matrix of Jenkins, which no variable distinguishes": {
      repository: "acme/cells",
      linux: jenkins("agent-1"),
      windows: jenkins("agent-2"),
    },
  };
  for (const [name, { repository, linux, windows }] of Object.entries(LEGS)) {
    it(`stays red: it is not flaky, and no policy quarantines it: ${name}`, async () => {
      for (let count = 1; count <= PUSHES; count++) {
        await commitNext();
        await upload(repository, linux, false);
        await upload(repository, windows, true);
        await untilProcessed(repository, 2 * count);
      }
      assert.deepEqual((await read(`/api/repos/${repository}/tests`)).tests, []);
      assert.doesNotMatch(await quarantined(), /joins/);
      await commitNext();
      assert.equal(await gate(repository, windows), 1);
    });
  }

  it("is quarantined and excused when it fails now and then on the same system", async () => {
    for (let count = 1; count <= PUSHES; count++) {
      await commitNext();
      await upload("acme/shop", github("Windows", 1), true);
      await upload("acme/shop", github("Windows", 2), false);
      await untilProcessed("acme/shop", 2 * count);
    }
    await waitUntil("the policy was applied", async () => /joins/.test(await quarantined()), {
      pauseMs: 100,
    });
    await commitNext();
    assert.equal(await gate("acme/shop", github("Windows", 1)), 0);
  });

  it("shows no secret of its jobs on a page or in the API", async () => {
    const paths = ["/repos", "/flaky-tests", "/api/me/repositories", "/api/v1/flaky/tests"];
    for (const repository of ["acme/paths", "acme/cells", "acme/shop"]) {
      const { submissions } = await read(`/api/repos/${repository}/submissions?limit=100`);
      paths.push(
        `/repos/${repository}`,
        `/repos/${repository}/builds`,
        `/api/repos/${repository}/submissions`,
        `/api/repos/${repository}/failures`,
        ...submissions.flatMap(({ id }: { id: string }) => [
          `/repos/${repository}/builds/${id}`,
          `/api/repos/${repository}/submissions/${id}/tests`,
        ]),
      );
    }
    for (const path of paths) {
      const response = await fetch(service.url + path, { headers: authorization() });
      assert.equal(response.status, 200, path);
      assert.ok(!(await response.text()).includes(SECRET), path);
    }
  });
});
