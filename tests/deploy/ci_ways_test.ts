/** Every way into the service says the same of a job, whichever CI service runs it: `lib/ci`, through its clients. */
import { after, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { parse } from "yaml";
import { readArchive } from "../../lib/intake/read_archive.ts";
import { testHash } from "../../lib/base/identity.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { CI_NAMES } from "../../lib/ci/variables.ts";
import { fileSource } from "../../lib/storage/folder.ts";
import { describeWithDatabase } from "../database.ts";
import { examples } from "../lib/ci/examples.ts";
import { commandLine } from "../lib/cli/run_in_process.ts";
import {
  addOrganization,
  addToken,
  createReceiver,
  type Receiver,
} from "../lib/intake/receive/receive.ts";
import { TEMPLATE_FILE } from "../../tools/ci_template.ts";

const DEPLOY = fileURLToPath(new URL("../../deploy/ci/", import.meta.url));
const REPORT = `<testsuite name="unit"><testcase classname="cart" name="adds"/></testsuite>`;
const SECRET = "planted-secret";
const SECRETS = {
  GITHUB_TOKEN: SECRET,
  CI_JOB_TOKEN: SECRET,
  AWS_SECRET_ACCESS_KEY: SECRET,
  ACTIONS_ID_TOKEN_REQUEST_TOKEN: SECRET,
};

/** What all ways have to agree on. */
interface Facts {
  repository: string;
  commit: string;
  tree: string;
  branch: string;
  environment: string;
  job: string;
  workflow: string;
  shard: string;
  attempt: string;
  runner: string;
  buildUrl: string;
  repositoryUrl: string;
}

describeWithDatabase("a job of each service", (database) => {
  const cli = commandLine(database);
  let checkout: string;
  let commit: string;
  let tree: string;
  let receiver: Receiver;
  let server: Deno.HttpServer<Deno.NetAddr>;
  let url: string;
  let token: string;
  /** The tests of the archive that was looked at last. */
  let stored: number[];

  const git = async (args: string[]) => {
    const { success, stdout } = await new Deno.Command("git", {
      args,
      cwd: checkout,
      stderr: "null",
    }).output();
    return success ? new TextDecoder().decode(stdout).trim() : "";
  };

  before(async () => {
    checkout = await Deno.makeTempDir({ prefix: "test-analytics-ways-" });
    await git(["init", "--quiet"]);
    const author = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
    await git([...author, "commit", "--quiet", "--allow-empty", "--message", "x"]);
    await git(["remote", "add", "origin", "https://github.com/acme/shop.git"]);
    commit = await git(["rev-parse", "HEAD"]);
    tree = await git(["rev-parse", "HEAD^{tree}"]);
    const { sql } = database();
    receiver = await createReceiver(sql, { now: () => Math.floor(Date.now() / 1000) });
    token = await addToken(sql, await addOrganization(sql, "acme"));
    server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      (request) => receiver.app(request, "127.0.0.1"),
    );
    url = `http://127.0.0.1:${server.addr.port}`;
  });
  after(async () => {
    await server.shutdown();
    await receiver.close();
    await Deno.remove(checkout, { recursive: true });
  });

  /** The facts of the archive that was stored last. It has no secret. */
  async function storedFacts(): Promise<Facts> {
    const [path, ...others] = await receiver.files();
    assert.ok(path);
    assert.deepEqual(others, []);
    const file = join(receiver.folder, path);
    const text = new TextDecoder().decode(gunzipSync(await Deno.readFile(file)));
    assert.doesNotMatch(text, new RegExp(`${SECRET}|user:secret`));
    const now = Math.floor(Date.now() / 1000);
    const { facts, files: { results } } = await readArchive(fileSource(file), {
      given: {},
      now,
      recordedAt: now,
      listener: { note: () => {} },
    });
    stored = [...results!.content.testHashes];
    // Another way in the same second may make the same archive.
    await Deno.remove(file);
    return {
      repository: formatRepositoryName(facts.repository),
      commit: facts.commitOid,
      tree: facts.treeOid ?? "",
      branch: facts.branch ?? "",
      environment: facts.environment,
      job: facts.job,
      workflow: facts.workflow,
      shard: facts.shard,
      attempt: facts.attempt,
      runner: facts.runner,
      buildUrl: facts.buildUrl,
      repositoryUrl: facts.repositoryUrl,
    };
  }

  /** Runs a step of a job, and returns what it stored. */
  async function shell(script: string, environment: Record<string, string>): Promise<Facts> {
    await Deno.writeTextFile(join(checkout, "junit.xml"), REPORT);
    const { code, stdout, stderr } = await new Deno.Command("sh", {
      args: ["-c", script],
      cwd: checkout,
      clearEnv: true,
      env: { PATH: process.env.PATH ?? "", HOME: checkout, ...SECRETS, ...environment },
    }).output();
    const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assert.equal(code, 0, output);
    assert.ok(!output.includes(SECRET) && !output.includes(token), output);
    return await storedFacts();
  }

  type Variables = Record<string, string>;

  const WAYS: Record<string, (variables: Variables) => Promise<Facts>> = {
    "upload.sh": (variables) =>
      shell(`sh "${DEPLOY}upload.sh"`, {
        ...variables,
        TEST_ANALYTICS_URL: url,
        UPLOAD_TOKEN: token,
        TEST_ANALYTICS_REPORTS: "junit.xml",
        TEST_ANALYTICS_STRICT: "true",
      }),
    "action": async (variables) => {
      const action = parse(await Deno.readTextFile(join(DEPLOY, "action.yml")));
      const [step] = action.runs.steps;
      const given: Variables = { url, token, reports: "junit.xml", strict: "true" };
      // Expressions, as the runner evaluates them.
      const values: Variables = {
        "${{ toJSON(matrix) }}": variables.MATRIX ?? "null",
        "${{ job.status }}": "success",
      };
      const inputs = Object.entries<string>(step.env).map(([name, value]) => {
        const input = /^\$\{\{ inputs\.(\w+) \}\}$/.exec(value)?.[1];
        const text: string = input ? given[input] ?? action.inputs[input].default ?? "" : value;
        assert.ok(!text.includes("${{") || text in values, text);
        return [name, values[text] ?? text];
      });
      const { MATRIX: _, ...job } = variables;
      return await shell(step.run, {
        ...job,
        ...Object.fromEntries(inputs),
        GITHUB_ACTION_PATH: DEPLOY,
      });
    },
    "GitLab's template": async (variables) => {
      const template = parse(await Deno.readTextFile(TEMPLATE_FILE));
      return await shell(template[".test-analytics"].after_script[0], {
        ...variables,
        TEST_ANALYTICS_URL: url,
        UPLOAD_TOKEN: token,
        TEST_ANALYTICS_REPORTS: "junit.xml",
        TEST_ANALYTICS_STRICT: "true",
      });
    },
    "curl": (variables) =>
      shell(
        `{ env | grep -E "^($NAMES)="; echo "MATRIX=$(printf %s "$M" | tr '\\n' ' ')"
          git rev-parse HEAD | sed s/^/HEAD_COMMIT=/
          git rev-parse 'HEAD^{tree}' | sed s/^/HEAD_TREE=/
          git config --get remote.origin.url | sed s/^/HEAD_ORIGIN=/; } |
          curl --silent --show-error --fail-with-body -H "Authorization: Bearer $UPLOAD_TOKEN" \\
            -F 'ci=<-' -F report=@junit.xml ${url}/upload >/dev/null`,
        {
          ...Object.fromEntries(Object.entries(variables).filter(([name]) => name !== "MATRIX")),
          NAMES: CI_NAMES.filter((name) => name !== "MATRIX").join("|"),
          M: variables.MATRIX ?? "null",
          UPLOAD_TOKEN: token,
        },
      ),
    "upload": async (variables) => {
      const report = join(checkout, "junit.xml");
      const { code, stderr } = await cli(["upload", "--to", url, report], {
        environment: { ...variables, ...SECRETS, UPLOAD_TOKEN: token },
        git,
        now: () => Math.floor(Date.now() / 1000),
      });
      assert.equal(code, 0, stderr);
      assert.ok(!stderr.includes(SECRET) && !stderr.includes(token), stderr);
      return await storedFacts();
    },
    "ingest": async (variables) => {
      const report = join(checkout, "junit.xml");
      const { code, stdout, stderr } = await cli(["ingest", "--org", "acme", report], {
        environment: { ...variables, ...SECRETS },
        git,
      });
      assert.equal(code, 0, stderr);
      assert.ok(!stderr.includes(SECRET), stderr);
      const [row] = await database().sql<(Facts & { owner: string; name: string })[]>`
        select r.owner, r.name, s.commit_oid as commit, coalesce(s.tree_oid, '') as tree,
          coalesce(s.branch, '') as branch, s.environment, s.job, s.workflow, s.shard, s.attempt,
          s.runner, s.build_url as "buildUrl", r.url as "repositoryUrl"
        from submission s join repository r on r.repository_id = s.repository_id
        where s.key = ${stdout.trim()}`;
      const { owner, name, ...facts } = row!;
      // The same report again would be a duplicate.
      await database().sql`delete from submission where key = ${stdout.trim()}`;
      await database().sql`update repository set url = ''`;
      return { ...facts, repository: `${owner}/${name}` };
    },
  };

  /** Variables of the services that ways are for: of any other they would run or send the same again. */
  const MARKS: Record<string, string[]> = {
    "action": ["GITHUB_ACTIONS"],
    "GitLab's template": ["GITLAB_CI"],
    // With values of a matrix, and without them. The door reads the same variables as of an archive.
    "curl": ["GITHUB_ACTIONS", "JENKINS_URL"],
  };

  it("has the paths of the checkout in a monorepo", async () => {
    const app = join(checkout, "packages/app");
    await Deno.mkdir(join(app, "src"), { recursive: true });
    await Deno.mkdir(join(app, "reports"));
    await Deno.writeTextFile(join(app, "src/a.test.ts"), "");
    const identity = { suite: "unit", class: "cart", name: "adds", file: "src/a.test.ts" };
    await Deno.writeTextFile(
      join(app, "reports/junit.xml"),
      `<testsuite name="unit"><testcase classname="cart" name="adds" file="src/a.test.ts"/></testsuite>`,
    );
    const job = { GITHUB_ACTIONS: "true", GITHUB_REPOSITORY: "acme/shop", GITHUB_SHA: commit };
    const sent = { ...job, TEST_ANALYTICS_URL: url, UPLOAD_TOKEN: token };
    const reports = "packages/app/reports";
    const script = `sh "${DEPLOY}upload.sh"`;
    const upload = async (...more: string[]) => {
      const options = ["--to", url, ...more, join(checkout, reports)];
      const { code, stderr } = await cli(["upload", ...options], {
        environment: { ...job, UPLOAD_TOKEN: token },
        git,
        now: () => Math.floor(Date.now() / 1000),
      });
      assert.equal(code, 0, stderr);
      await storedFacts();
    };
    const run = async (environment: Record<string, string>) =>
      void await shell(script, environment);
    const curl = (prefix: string) =>
      `curl --silent --fail-with-body -H "Authorization: Bearer $UPLOAD_TOKEN" -F commit=${commit} \
        -F path_prefix=${prefix} -F report=@${reports}/junit.xml ${url}/upload/acme/shop >/dev/null`;
    const found = "packages/app/src/a.test.ts";
    const given = "other/src/a.test.ts";
    const cases: [file: string, send: () => Promise<void>][] = [
      [found, () => run({ ...sent, TEST_ANALYTICS_REPORTS: reports })],
      [
        given,
        () =>
          run({ ...sent, TEST_ANALYTICS_REPORTS: reports, TEST_ANALYTICS_PATH_PREFIX: "other" }),
      ],
      [found, () => upload()],
      [given, () => upload("--path-prefix", "./other/")],
      [given, async () => void await shell(curl("other"), { UPLOAD_TOKEN: token })],
    ];
    for (const [file, send] of cases) {
      await send();
      assert.deepEqual(stored, [testHash({ ...identity, file })], file);
    }
  });

  for (const title of Object.keys(examples(""))) {
    it(`is the same through every client: ${title}`, async () => {
      const { variables, expected } = examples(commit)[title]!;
      const address = `https://github.com/${expected.repository}`;
      await git(["remote", "set-url", "origin", `${address}.git`]);
      const facts: Facts = {
        ...expected,
        commit,
        tree,
        repositoryUrl: expected.repositoryUrl || address,
      };
      for (const [way, send] of Object.entries(WAYS)) {
        if (MARKS[way] && !MARKS[way].some((mark) => mark in variables)) continue;
        assert.deepEqual(await send(variables as Variables), facts, way);
      }
    });
  }
});
