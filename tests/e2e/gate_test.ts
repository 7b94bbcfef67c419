import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import {
  type GateFixture,
  gateFixture,
  reportOf,
  testNamed,
} from "../lib/cli/gate_run/gate_fixture.ts";
import { follow } from "./child.ts";
import { command, FROM_SOURCE, run, type Running, start } from "./program.ts";
import { createAcme, newServiceData, prepare, runHere, type ServiceData } from "./prepare.ts";
import { waitUntil } from "../wait_until.ts";

describe("gate as a process", () => {
  let fixture: GateFixture;
  let path: string;

  before(async () => {
    fixture = await gateFixture({ quarantined: [testNamed("flaky")] });
    path = join(fixture.folder, "report.xml");
  });
  after(() => fixture.close());

  const line = (script: string) => ["gate", "--repo", "acme/shop", path, "--", "sh", "-c", script];

  it("passes signals on, and ends as the command does with them", async () => {
    // As long as the gate runs: a failed test leaves nothing behind.
    const loop = "echo ready; while kill -0 $PPID; do sleep 0.05; done";
    const handled = (signal: string) => `trap 'echo got ${signal}; exit 3' ${signal}; ${loop}`;
    for (
      const [signal, script, code, output] of [
        ["SIGTERM", handled("TERM"), 3, "got TERM"],
        ["SIGINT", handled("INT"), 3, "got INT"],
        ["SIGHUP", handled("HUP"), 3, "got HUP"],
        ["SIGUSR1", handled("USR1"), 3, "got USR1"],
        ["SIGTERM", loop, 143, "ready"],
        ["SIGINT", loop, 130, "ready"],
        ["SIGQUIT", loop, 131, "ready"],
      ] as const
    ) {
      const { promise: ready, resolve } = Promise.withResolvers<void>();
      const process = command(line(script), { environment: fixture.environment }).spawn();
      const child = follow(process);
      const timer = setInterval(() => child.stdout().includes("ready") && resolve(), 10);
      await ready;
      clearInterval(timer);
      const ending = await child.end(signal);
      assert.equal(ending.code, code, `${signal}: ${ending.stdout}${ending.stderr}`);
      assert.ok(ending.stdout.includes(output), ending.stdout);
    }
  });

  it("never excuses a run that was stopped, even with exit code 1", async () => {
    const report = await fixture.write("ready.xml.txt", reportOf({ flaky: "failed" }));
    const script = `trap 'cat "${report}" > "${path}"; exit 1' TERM; echo ready; ` +
      "while kill -0 $PPID; do sleep 0.05; done";
    const child = follow(command(line(script), { environment: fixture.environment }).spawn());
    await waitUntil("the run is ready", () => child.stdout().includes("ready"));
    const { code, stdout } = await child.end("SIGTERM");
    assert.equal(code, 1);
    assert.match(stdout, /^exit code 1\tthe run was stopped by SIGTERM$/m);
  });

  it("passes input and output on as they are, in their order", async () => {
    const gate = line("read word; echo $word; echo b >&2; printf c; exit 7");
    const child = new Deno.Command("sh", {
      args: ["-c", `echo a | "$0" "$@" 2>&1`, FROM_SOURCE.file, ...FROM_SOURCE.args, ...gate],
      env: { ...fixture.environment },
      stdin: "null",
    });
    const { code, stdout } = await child.output();
    assert.equal(code, 7);
    const text = new TextDecoder().decode(stdout);
    assert.match(
      text,
      /^a\nb\nc\nred without a failed test\texit code 7\nnot whole\tno test ran\nexit code 7\t/,
    );
  });

  it("prints only JSON on standard output with --json", async () => {
    const script = `echo noise; echo more >&2; exit 0`;
    const { code, stdout, stderr } = await run(
      ["gate", "--json", ...line(script).slice(1)],
      fixture.environment,
    );
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).exit_code, 0);
    assert.match(stderr, /noise\nmore\n/);
  });
});

describe("gate with the service", () => {
  let folder: string;
  let data: ServiceData;
  let service: Running;
  let environment: Record<string, string>;

  before(async () => {
    data = await newServiceData();
    environment = data.environment;
    folder = data.environment.DATA_DIR;
    service = await start(["serve", "--port", "0"], environment);
    const { api: token } = await createAcme(environment);
    for (const outcome of ["passed", "failed"] as const) {
      await Deno.writeTextFile(
        join(folder, "ci.xml"),
        reportOf({ flaky: outcome, broken: "failed", good: "passed" }),
      );
      const args = ["--repo", "acme/shop", "--commit", "a1b2c3d", "--branch", "main"];
      await prepare(environment, [["ingest", "--org", "acme", ...args, join(folder, "ci.xml")]]);
    }
    environment = {
      ...environment,
      PLATFORM_API_URL: service.url,
      PLATFORM_API_TOKEN: token,
    };
  });
  after(async () => {
    await service.stop("SIGTERM");
    await data.remove();
  });

  async function gate(tests: Parameters<typeof reportOf>[0]) {
    const path = join(folder, "report.xml");
    const code = Object.values(tests).includes("failed") ? 1 : 0;
    const script = `printf %s "$1" > "$2"; exit ${code}`;
    return await runHere(
      ["gate", "--repo", "acme/shop", path, "--", "sh", "-c", script, "sh", reportOf(tests), path],
      environment,
    );
  }

  it("obeys the quarantine", async () => {
    const before = await gate({ flaky: "failed", broken: "failed", unheard: "failed" });
    assert.equal(before.code, 1);
    assert.equal(before.stderr, "");
    const [headline, ...lines] = before.stdout.trim().split("\n");
    assert.equal(headline, "3 tests failed: 1 is probably yours, 2 are not.");
    const verdicts = lines.slice(0, 3).map((line) => line.split("\t", 2));
    assert.deepEqual(verdicts, [
      ["flaky", "shop > Cart > flaky (cart.ts)"],
      ["known", "shop > Cart > broken (cart.ts)"],
      ["new", "shop > Cart > unheard (cart.ts)"],
    ]);

    const list = await fetch(`${service.url}/api/repos/acme/shop/tests`, {
      headers: { authorization: `Bearer ${environment.PLATFORM_API_TOKEN}` },
    });
    const { tests: [{ id }] } = await list.json();
    await prepare(environment, [["quarantine", "add", id]]);
    const excused = await gate({ flaky: "failed", good: "passed" });
    assert.equal(excused.code, 0, excused.stdout + excused.stderr);
    assert.match(excused.stdout, /^quarantined\tshop > Cart > flaky \(cart.ts\)\t50 %\t/m);
    assert.equal((await gate({ flaky: "failed", broken: "failed" })).code, 1);
    assert.match((await gate({ flaky: "passed" })).stdout, /^passed\tshop > Cart > flaky/m);
  });
});
