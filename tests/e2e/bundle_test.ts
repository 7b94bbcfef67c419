import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build, CI_BUNDLE_FILE } from "../../tools/build.ts";
import { PERMISSIONS } from "../../tools/permissions.ts";
import { newServiceData, prepare, type ServiceData } from "./prepare.ts";
import { type ProgramLine, run } from "./program.ts";

const SMOKE = fileURLToPath(new URL("../../tools/smoke.ts", import.meta.url));
const REPORT = fileURLToPath(new URL("../../fixtures/demo/unit_attempt_4.xml", import.meta.url));

/** No configuration, no packages, nothing from elsewhere, and the permissions of the binary. */
const RUN = [
  ...["run", "--no-config", "--no-lock", "--no-remote", "--no-npm", "--cached-only"],
  // The runner's, also where the environment is empty.
  ...process.env.DENO_V8_FLAGS ? [`--v8-flags=${process.env.DENO_V8_FLAGS}`] : [],
];

// A network without anything in it; not every machine lets us make one.
const FREQUENT_COMMANDS = [
  "unshare",
  "--map-root-user",
  "--net",
  "sh",
  "-c",
  'ip link set lo up && exec "$@"',
];

async function canBeAlone(): Promise<boolean> {
  const [file = "", ...args] = FREQUENT_COMMANDS;
  try {
    return (await new Deno.Command(file, { args: [...args, "sh", "true"] }).output()).success;
  } catch {
    return false;
  }
}

describe("the bundle", () => {
  let folder = "";
  let program: ProgramLine;
  let data: ServiceData;
  let environment: Record<string, string>;

  before(async () => {
    folder = await Deno.makeTempDir({ prefix: "test-analytics-bundle-" });
    const { path } = await build(join(folder, "dist"));
    // Alone in a folder: no sources, packages or configuration above or next to it.
    const home = join(folder, "home");
    await Deno.mkdir(home);
    await Deno.rename(path, join(folder, "test-analytics.js"));
    program = {
      file: Deno.execPath(),
      args: [...RUN, ...PERMISSIONS, join(folder, "test-analytics.js")],
      cwd: home,
    };
    data = await newServiceData();
    environment = { DENO_DIR: join(folder, "cache"), ...data.environment };
  });
  after(async () => {
    await data.remove();
    await Deno.remove(folder, { recursive: true });
  });

  it("has a small part for CI jobs, which starts without the rest and has no database", async () => {
    const path = join(folder, "dist", CI_BUNDLE_FILE);
    const { size } = await Deno.stat(path);
    assert.ok(size < 1_070_000, `${size} bytes`);
    const ci = { ...program, args: [...program.args.slice(0, -1), path] };
    const report = join(folder, "report.xml");
    const gate = await run(["gate", report, "--", "cp", REPORT, report], environment, ci);
    assert.equal(gate.code, 0, gate.stderr);
    assert.match(gate.stdout, /exit code 0\tthe tests ended with 0|exit code 0\tthe tests passed/);
    const ingest = await run(["ingest", report], environment, ci);
    assert.match(ingest.stderr, /unknown command 'ingest'/);
    assert.match((await run(["--help"], environment, ci)).stdout, /gate[^]*comment/);
  });

  it("runs with nothing else: version, demo, requests, mcp", async () => {
    const smoke = [Deno.execPath(), "run", "-A", SMOKE, program.file, ...program.args];
    const [file = "", ...args] = await canBeAlone()
      ? [...FREQUENT_COMMANDS, "sh", ...smoke]
      : smoke;
    const { code, stderr } = await new Deno.Command(file, { args }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
  });

  it("takes data in from a checkout", async () => {
    const git = (...args: string[]) =>
      new Deno.Command("git", {
        args: ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args],
        cwd: program.cwd ?? "",
      }).output();
    await git("init", "--quiet");
    await git("commit", "--quiet", "--allow-empty", "--message", "first");
    const commit = new TextDecoder().decode((await git("rev-parse", "HEAD")).stdout).trim();
    const ok = async (args: string[], more: Record<string, string> = {}) => {
      const { code, stdout, stderr } = await run(args, { ...environment, ...more }, program);
      assert.equal(code, 0, stderr);
      return stdout.trim();
    };
    const archive = await ok(
      ["upload", "--to", join(folder, "uploads"), "--repo", "acme/shop", REPORT],
      { GITLAB_CI: "true", CI_COMMIT_SHA: commit },
    );
    await prepare(data.environment, ["org create acme"]);
    // Archives are read in a worker thread, which is the bundle again.
    const stored = JSON.parse(await ok(["ingest", "--org", "acme", "--json", archive]));
    assert.equal(stored.commit_oid, commit);
    assert.match(await ok(["doctor"]), /^ok\tdisk\t/m);
  });

  it("names its functions in the stack of an error", async () => {
    const { code, stderr } = await run(
      ["org", "list", "--database-url", "postgres://nobody@127.0.0.1:1/nothing"],
      { ...environment, TEST_ANALYTICS_DEBUG: "1" },
      program,
    );
    assert.equal(code, 1);
    assert.match(stderr, /at (async )?openServer .*test-analytics\.js:\d+/);
  });

  it("holds no path of the machine it was made on", async () => {
    const text = await Deno.readTextFile(join(folder, "test-analytics.js"));
    assert.doesNotMatch(text, /test-analytics-build-/);
    assert.ok(!text.includes(fileURLToPath(new URL("../..", import.meta.url))));
  });

  it("comes with the licence of everything in it", async () => {
    const text = await Deno.readTextFile(join(folder, "dist", "THIRD_PARTY_LICENSES.txt"));
    for (const name of ["@electric-sql/pglite", "postgres", "zod", "yaml"]) {
      assert.match(text, new RegExp(`^${name} \\d[^ ]*, licence \\S+$`, "m"));
    }
  });
});
