import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { readCi } from "../../lib/ci/mod.ts";
import { parseCi } from "../../lib/ci/variables.ts";
import { inspectArchive } from "../../lib/report/archive/mod.ts";
import { findReports } from "../../lib/report/report_files.ts";
import { type Running, start } from "../e2e/program.ts";
import { createAcme, newServiceData, prepare, type ServiceData } from "../e2e/prepare.ts";
import { type Issuer, startIssuer } from "../lib/intake/receive/issuer.ts";
import { waitUntil } from "../wait_until.ts";
import {
  gitlabTemplate,
  SCRIPT_FILE,
  TEMPLATE_FILE,
  uploadScript,
} from "../../tools/ci_template.ts";

const FOLDER = fileURLToPath(new URL("../../deploy/ci/", import.meta.url));
const TOKEN = `up_${"5".repeat(64)}`;
const REPORT = `<testsuite name="unit"><testcase classname="cart" name="adds"/></testsuite>`;

/** The inputs of the action; GitLab has a variable for each. */
interface Inputs {
  url: string;
  token?: string;
  reports?: string;
  coverage?: string;
  tags?: string;
  timeout?: string;
  strict?: string;
  /** What the service issues. */
  idToken?: string;
}

/** How a job ended. */
interface Ended {
  code: number;
  output: string;
}

/** A request that the receiver accepted. */
interface Upload {
  path: string;
  authorization: string | null;
  bytes: Uint8Array;
}

