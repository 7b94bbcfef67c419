/** From the reports of CI jobs to the exit code of the gate: upload.sh, `up`, the quarantine policy, `gate`. */
import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { copyTemplate } from "../database.ts";
import { createAcme, prepare } from "../e2e/prepare.ts";
import { type Running, start } from "../e2e/program.ts";
import { withoutDatabase } from "../lib/cli/run_in_process.ts";
import { waitUntil } from "../wait_until.ts";

const SCRIPT = fileURLToPath(new URL("../../deploy/ci/upload.sh", import.meta.url));
const PUSHES = 3;

/** A job of GitHub Actions as its runner describes it. */
type Job = Record<"RUNNER_OS" | "GITHUB_RUN_ATTEMPT", string>;

describe("a test that always fails on one system", () => {
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
    environment = { DATA_DIR: await copyTemplate() };
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
    await service.stop("SIGTERM");
    await Deno.remove(environment.DATA_DIR!, { recursive: true });
    await Deno.remove(checkout, { recursive: true });
  });

  async function commitNext() {
    push++;
    const author = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
    await Deno.writeTextFile(join(checkout, "version"), String(push));
    await git(["add", "version"]);
    await git([...author, "commit", "--quiet", "--message", String(push)]);
  }

  async function jobOf(repository: string, job: Job): Promise<Record<string, string>> {
    return {
      GITHUB_ACTIONS: "true",
      GITHUB_EVENT_NAME: "push",
      GITHUB_REPOSITORY: repository,
      GITHUB_SHA: await git(["rev-parse", "HEAD"]),
      GITHUB_REF: "refs/heads/main",
      GITHUB_RUN_ID: String(push),
      GITHUB_JOB: "unit",
      RUNNER_ARCH: "X64",
      ...job,
    };
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
        ...await jobOf(repository, job),
        TEST_ANALYTICS_URL: service.uploadUrl,
        TEST_ANALYTICS_REPORTS: "junit.xml",
        TEST_ANALYTICS_STRICT: "true",
        UPLOAD_TOKEN: tokens.upload,
      },
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stdout));
  }

  /** Waits until so many submissions are processed. */
  async function untilProcessed(repository: string, count: number): Promise<void> {
    const url = `${service.url}/api/repos/${repository}/submissions?limit=100`;
    await waitUntil(`${count} submissions of ${repository}`, async () => {
      const response = await fetch(url, { headers: { authorization: `Bearer ${tokens.api}` } });
      const { submissions = [] } = await response.json();
      return submissions.filter((one: { status: string }) => one.status === "processed").length ===
        count;
    });
  }

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

  it("stays red: it is not flaky, and no policy quarantines it", async () => {
    const [linux, windows] = ["Linux", "Windows"].map((RUNNER_OS): Job => ({
      RUNNER_OS,
      GITHUB_RUN_ATTEMPT: "1",
    }));
    for (let count = 1; count <= PUSHES; count++) {
      await commitNext();
      await upload("acme/paths", linux!, false);
      await upload("acme/paths", windows!, true);
      await untilProcessed("acme/paths", 2 * count);
    }
    assert.doesNotMatch(await quarantined(), /joins/);
    await commitNext();
    assert.equal(await gate("acme/paths", windows!), 1);
  });

  it("is quarantined and excused when it fails now and then on the same system", async () => {
    const attempt = (number: number): Job => ({
      RUNNER_OS: "Windows",
      GITHUB_RUN_ATTEMPT: String(number),
    });
    for (let count = 1; count <= PUSHES; count++) {
      await commitNext();
      await upload("acme/shop", attempt(1), true);
      await upload("acme/shop", attempt(2), false);
      await untilProcessed("acme/shop", 2 * count);
    }
    await waitUntil("the policy was applied", async () => /joins/.test(await quarantined()));
    await commitNext();
    assert.equal(await gate("acme/shop", attempt(1)), 0);
  });
});
