import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { type S3Server, startS3Server } from "../s3/server.ts";
import { run, type Running, start } from "./program.ts";
import { createAcme, newServiceData, type ServiceData } from "./prepare.ts";

const REPORT = `<testsuite name="unit">
  <testcase classname="cart" name="adds" file="web/cart.test.ts"><flakyFailure message="timed out"/></testcase>
  <testcase classname="cart" name="removes" file="web/cart.test.ts"/>
</testsuite>`;
/** What a job must never need. */
const NO_DATABASE = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" };

describe("the guide from CI to the first flaky test", () => {
  let data: ServiceData;
  let root: string;
  let checkout: string;
  let commit: string;
  let token: string;
  let database: Record<string, string>;
  let server: S3Server;
  let service: Running;

  before(async () => {
    data = await newServiceData();
    root = await Deno.makeTempDir({ prefix: "test-analytics-guide-" });
    checkout = join(root, "checkout");
    await Deno.mkdir(join(checkout, "reports"), { recursive: true });
    await Deno.writeTextFile(join(checkout, "CODEOWNERS"), "/web/ @acme/web\n");
    await Deno.writeTextFile(join(checkout, "reports", "junit.xml"), REPORT);
    await shell(
      "git init -q . && git add CODEOWNERS && " +
        "git -c user.name=x -c user.email=x@example.org commit -qm x",
    );
    commit = (await shell("git rev-parse HEAD")).trim();
    server = await startS3Server("ci-reports");
    database = { ...data.environment };
    service = await start(["serve", "--port", "0"], database);
    token = (await createAcme(database)).api;
  });
  after(async () => {
    await service.stop("SIGTERM");
    await server.close();
    await data.remove();
    await Deno.remove(root, { recursive: true });
  });

  /** Runs a script in the checkout, as a job does. */
  async function shell(script: string, env: Record<string, string> = {}): Promise<string> {
    const { success, stdout, stderr } = await new Deno.Command("bash", {
      args: ["-ec", script],
      cwd: checkout,
      env,
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  }

  async function get(path: string) {
    const response = await fetch(`${service.url}${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(response.status, 200);
    return await response.json();
  }

  const jobs = {
    "GitHub Actions": (repository: string) => ({
      GITHUB_ACTIONS: "true",
      GITHUB_REPOSITORY: repository,
      GITHUB_SHA: commit,
      GITHUB_REF: "refs/heads/main",
      GITHUB_RUN_ID: "7",
    }),
    "GitLab CI": (repository: string) => ({
      GITLAB_CI: "true",
      CI_PROJECT_PATH: repository,
      CI_COMMIT_SHA: commit,
      CI_COMMIT_BRANCH: "main",
      CI_PIPELINE_URL: "https://gitlab.example/acme/shop/-/pipelines/7",
    }),
  };
  for (const [name, environment] of Object.entries(jobs)) {
    it(`leads there from ${name}, through a bucket`, async () => {
      const repository = `acme/${name.replaceAll(" ", "-").toLowerCase()}`;
      const main = new URL("../../main.ts", import.meta.url).pathname;
      await shell(
        `"${Deno.execPath()}" run -A "${main}" upload --to s3://ci-reports/acme reports/`,
        { ...NO_DATABASE, ...server.environment, ...environment(repository) },
      );
      const { code, stderr } = await run(
        ["watch", "s3://ci-reports/acme", "--org", "acme", "--once"],
        { ...database, ...server.environment },
      );
      assert.equal(code, 0, stderr);
      const { submissions } = await get(`/api/repos/${repository}/submissions`);
      assert.equal(submissions[0].status, "processed");
      assert.equal(submissions[0].commit_oid, commit);
      const { tests } = await get(`/api/repos/${repository}/tests`);
      assert.deepEqual(tests.map((test: { name: string }) => test.name), ["adds"]);
      const owned = await get(
        `/api/v1/flaky/tests?quarantine=false&repository=${repository}&q=tags:owner:@acme/web`,
      );
      assert.equal(owned.count, 1);
    });
  }

  it("leads there with tar alone", async () => {
    const guide = await Deno.readTextFile(
      new URL("../../docs/guides/uploads_by_bucket.md", import.meta.url),
    );
    const script = /```sh\n(mkdir -p upload[^]*?)```/.exec(guide)?.[1] ?? "";
    await shell(script, {
      CI_COMMIT_SHA: commit,
      CI_COMMIT_REF_NAME: "main",
      CI_PROJECT_NAMESPACE: "acme",
      CI_PROJECT_URL: "https://gitlab.example/acme/shop",
      CI_PROJECT_NAME: "tar",
      CI_PIPELINE_URL: "https://gitlab.example/acme/tar/-/pipelines/7",
    });
    const inbox = join(root, "inbox");
    await Deno.mkdir(inbox);
    const archive = join(inbox, "7-1.gz");
    await Deno.copyFile(join(checkout, "upload.gz"), archive);
    // Otherwise `watch` waits until it has not changed for two seconds.
    const hourAgo = Date.now() / 1000 - 3_600;
    await Deno.utime(archive, hourAgo, hourAgo);
    const { code, stdout, stderr } = await run(
      ["watch", inbox, "--org", "acme", "--once"],
      database,
    );
    assert.deepEqual([code, stdout], [0, "7-1.gz\tprocessed\t3\n"], stderr);
    const { tests } = await get("/api/repos/acme/tar/tests");
    assert.equal(tests[0].latest_nondeterministic_commit_oid, commit);
  });
});
