import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { BADGE_FILE, demoBadge, REGENERATE } from "../../tools/documentation/pictures.ts";
import { runDemo } from "./demo.ts";
import { newServiceData, type ServiceData } from "./prepare.ts";
import { command, run, start } from "./program.ts";

describe("the program", () => {
  let data: ServiceData;
  let environment: Record<string, string> = {};

  before(async () => {
    data = await newServiceData();
    environment = data.environment;
  });
  after(() => data.remove());

  it("says what is wrong, and what works, with 2", async () => {
    const { code, stdout, stderr } = await run(["org", "crate", "acme"], environment);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.equal(
      stderr,
      "error: unknown command 'crate' (Did you mean create?)\nTry: deno task cli org list\n",
    );
  });

  it("keeps stored data for the next run", async () => {
    assert.deepEqual(await run(["org", "create", "acme"], environment), {
      code: 0,
      stdout: "acme\n",
      stderr: "",
    });
    const again = await run(["org", "create", "ACME"], environment);
    assert.deepEqual([again.code, again.stdout], [1, ""]);
    assert.equal(again.stderr, 'error: organization "ACME" already exists\n');
  });

  it("does not mind a reader that goes away", async () => {
    const child = command(["--help"], { environment }).spawn();
    await child.stdout.cancel();
    const [{ code }, stderr] = await Promise.all([
      child.status,
      new Response(child.stderr).text(),
    ]);
    assert.deepEqual([code, stderr], [0, ""]);
  });

  it("fails when the reader of an export goes away: a part must not look complete", async () => {
    assert.equal((await run(["org", "create", "exported"], environment)).code, 0);
    const child = command(["export", "--org", "exported"], { environment }).spawn();
    await child.stdout.cancel();
    const [{ code }, stderr] = await Promise.all([
      child.status,
      new Response(child.stderr).text(),
    ]);
    assert.equal(code, 1);
    assert.match(stderr, /^error: standard output was closed: the export is incomplete/);
  });

  it("fails when what it was asked for cannot be written", async () => {
    const shell = new Deno.Command("sh", {
      args: ["-c", `"$0" run -A main.ts --help >/dev/full`, Deno.execPath()],
      cwd: join(import.meta.dirname!, "..", ".."),
      stderr: "piped",
    });
    const { code, stderr } = await shell.output();
    assert.equal(code, 1);
    assert.match(new TextDecoder().decode(stderr), /^error: No space left on device/);
  });

  it("serves until SIGTERM, while other commands change the same data", async () => {
    const server = await start(["serve", "--port", "0"], environment);
    let token = "";
    try {
      assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+$/);
      const health = await fetch(`${server.url}/health`);
      assert.deepEqual(await health.json(), { status: "ok" });
      token = (await run(["token", "create", "--org", "acme"], environment)).stdout.trim();
      const headers = { Authorization: `Bearer ${token}` };
      assert.equal((await fetch(`${server.url}/api`, { headers })).status, 204);
      const tokens = await run(["token", "list", "--org", "acme"], environment);
      const revoked = await run(["token", "revoke", tokens.stdout.split("\t")[0]!], environment);
      assert.equal(revoked.code, 0);
      const answer = await fetch(`${server.url}/api`, { headers });
      assert.equal(answer.status, 401);
      await answer.body?.cancel();
    } finally {
      const { code, stdout, stderr } = await server.stop("SIGTERM");
      assert.deepEqual([code, stdout], [0, ""], stderr);
      assert.ok(token !== "" && !stderr.includes(token));
    }
  });

  it("creates no database for an organization that is unknown", async () => {
    const folder = await Deno.makeTempDir({ prefix: "test-analytics-unknown-" });
    try {
      const dataDir = `${folder}/data`;
      const argv = [
        "ingest",
        "--org",
        "beta",
        "--repo",
        "a/b",
        "--commit",
        "a".repeat(40),
        "a.xml",
      ];
      const { code, stderr } = await run(argv, { DATA_DIR: dataDir });
      assert.equal(code, 1);
      assert.equal(
        stderr,
        `error: no database in "${dataDir}": set DATA_DIR or DATABASE_URL, or create one with ` +
          "`deno task cli org create beta`\n",
      );
      assert.deepEqual([...Deno.readDirSync(folder)], []);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });

  it("says so when the port is taken", async () => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    try {
      const { port } = listener.addr;
      const { code, stderr } = await run(["serve"], { ...environment, PORT: String(port) });
      assert.equal(code, 1);
      assert.equal(
        stderr.replace(/--port [1-9]\d*/, "--port N"),
        `error: port ${port} of 127.0.0.1 is already in use: use --port N, or --port 0 ` +
          "for any free port\n",
      );
    } finally {
      listener.close();
    }
  });
});

describe("demo", () => {
  it("prints a token and three curl lines that work, has the README's badge, and leaves nothing", async () => {
    const demo = await runDemo();
    let told = "";
    try {
      const lines = demo.stdout.trimEnd().split("\n");
      const [, token] = /^token: (tk_[0-9a-f]{64})$/.exec(lines[0] ?? "") ?? [];
      assert.ok(token, lines[0]);
      const [, url = ""] = /^pages: (http:\S+)\/repos$/.exec(lines.at(-2) ?? "") ?? [];
      assert.deepEqual(lines.slice(-3), [
        "in a browser (any user name, the token as password):",
        `pages: ${url}/repos`,
        `documentation: ${url}/docs`,
      ]);
      const answers = [];
      for (const line of lines.filter((line) => line.startsWith("curl "))) {
        const [, bearer, address = ""] =
          /^curl -H 'Authorization: (Bearer \S+)' '(\S+)'$/.exec(line) ?? [];
        assert.equal(bearer, `Bearer ${token}`, line);
        assert.ok(address.startsWith(`${url}/api/`), line);
        const answer = await fetch(address, { headers: { Authorization: bearer } });
        assert.equal(answer.status, 200, line);
        answers.push(await answer.json());
      }
      const [tests, submissions, events] = answers;
      assert.equal(tests.tests.length, 3);
      assert.equal(tests.tests[0].name, "pays with a saved card");
      assert.equal(submissions.count, 22);
      assert.equal(events.results.length, 6);
      const badge = await Deno.readTextFile(BADGE_FILE);
      assert.equal(await demoBadge(url, token), badge, `regenerate it with: ${REGENERATE}`);
    } finally {
      told = await demo.stop();
    }
    const [, dataDir = ""] = /DATA_DIR=(\S+), deleted when the demo ends/.exec(told) ?? [];
    assert.ok(dataDir.endsWith("/data"), told);
    await assert.rejects(Deno.stat(dirname(dataDir)), Deno.errors.NotFound);
  });

  it("names another port when its own is in use, and creates nothing", async () => {
    const temporary = await Deno.makeTempDir();
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr;
    try {
      const { code, stdout, stderr } = await command(["demo", "--port", String(port)], {
        environment: { TMPDIR: temporary },
      }).output();
      assert.deepEqual([code, stdout.length], [1, 0]);
      assert.equal(
        new TextDecoder().decode(stderr).replace(/--port [1-9]\d*/, "--port N"),
        `error: port ${port} of 127.0.0.1 is already in use: use --port N, or --port 0 ` +
          "for any free port\n",
      );
      assert.deepEqual([...Deno.readDirSync(temporary)], []);
    } finally {
      listener.close();
    }
    await Deno.remove(temporary);
  });
});