describe("the scripts for CI jobs", () => {
  let checkout: string;
  let commit: string;
  const uploads: Upload[] = [];
  const servers: Deno.HttpServer<Deno.NetAddr>[] = [];
  /** Ends the requests that were never answered. */
  const release: (() => void)[] = [];

  before(async () => {
    checkout = await Deno.makeTempDir({ prefix: "test-analytics-job-" });
    await Deno.mkdir(join(checkout, "out put"));
    await Deno.writeTextFile(join(checkout, "out put", "a.xml"), REPORT);
    await Deno.writeTextFile(join(checkout, "b[1].xml"), REPORT);
    await Deno.writeTextFile(join(checkout, "lcov.info"), "SF:a\nDA:1,1\nend_of_record\n");
    await Deno.writeTextFile(join(checkout, "CODEOWNERS"), "* @acme/web\n");
    const git = async (...args: string[]) => {
      const { success, stdout } = await new Deno.Command("git", { args, cwd: checkout }).output();
      assert.ok(success, args.join(" "));
      return new TextDecoder().decode(stdout).trim();
    };
    await git("init", "--quiet");
    const author = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
    await git(...author, "commit", "--quiet", "--allow-empty", "--message", "x");
    commit = await git("rev-parse", "HEAD");
  });
  after(async () => {
    for (const end of release) end();
    for (const server of servers) await server.shutdown();
    await Deno.remove(checkout, { recursive: true });
  });

  /** The address of a receiver with this response; `null`: it never responds. */
  function receiver(answer: Response | null): string {
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      async (request) => {
        const { pathname } = new URL(request.url);
        const bytes = new Uint8Array(await request.arrayBuffer());
        uploads.push({
          path: pathname,
          authorization: request.headers.get("authorization"),
          bytes,
        });
        if (answer) return answer.clone();
        return await new Promise<Response>((resolve) =>
          release.push(() => resolve(new Response()))
        );
      },
    );
    servers.push(server);
    return `http://127.0.0.1:${server.addr.port}`;
  }
  /** The address at which GitHub issues an identity token for an upload door. */
  function identityTokens(token: string, url: string): string {
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      (request) => {
        const { searchParams } = new URL(request.url);
        assert.equal(request.headers.get("authorization"), "Bearer planted");
        assert.deepEqual(Object.fromEntries(searchParams), {
          "api-version": "2.0",
          audience: url.replace(/\/$/, ""),
        });
        return Response.json({ count: 1, value: token });
      },
    );
    servers.push(server);
    return `http://127.0.0.1:${server.addr.port}/token?api-version=2.0`;
  }

  const stored = () => receiver(Response.json({ key: "acme/shop/1.gz" }, { status: 202 }));

  /** Forwards requests to another address. */
  function startProxy(target: () => string) {
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      ({ url, method, headers, body }) =>
        fetch(target() + new URL(url).pathname, { method, headers, body }),
    );
    return { url: `http://127.0.0.1:${server.addr.port}`, close: () => server.shutdown() };
  }

  async function shell(script: string, environment: Record<string, string>): Promise<Ended> {
    const { code, stdout, stderr } = await new Deno.Command("sh", {
      args: ["-c", script],
      cwd: checkout,
      clearEnv: true,
      env: { PATH: process.env.PATH ?? "", HOME: checkout, ...environment },
    }).output();
    const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, output: decode(stdout) + decode(stderr) };
  }

  /** Runs the step of the action as the runner does. */
  async function github({ idToken, ...inputs }: Inputs): Promise<Ended> {
    const action = parse(await Deno.readTextFile(join(FOLDER, "action.yml")));
    const [step] = action.runs.steps;
    const given: Record<string, string | undefined> = { token: TOKEN, ...inputs };
    const environment = Object.entries<string>(step.env).map(([name, value]) => {
      if (value === "${{ job.status }}") return [name, "success"];
      const [, input = ""] = /^\$\{\{ inputs\.(\w+) \}\}$/.exec(value) ?? [];
      assert.ok(input in action.inputs, input);
      return [name, given[input] ?? action.inputs[input].default];
    });
    return await shell(step.run, {
      ...Object.fromEntries(environment),
      ...idToken !== undefined && {
        ACTIONS_ID_TOKEN_REQUEST_URL: identityTokens(idToken, inputs.url),
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: "planted",
      },
      GITHUB_ACTIONS: "true",
      GITHUB_ACTION_PATH: FOLDER,
      GITHUB_REPOSITORY: "acme/shop",
      GITHUB_SHA: commit,
      GITHUB_REF: 'refs/heads/a"b',
      GITHUB_RUN_ID: "7",
      GITHUB_TOKEN: "planted",
      GITHUB_OUTPUT: join(checkout, "output"),
      GITHUB_STEP_SUMMARY: join(checkout, "summary.md"),
    });
  }

  /** Runs what the template runs after the tests. */
  async function gitlab({ url, token = TOKEN, idToken, ...inputs }: Inputs): Promise<Ended> {
    const template = parse(await Deno.readTextFile(TEMPLATE_FILE));
    const { after_script: [script], id_tokens } = template[".test-analytics"];
    assert.deepEqual(id_tokens, { TEST_ANALYTICS_ID_TOKEN: { aud: "$TEST_ANALYTICS_URL" } });
    const { when, ...job } = template[".test-analytics-job"];
    assert.deepEqual([when, job], ["always", { id_tokens, script: [script] }]);
    const environment = Object.entries(inputs)
      .map(([name, value]) => [`TEST_ANALYTICS_${name.toUpperCase()}`, value]);
    return await shell(script, {
      ...Object.fromEntries(environment),
      TEST_ANALYTICS_URL: url,
      UPLOAD_TOKEN: token,
      ...idToken !== undefined && { TEST_ANALYTICS_ID_TOKEN: idToken },
      GITLAB_CI: "true",
      CI_JOB_TOKEN: "planted",
      AWS_SECRET_ACCESS_KEY: "planted",
      CI_PROJECT_PATH: "acme/web/shop",
      CI_PROJECT_URL: "https://gitlab.example/acme/web/shop",
      CI_COMMIT_SHA: commit,
      CI_COMMIT_BRANCH: "main",
      CI_PIPELINE_URL: "https://gitlab.example/acme/web/shop/-/pipelines/7",
    });
  }

  const REPORTS = "out put\nb*.xml";

  describe("with `up`", () => {
    let data: ServiceData;
    let environment: Record<string, string>;
    let service: Running;
    let token: string;
    let issuer: Issuer;
    let proxy: { url: string; close(): Promise<void> };

    before(async () => {
      issuer = await startIssuer();
      // The address for which tokens are is known before the service listens.
      proxy = await startProxy(() => service.uploadUrl);
      data = await newServiceData();
      environment = {
        ...data.environment,
        PUBLIC_UPLOAD_URL: proxy.url,
        PUBLIC_URL: "https://pages.example",
      };
      token = (await createAcme(environment)).upload;
      service = await start(["up", "--port", "0", "--upload-port", "0"], environment);
      for (const [file, test] of [["trusted.xml", "pays"], ["flaky.xml", "adds"]] as const) {
        await Deno.writeTextFile(
          join(checkout, file),
          `<testsuite name="unit">
            <testcase classname="cart" name="${test}" file="${checkout}/web/cart.ts"><flakyFailure/></testcase>
          </testsuite>`,
        );
      }
    });
    after(async () => {
      await service.stop("SIGTERM");
      await proxy.close();
      await issuer.close();
      await data.remove();
    });

    for (const [job, repository] of [[github, "acme/shop"], [gitlab, "acme/web/shop"]] as const) {
      it(`a job of ${repository} uploads with the identity token of its service`, async () => {
        const claims = job === github
          ? { repository, repository_owner: "acme", sha: commit, ref: "refs/heads/topic" }
          : { project_path: repository, namespace_path: "acme/web", sha: commit, ref: "topic" };
        const claim = job === github ? "repository_owner=acme" : "namespace_path=acme/web";
        const exp = Math.floor(Date.now() / 1000) + 300;
        const all = { ...claims, run_id: "9", pipeline_id: "9", aud: proxy.url, exp };
        const idToken = await issuer.token({ ...all, iat: undefined, nbf: undefined });
        const inputs = { url: `${proxy.url}/`, token: "", idToken, reports: "trusted.xml" };
        const refused = await job(inputs);
        assert.match(refused.output, /does not accept the identity token of this job: .*trusted/);
        assert.ok(!refused.output.includes(idToken));
        const add = ["trust", "add", "--org", "acme", "--issuer", issuer.url, "--claims", claim];
        await prepare(environment, [add]);
        const { code, output } = await job({ ...inputs, strict: "true" });
        assert.equal(code, 0, output);
        assert.match(output, /: stored \(reports: 1, coverage files: 0\): acme/);
      });

      it(`the flaky test of a job of ${repository} is listed`, async () => {
        const url = service.uploadUrl;
        const stored = await job({ url, token, reports: "flaky.xml", strict: "true" });
        assert.equal(stored.code, 0, stored.output);
        assert.match(stored.output, /: stored \(reports: 1, coverage files: 0\): acme/);
        const [page] = /https:\/\/pages\.example\S+/.exec(stored.output) ?? [""];
        assert.match(page, /\/repos\/acme(%2Fweb)?\/shop\/build\?url=https\S+7$/);
        if (job === github) {
          const summary = await Deno.readTextFile(join(checkout, "summary.md"));
          // Other uploads of the job have theirs.
          assert.ok(summary.endsWith(`\n[All tests of this build](${page})\n`), summary);
        }
        const flaky = ["flaky", "--org", "acme", "--repo", repository, "--json"];
        let listed = "";
        await waitUntil("the test is listed", async () => {
          [listed = ""] = await prepare(environment, [flaky]);
          return listed.includes('"adds"') && listed.includes('"pays"');
        }, { pauseMs: 100 });
        const tests = JSON.parse(listed)
          .toSorted((a: { name: string }, b: { name: string }) => a.name < b.name ? -1 : 1);
        const [test, trusted] = tests;
        assert.deepEqual([tests.length, test.name, trusted.name], [2, "adds", "pays"]);
        assert.equal(test.file, "web/cart.ts");
        assert.equal(test.latest_nondeterministic_commit_oid, commit);
        assert.ok(test.latest_nondeterministic_negative_result.build_url.endsWith("/7"));
      });

      if (job === gitlab) continue;
      it(`a wrong token or report of a job of ${repository} is a warning`, async () => {
        const url = service.uploadUrl;
        const wrong = await job({ url, reports: "flaky.xml" });
        assert.equal(wrong.code, 0);
        assert.match(wrong.output, /does not accept UPLOAD_TOKEN/);
        await Deno.writeTextFile(join(checkout, "cut.xml"), "<testsuite><testcase");
        const cut = await job({ url, token, reports: "cut.xml" });
        assert.equal(cut.code, 0);
        assert.match(cut.output, /answered 400: \{"errors":.*cut\.xml/);
      });
    }
  });

  it("the guide has at most eight lines to copy, with inputs that exist", async () => {
    const guide = await Deno.readTextFile(join(FOLDER, "../../docs/guides/ci.md"));
    const blocks = [...guide.matchAll(/^```yaml\n([^]*?)^```$/gm)].map(([, block = ""]) => block);
    assert.equal(blocks.length, 3);
    for (const block of blocks.slice(0, 2)) assert.ok(block.trim().split("\n").length <= 8, block);
    const action = parse(await Deno.readTextFile(join(FOLDER, "action.yml")));
    const [step] = parse(blocks[0]!);
    for (const name of Object.keys(step.with)) assert.ok(name in action.inputs, name);
    const script = await Deno.readTextFile(join(FOLDER, "upload.sh"));
    for (const name of Object.keys(parse(blocks[1]!).test.variables)) {
      assert.match(script, new RegExp(`^#   ${name} `, "m"));
    }
    assert.equal(step.uses, "acme/ci/test-analytics@v1");
    assert.deepEqual(Object.keys(parse(blocks[1]!).include), ["project", "ref", "file"]);
    // The orb sets variables that the script reads.
    const command = parse(blocks[2]!).orbs["test-analytics"].commands.upload.steps[0].run.command;
    for (const [name] of command.matchAll(/TEST_ANALYTICS_\w+(?==)/g)) {
      assert.ok(script.includes(`\${${name}:-`), name);
    }
  });

  it("the gate of the action gets the reports, and ends as the tests without the program", async () => {
    const action = parse(await Deno.readTextFile(join(FOLDER, "action.yml")));
    const { run, shell, env } = action.runs.steps[1];
    assert.equal(shell, "bash");
    const programs = join(checkout, "programs");
    const gate = async (path: string) => {
      const { code, stdout } = await new Deno.Command("bash", {
        args: ["-c", `PATH="${path}"\n${run}`],
        env: {
          ...Object.fromEntries(Object.keys(env).map((name) => [name, ""])),
          TEST_ANALYTICS_REPORTS: "out put/\r\n  *.xml\n",
          TEST_ANALYTICS_EXIT_CODE: "3",
        },
      }).output();
      return { code, output: new TextDecoder().decode(stdout) };
    };
    const without = await gate(programs);
    assert.equal(without.code, 3);
    assert.match(without.output, /^::warning::test-analytics is not installed/);
    await Deno.mkdir(programs);
    const fake = "#!/bin/bash\nprintf '<%s>' \"$@\"; exit 7\n";
    await Deno.writeTextFile(join(programs, "test-analytics"), fake, { mode: 0o755 });
    assert.deepEqual(await gate(programs), {
      code: 7,
      output: "<gate><--exit-code><3><out put/><*.xml>",
    });
  });

  it("the template of GitLab contains the script", async () => {
    const text = await Deno.readTextFile(TEMPLATE_FILE);
    assert.equal(text, await gitlabTemplate(), "regenerate with: deno task fix");
    const script = await Deno.readTextFile(SCRIPT_FILE);
    assert.equal(script, await uploadScript(), "regenerate with: deno task fix");
  });

  for (const [name, job] of Object.entries({ "GitHub Actions": github, "GitLab CI": gitlab })) {
    describe(name, () => {
      it("uploads reports, coverage and owners, and prints what was stored", async () => {
        const inputs = { reports: REPORTS, coverage: "lcov.info", tags: "linux,nightly" };
        const { code, output } = await job({ url: `${stored()}/`, ...inputs });
        assert.equal(code, 0, output);
        assert.match(
          output,
          /^test-analytics: stored \(reports: 2, coverage files: 1\): acme\/shop\/1\.gz$/m,
        );
        const { path, authorization, bytes } = uploads.at(-1)!;
        assert.equal(authorization, `Bearer ${TOKEN}`);
        const archive = {
          name: "upload.gz",
          async *open() {
            yield bytes;
          },
        };
        const { metadata, ci, reports, coverage, codeowners } = await inspectArchive(archive);
        assert.deepEqual(reports.map(({ path }) => path), [
          "test-results/b[1].xml",
          "test-results/out put/a.xml",
        ]);
        assert.deepEqual(coverage.map(({ path }) => path), ["coverage/lcov.info"]);
        assert.equal(codeowners, "* @acme/web\n");
        const isGithub = job === github;
        assert.equal(path, "/upload");
        const { repository, branch, checkoutFolder, tags } = metadata!;
        assert.deepEqual([repository, branch, tags], ["", "", ["linux", "nightly"]]);
        assert.equal(checkoutFolder, await Deno.realPath(checkout));
        const run = readCi(parseCi(ci))!;
        assert.deepEqual(
          [run.repository, run.commit, run.tree, run.branch, run.buildUrl, run.repositoryUrl],
          [
            isGithub ? "acme/shop" : "acme/web/shop",
            commit,
            "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            isGithub ? 'a"b' : "main",
            isGithub
              ? "https://github.com/acme/shop/actions/runs/7"
              : "https://gitlab.example/acme/web/shop/-/pipelines/7",
            isGithub ? "https://github.com/acme/shop" : "https://gitlab.example/acme/web/shop",
          ],
        );
        assert.doesNotMatch(ci, /planted|TOKEN/);
      });

      const refusals: [name: string, url: () => string, warning: RegExp][] = [
        [
          "away",
          () => "http://127.0.0.1:1",
          /http:\/\/127\.0\.0\.1:1 does not answer: curl: \(7\)/,
        ],
        [
          "full",
          () => receiver(new Response(null, { status: 503, headers: { "retry-after": "30" } })),
          /its storage is full or unavailable/,
        ],
        ["slow", () => receiver(null), /does not answer: curl: \(28\)/],
        [
          "not for this token",
          () => receiver(new Response(null, { status: 401 })),
          /does not accept UPLOAD_TOKEN: create one with `test-analytics token create/,
        ],
        [
          "unhappy with a report",
          () => receiver(Response.json({ errors: { report: ["a.xml:\n::x"] } }, { status: 400 })),
          /answered 400: \{"errors":\{"report":\["a\.xml:\\n::x"\]\}\}/,
        ],
      ];
      for (const [name, url, warning] of job === github ? refusals : refusals.slice(0, 1)) {
        it(`warns when the receiver is ${name}`, async () => {
          const inputs = { url: url(), reports: REPORTS, timeout: "1" };
          const { code, output } = await job(inputs);
          assert.equal(code, 0, output);
          const prefix = job === github ? "::warning::" : "WARNING: ";
          assert.match(output, new RegExp(`^${prefix}test-analytics: nothing was uploaded: `, "m"));
          assert.match(output, warning);
          assert.ok(!output.includes(TOKEN));
        });
      }

      it("fails on request if nothing was uploaded", async () => {
        const inputs = { url: refusals[0]![1](), reports: REPORTS, timeout: "1" };
        assert.equal((await job({ ...inputs, strict: "true" })).code, 1);
      });

      // GitLab's template contains the same script.
      if (job === gitlab) return;

      it("takes the same files as `ingest`, on indented lines, with CRLF", async () => {
        const files = [
          ...["a.xml", "one/a.xml", "one/two/a.XML", "one/two/b.xml", "one/two/c.txt", "o+e/d.xml"],
          ...[".hidden/a.xml", "other/a.xml", "target/a.xml"],
        ];
        const table = [
          "globs/**/*.xml",
          "globs/**/a.xml",
          "globs/**",
          "./globs/o*/**/*.xml",
          "globs/*/*.xml",
          "globs/{one,other}/a.xml",
          "globs/one/two/[!a]*",
          "globs/o+e/**/?.xml",
          "globs/link",
          "globs/*",
          "globs/one",
          "globs/one\n\tglobs/one/*.xml\r\n\r\n  globs/**/b.xml  ",
        ].map((reports, at) => ({
          folder: `globs${at}`,
          reports: reports.replaceAll("globs", `globs${at}`),
        }));
        // Each in a folder of its own, all in one upload.
        for (const { folder } of table) {
          for (const file of files) {
            const path = join(checkout, folder, file);
            await Deno.mkdir(join(path, ".."), { recursive: true });
            await Deno.writeTextFile(path, REPORT.replace("adds", `adds ${folder} ${file}`));
          }
          await Deno.remove(join(checkout, folder, "link")).catch(() => {});
          await Deno.symlink("target", join(checkout, folder, "link"));
        }
        const all = table.map(({ reports }) => reports).join("\n");
        const { code, output } = await job({ url: stored(), reports: all, strict: "true" });
        assert.equal(code, 0, output);
        const { bytes } = uploads.at(-1)!;
        const { reports: found } = await inspectArchive({
          name: "upload.gz",
          async *open() {
            yield bytes;
          },
        });
        const paths = found.map(({ path }) => path.slice("test-results/".length));
        const isReport = (path: string) => !path.endsWith(".txt");
        for (const { folder, reports } of table) {
          const lines = reports.split(/\s+/).filter((line) => line !== "");
          const expected = await findReports(lines.map((line) => join(checkout, line)));
          const wanted = expected.map(({ path }) => path.slice(checkout.length + 1));
          assert.deepEqual(
            paths.filter((path) => path.startsWith(`${folder}/`) && isReport(path)),
            wanted.filter(isReport),
            reports,
          );
        }
      });

      it("keeps files whose paths become the same in the archive", async () => {
        const outside = `${checkout}-outside`;
        await Deno.mkdir(outside, { recursive: true });
        const inside = join(checkout, outside.slice(outside.lastIndexOf("/") + 1));
        await Deno.mkdir(inside, { recursive: true });
        await Deno.writeTextFile(join(outside, "r.xml"), REPORT.replace("adds", "outside"));
        await Deno.writeTextFile(join(inside, "r.xml"), REPORT.replace("adds", "inside"));
        const name = inside.slice(checkout.length + 1);
        const { output } = await job({
          url: stored(),
          reports: `${name}/r.xml\n../${name}/r.xml\n${name}`,
        });
        await Deno.remove(outside, { recursive: true });
        assert.match(output, /\(reports: 2, coverage files: 0\)/);
      });

      it("prints the notes on what was left out", async () => {
        const notes = ['b.xml: found "x": left out'];
        const url = receiver(Response.json({ key: "acme/shop/1.gz", notes }, { status: 202 }));
        const { code, output } = await job({ url, reports: REPORTS, strict: "true" });
        assert.equal(code, 0, output);
        assert.match(
          output,
          /(::warning::|WARNING: )test-analytics: \["b\.xml: found .*left out"\]/,
        );
        assert.match(output, /\): acme\/shop\/1\.gz$/m);
      });

      it("says what is missing", async () => {
        const url = stored();
        const cases: [Inputs, RegExp][] = [
          [{ url: "", reports: REPORTS }, /TEST_ANALYTICS_URL \(the input url\) is empty/],
          [{ url, token: "", reports: REPORTS }, /UPLOAD_TOKEN \(the input token\) is empty/],
          [
            { url, reports: "none/" },
            /none\/: no such file or folder\n.*no reports found: have the/,
          ],
          [
            { url, reports: "none/*.xml" },
            /^[^\n]*none\/\*\.xml: no such file or folder\n[^\n]*no reports found: have the/,
          ],
        ];
        for (const [inputs, warning] of cases) {
          const { code, output } = await job(inputs);
          assert.equal(code, 0, output);
          assert.match(output, warning);
        }
      });
    });
  }
});
