/**
 * Measures what stays in memory after many calls: `deno run -A --v8-flags=--expose-gc
 * memory_program.ts 1000 10000` prints the bytes in use after that many, after garbage collection, one per line.
 *
 * A separate process, because garbage collection on demand needs a flag.
 */
import { PassThrough, Writable } from "node:stream";
import { serveTools } from "../../../lib/mcp/mod.ts";
import { FAKE_TOKEN, flakyPage, startFakeApi } from "../api_client/fake_api.ts";
import { pause } from "../../../lib/base/delay.ts";

const CALLS_AT_ONCE = 20;

const collectGarbage: unknown = Reflect.get(globalThis, "gc");
if (typeof collectGarbage !== "function") throw new Error("expected --v8-flags=--expose-gc");

const page = JSON.stringify(flakyPage());
const api = startFakeApi(() => {
  api.received.length = 0;
  return new Response(page);
});
const input = new PassThrough();
let answered = 0;
let onAnswer = () => {};
const done = serveTools({
  webUrl: "",
  baseUrl: api.url,
  token: FAKE_TOKEN,
  version: "1.2.3",
  input,
  output: new Writable({
    write(chunk, _encoding, done) {
      const text = String(chunk);
      if (text.includes('"isError":true')) throw new Error(text);
      answered++;
      onAnswer();
      done();
    },
  }),
  stop: new AbortController().signal,
  note: (text) => {
    throw new Error(text);
  },
});

let sent = 0;
async function ask(method: string, params: object, times = 1): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (let i = 0; i < times; i++) {
    input.write(`${JSON.stringify({ jsonrpc: "2.0", id: ++sent, method, params })}\n`);
  }
  onAnswer = () => {
    if (answered === sent) resolve();
  };
  await promise;
}

const lines: number[] = [];
await ask("initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
});
for (const calls of Deno.args.map(Number)) {
  while (sent <= calls) {
    await ask("tools/call", { name: "find_flaky_tests", arguments: {} }, CALLS_AT_ONCE);
  }
  await pause(50);
  collectGarbage();
  collectGarbage();
  lines.push(Deno.memoryUsage().heapUsed);
}
input.end();
await done;
await api.close();
for (const line of lines) Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
