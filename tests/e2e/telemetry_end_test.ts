import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { copyTemplate } from "../database.ts";
import { follow } from "./child.ts";
import { newServiceData, prepare, type ServiceData } from "./prepare.ts";
import { command, start } from "./program.ts";
import { startReceiver } from "./telemetry_receiver.ts";

/** After which the process is said to hang, in milliseconds. */
const DEADLINE_MS = 15_000;

/** Exports that can be waited for at the end: traces, metrics, logs, one of each under way before. */
const LAST_EXPORTS = 6;

/** Exit code of a process that SIGALRM ended. */
const ALARM = 128 + 14;

/** Starts a service and waits until it says that it has started. */
async function startService(args: string[], environment: Record<string, string>) {
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const child = follow(command(args, { environment }).spawn(), (stderr) => {
    if (stderr.includes('"message":"started"')) resolve();
  });
  await Promise.race([ready, child.ending]);
  return child;
}

describe("a process with telemetry", () => {
  let data: ServiceData;
  before(async () => {
    data = await newServiceData();
  });
  after(() => data.remove());

  const environment = (endpoint: string, more: Record<string, string> = {}) => ({
    ...data.environment,
    OTEL_DENO: "true",
    OTEL_DENO_CONSOLE: "replace",
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    // The runtime asks for its gauges nearly all the time.
    OTEL_METRIC_EXPORT_INTERVAL: "1",
    // As in the units.
    OTEL_EXPORTER_OTLP_TIMEOUT: "1000",
    ...more,
  });

  it("ends each time with its code, whatever is measured meanwhile", async () => {
    const receiver = startReceiver(async (request) => {
      await request.body?.cancel();
      return Response.json({});
    });
    try {
      // The timeout of the units, and the standard one of users who set nothing.
      for (const timeout of ["1000", ""]) {
        const variables = environment(receiver.url, { OTEL_EXPORTER_OTLP_TIMEOUT: timeout });
        const server = await start(["serve", "--port", "0"], variables);
        const asked = Array.from({ length: 200 }, async () => {
          const response = await fetch(`${server.url}/health`);
          await response.body?.cancel();
        });
        await Promise.all(asked);
        const begun = performance.now();
        const { code, stderr } = await server.stop("SIGTERM", DEADLINE_MS);
        assert.equal(code, 0, stderr);
        assert.ok(performance.now() - begun < DEADLINE_MS / 2);
      }
      for (const [args, code] of [[["org", "list"], 0], [["org", "none"], 2]] as const) {
        const child = follow(
          command([...args], { environment: environment(receiver.url) }).spawn(),
        );
        // A signal that changes nothing: it ends by itself.
        const ending = await child.end("SIGCONT", DEADLINE_MS);
        assert.equal(ending.code, code, ending.stderr);
      }
    } finally {
      await receiver.close();
    }
  });

  it("ends within the time of its last exports when the collector does not respond", async () => {
    const receiver = startReceiver(() => new Promise(() => {}));
    try {
      const timeoutMs = 300;
      const server = await start(
        ["serve", "--port", "0"],
        environment(receiver.url, { OTEL_EXPORTER_OTLP_TIMEOUT: String(timeoutMs) }),
      );
      await (await fetch(`${server.url}/health`)).body?.cancel();
      const begun = performance.now();
      const { code, stderr } = await server.stop("SIGTERM", DEADLINE_MS);
      const tookMs = performance.now() - begun;
      assert.equal(code, 0, stderr);
      // The rest is what it takes to end at all, on a busy machine.
      assert.ok(tookMs < LAST_EXPORTS * timeoutMs + 4_000, `${tookMs} ms`);
    } finally {
      await receiver.close();
    }
  });

  const COMMANDS = [
    { args: ["up", "--port", "0", "--upload-port", "0"], unit: "test-analytics" },
    { args: ["watch", "."], unit: "test-analytics-watch" },
  ];

  async function endInTime(
    { args, unit }: typeof COMMANDS[number],
    { url, timeout }: { url: string; timeout: string },
  ): Promise<void> {
    const text = await Deno.readTextFile(
      new URL(`../../deploy/${unit}.service`, import.meta.url),
    );
    const limitMs = 1_000 * Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1]);
    assert.match(text, /^Environment=OTEL_EXPORTER_OTLP_TIMEOUT=1000$/m);
    assert.match(text, /^SuccessExitStatus=SIGALRM$/m);
    const dataDir = await copyTemplate();
    const variables = {
      ...environment(url, { OTEL_EXPORTER_OTLP_TIMEOUT: timeout }),
      // What ends late may leave the embedded database locked.
      DATABASE_URL: "",
      DATA_DIR: dataDir,
      OTEL_METRIC_EXPORT_INTERVAL: "",
    };
    try {
      const child = await startService(args, variables);
      const begun = performance.now();
      const { code } = await child.end("SIGTERM", limitMs);
      assert.ok(code === 0 || timeout === "" && code === ALARM, `${args}: ${code}`);
      assert.ok(performance.now() - begun < limitMs);
      // Everything of the program was closed before.
      await prepare({ DATA_DIR: dataDir }, ["org create acme"]);
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  }

  it("ends within the time of its unit when the collector is silent", async () => {
    const receiver = startReceiver(() => new Promise(() => {}));
    try {
      const { url } = receiver;
      await Promise.all([
        ...COMMANDS.map((command) => endInTime(command, { url, timeout: "1000" })),
        // Without the setting of the unit each export waits for 10 s.
        endInTime(COMMANDS[0]!, { url, timeout: "" }),
      ]);
    } finally {
      await receiver.close();
    }
  });
});
