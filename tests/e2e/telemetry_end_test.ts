import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { copyTemplate } from "../database.ts";
import { follow } from "./child.ts";
import { command, start } from "./program.ts";
import { startReceiver } from "./telemetry_receiver.ts";

/** After which the process is said to hang, in milliseconds. */
const DEADLINE_MS = 15_000;

/** Exports that can be waited for at the end: traces, metrics, logs, one of each under way before. */
const LAST_EXPORTS = 6;

describe("a process with telemetry", () => {
  let folder = "";
  before(async () => {
    folder = await copyTemplate();
  });
  after(() => Deno.remove(folder, { recursive: true }));

  const environment = (endpoint: string, more: Record<string, string> = {}) => ({
    DATA_DIR: folder,
    OTEL_DENO: "true",
    OTEL_DENO_CONSOLE: "replace",
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    // The runtime asks for its gauges nearly all the time.
    OTEL_METRIC_EXPORT_INTERVAL: "1",
    ...more,
  });

  it("ends each time with its code, whatever is measured meanwhile", async () => {
    const receiver = startReceiver(async (request) => {
      await request.body?.cancel();
      return Response.json({});
    });
    try {
      for (let round = 0; round < 3; round++) {
        const server = await start(["serve", "--port", "0"], environment(receiver.url));
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
});
