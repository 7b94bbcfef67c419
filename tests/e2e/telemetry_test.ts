import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { newServiceData, type ServiceData } from "./prepare.ts";
import { start } from "./program.ts";
import { type Receiver, startReceiver } from "./telemetry_receiver.ts";

/** What a receiver was sent, by the last part of its path: `traces`, `metrics`, `logs`. */
type Received = Map<string, string>;

describe("telemetry", () => {
  let data: ServiceData;
  const received: Received = new Map();
  let receiver: Receiver;

  before(async () => {
    data = await newServiceData();
    receiver = startReceiver(async (request) => {
      const kind = new URL(request.url).pathname.split("/").pop() ?? "";
      // Spaces out: what is looked for below is one piece then.
      const text = JSON.stringify(JSON.parse(await request.text()));
      received.set(kind, (received.get(kind) ?? "") + text);
      return Response.json({});
    });
  });
  after(async () => {
    await receiver.close();
    await data.remove();
  });

  const environment = () => ({
    ...data.environment,
    OTEL_DENO: "true",
    OTEL_DENO_CONSOLE: "replace",
    OTEL_SERVICE_NAME: "test-analytics",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_METRIC_EXPORT_INTERVAL: "200",
  });

  it("arrives at a receiver: a trace, a metric and a log line, which belong together", async () => {
    const server = await start(["serve", "--port", "0"], environment());
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const response = await fetch(`${server.url}/api/repos/acme/shop/tests?q=hidden`, {
      headers: {
        authorization: `Bearer tk_${"ab".repeat(32)}`,
        traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
        "x-request-id": "r-1",
      },
    });
    assert.equal(response.status, 401);
    await response.body?.cancel();
    const { code, stdout, stderr } = await server.stop("SIGTERM");
    assert.deepEqual([code, stdout], [0, ""], stderr);

    const traces = received.get("traces") ?? "";
    assert.match(traces, /"stringValue":"test-analytics"/);
    assert.ok(traces.includes(traceId), "it continues the trace of the client");
    assert.match(received.get("metrics") ?? "", /"name":"http.server.request.duration"/);
    const logs = received.get("logs") ?? "";
    assert.match(
      logs,
      /"severityText":"INFO","body":{"stringValue":"{.*\\"request_id\\":\\"r-1\\"/,
    );
    assert.ok(logs.includes(traceId), "a log line knows its trace");
    // The same line is where it always is.
    assert.match(stderr, /"message":"request","request_id":"r-1"/);
    for (const [kind, text] of received) assert.doesNotMatch(text, /abab/, `${kind} has a token`);
    assert.doesNotMatch(logs, /hidden/);
  });

  it("says that log lines are not exported where the console would go to standard output", async () => {
    const server = await start(["serve", "--port", "0"], {
      ...environment(),
      OTEL_DENO_CONSOLE: "",
    });
    const { code, stdout, stderr } = await server.stop("SIGTERM");
    assert.deepEqual([code, stdout], [0, ""]);
    assert.match(stderr, /"level":"warn".*expected OTEL_DENO_CONSOLE=replace/);
  });

  it("does not delay the exit without a collector", async () => {
    const server = await start(["serve", "--port", "0"], {
      ...environment(),
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
    });
    const response = await fetch(`${server.url}/health`);
    assert.deepEqual(await response.json(), { status: "ok" });
    const { code } = await server.stop("SIGTERM");
    assert.equal(code, 0);
  });
});
