/** The workflow of two halves for pull requests of forks, as the guide has it, with a fake of GitHub. */
import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { createAcme, newServiceData, prepare, type ServiceData } from "../e2e/prepare.ts";
import { type Running, start } from "../e2e/program.ts";
import { type FakeForge, FORGE_TOKEN, startFakeForge } from "../lib/forge/fake_forge.ts";
import { waitUntil } from "../wait_until.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The head of the pull request that the fake has. */
const HEAD = "a".repeat(40);

describe("the workflow of two halves in the guide", () => {
  let folder: string;
  let service: Running;
  let forge: FakeForge;
  let data: ServiceData;
  let environment: Record<string, string>;
  let tokens: Awaited<ReturnType<typeof createAcme>>;
  let first: Record<string, unknown>;
  let second: Record<string, unknown>;

  before(async () => {
    folder = await Deno.makeTempDir({ prefix: "test-analytics-fork-" });
    data = await newServiceData();
    environment = { ...data.environment };
    tokens = await createAcme(environment);
    service = await start(["up", "--port", "0", "--upload-port", "0"], environment);
    forge = startFakeForge("github");
    const guide = await Deno.readTextFile(join(ROOT, "docs/guides/comment.md"));
    const section = guide.split("### Pull requests from forks\n")[1]!;
    const [halfOne, halfTwo] = [...section.matchAll(/^```yaml\n([^]*?)^```$/gm)]
      .map(([, text = ""]) => parse(text));
    [first] = halfOne;
    second = halfTwo;
    await Deno.mkdir(join(folder, "bin"));
    const shim = join(folder, "bin/test-analytics");
    await Deno.writeTextFile(
      shim,
      `#!/bin/sh\nexec "${Deno.execPath()}" run --quiet -A --no-check "${ROOT}main.ts" "$@"\n`,
    );
    await Deno.chmod(shim, 0o755);
  });
  after(async () => {
    await service.stop("SIGTERM");
    await forge.close();
    await data.remove();
    await Deno.remove(folder, { recursive: true });
  });

  /** A text with expressions, as the runner evaluates it. */
  function evaluated(text: string, values: Record<string, string>): string {
    return text.replaceAll(/\$\{\{ (.*?) \}\}/g, (_, expression) => {
      assert.ok(expression in values, expression);
      return values[expression]!;
    });
  }

  it("stores a fork's report at the fork's commit, and comments once", async () => {
    // First half: each job of the pull request keeps its reports. No secret is in it.
    const { name, path } = first.with as { name: string; path: string };
    assert.equal(path, "reports/");
    assert.doesNotMatch(JSON.stringify(first), /secrets|token/);
    for (const os of ["Linux", "Windows"]) {
      const artifact = evaluated(name, {
        "github.job": "unit",
        "runner.os": os,
        "join(matrix.*, '-')": "20",
      });
      const failure = os === "Windows" ? `<failure message="expected a/b"/>` : "";
      await Deno.mkdir(join(folder, "artifacts", artifact), { recursive: true });
      await Deno.writeTextFile(
        join(folder, "artifacts", artifact, "junit.xml"),
        `<testsuite name="paths"><testcase classname="Paths" name="joins">${failure}</testcase></testsuite>`,
      );
    }
    // Second half, at the default branch, started by the end of that run.
    const event = {
      workflow_run: {
        id: 71,
        run_attempt: 2,
        html_url: "https://github.com/acme/shop/actions/runs/71",
        head_sha: HEAD,
        head_branch: "fix",
        head_repository: { owner: { login: "fork-er" }, full_name: "fork-er/shop" },
        pull_requests: [],
      },
      repository: { default_branch: "main" },
    };
    await Deno.writeTextFile(join(folder, "event.json"), JSON.stringify(event));
    const { reports } = second.jobs as Record<string, {
      permissions: Record<string, string>;
      steps: { uses?: string; run?: string; env?: Record<string, string> }[];
    }>;
    assert.deepEqual(reports!.permissions, { actions: "read", "pull-requests": "write" });
    const [download, step] = reports!.steps;
    assert.match(download!.uses!, /^actions\/download-artifact@/);
    const values = {
      "secrets.UPLOAD_TOKEN": tokens.upload,
      "github.token": FORGE_TOKEN,
      "secrets.PLATFORM_API_TOKEN": tokens.api,
    };
    const script = step!.run!.replace("https://reports.example", service.uploadUrl);
    const given = Object.entries(step!.env!).map(([name, text]) => [name, evaluated(text, values)]);
    const { code, stdout, stderr } = await new Deno.Command("bash", {
      args: ["-e", "-o", "pipefail", "-c", script],
      cwd: folder,
      clearEnv: true,
      env: {
        PATH: `${join(folder, "bin")}:${process.env.PATH}`,
        HOME: process.env.HOME ?? folder,
        GITHUB_ACTIONS: "true",
        GITHUB_EVENT_NAME: "workflow_run",
        GITHUB_EVENT_PATH: join(folder, "event.json"),
        GITHUB_REPOSITORY: "acme/shop",
        GITHUB_SERVER_URL: "https://github.com",
        GITHUB_SHA: "b".repeat(40),
        GITHUB_REF: "refs/heads/main",
        GITHUB_RUN_ID: "72",
        GITHUB_RUN_ATTEMPT: "1",
        GITHUB_JOB: "reports",
        RUNNER_OS: "Linux",
        RUNNER_ARCH: "X64",
        ...Object.fromEntries(given),
        PLATFORM_API_URL: service.url,
        GITHUB_API_URL: forge.url,
      },
    }).output();
    const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assert.equal(code, 0, output);
    for (const secret of Object.values(values)) assert.ok(!output.includes(secret), output);

    let listed: Record<string, unknown>[] = [];
    await waitUntil("both reports are processed", async () => {
      const [text = "[]"] = await prepare(environment, [
        ["submission", "list", "--org", "acme", "--repo", "acme/shop", "--json"],
      ]);
      listed = JSON.parse(text);
      return listed.filter(({ status }) => status === "processed").length === 2;
    }, { pauseMs: 100 });
    for (const one of listed) {
      assert.deepEqual([one.commit_oid, one.branch, one.job, one.attempt, one.build_url], [
        HEAD,
        "fork-er:fix",
        "unit",
        "2",
        "https://github.com/acme/shop/actions/runs/71",
      ]);
    }
    assert.deepEqual(listed.map(({ environment }) => environment).sort(), [
      "Linux-20",
      "Windows-20",
    ]);
    assert.equal(forge.comments.length, 1, output);
    assert.match(forge.comments[0]!.body, /1 test failed/);
    assert.equal(forge.received.filter((line) => line.startsWith("POST")).length, 1);
  });
});
