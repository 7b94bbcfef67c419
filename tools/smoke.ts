/**
 * `deno run -A tools/smoke.ts PROGRAM [ARGUMENT...]`: tests a built program as a first user would:
 * `--version`, `demo`, requests, `mcp`. The build has to be of the checked-out commit. The program runs
 * in an empty folder, and of the environment it gets only `PATH`.
 */
import assert from "node:assert/strict";
import { VERSION } from "../lib/base/version.ts";
import { commitOfCheckout } from "./packages.ts";

/** The demo takes about 10 s on a slow machine until it listens. */
const TIMEOUT_MS = 180_000;

/** A program: the file, and the arguments before its own. */
export type ProgramLine = readonly [file: string, ...args: string[]];

/**
 * Tests a program.
 *
 * @param options.note called for each step that passed
 * @throws {Error} at the first failure
 */
export async function smoke(
  program: ProgramLine,
  { note }: { note: (text: string) => void },
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-smoke-" });
  try {
    const run = commandIn(folder, program);
    note(`--version: ${await checkVersion(run)}`);
    const demo = await startDemo(run);
    try {
      note(`demo: listens on ${demo.url}`);
      await checkRequests(demo);
      note("requests: health, flaky tests, documentation page, contract");
      await checkTools(run, demo);
      note("mcp: initialize, a tool call over the demo");
    } finally {
      assert.equal(await demo.stop(), 0, "expected the demo to end with 0 after SIGTERM");
    }
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), [".cache"]);
    note("demo: ended with 0, nothing is left of it");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

type Run = (args: string[], env?: Record<string, string>) => Deno.ChildProcess;

function commandIn(folder: string, [file, ...before]: ProgramLine): Run {
  const cache = `${folder}/.cache`;
  Deno.mkdirSync(cache);
  return (args, env = {}) =>
    new Deno.Command(file, {
      args: [...before, ...args],
      cwd: folder,
      clearEnv: true,
      // An empty cache, so that nothing comes from outside; TMPDIR, so that leftovers are found.
      env: { PATH: Deno.env.get("PATH") ?? "", TMPDIR: folder, DENO_DIR: cache, ...env },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
}

async function checkVersion(run: Run): Promise<string> {
  const commit = (await commitOfCheckout()).slice(0, 12);
  const version = commit === "" ? VERSION : `${VERSION} (${commit})`;
  const child = run(["--version"]);
  await child.stdin.close();
  const { code, stdout, stderr } = await child.output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assert.deepEqual([code, decode(stdout), decode(stderr)], [0, `${version}\n`, ""]);
  return version;
}

interface Demo {
  url: string;
  token: string;
  stop(): Promise<number>;
}

async function startDemo(run: Run): Promise<Demo> {
  const child = run(["demo", "--port", "0", "--json"]);
  await child.stdin.close();
  const output = collect(child.stdout);
  const told = collect(child.stderr);
  const tooLate = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
  const listening = await told.find(/^listening on (http:\/\/\S+)$/m);
  clearTimeout(tooLate);
  const example = await output.find(/^(\{.*\})$/m);
  if (!listening || !example) throw new Error(`the demo did not start: ${told.text()}`);
  return {
    url: listening,
    token: JSON.parse(example).token,
    stop: async () => {
      child.kill("SIGTERM");
      const { code } = await child.status;
      await Promise.all([output.end, told.end]);
      return code;
    },
  };
}

/** Reads a stream to its end, and finds patterns in it. */
function collect(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
  let text = "";
  let more = Promise.withResolvers<boolean>();
  const end = (async () => {
    for await (const part of stream.pipeThrough(new TextDecoderStream())) {
      text += part;
      more.resolve(true);
      more = Promise.withResolvers();
    }
    more.resolve(false);
  })();
  return {
    end,
    text: () => text,
    /** The first group of a pattern once it matches; undefined if the stream ends before. */
    async find(pattern: RegExp): Promise<string | undefined> {
      for (;;) {
        const found = pattern.exec(text)?.[1];
        if (found !== undefined || !await more.promise) return found;
      }
    },
  };
}

async function checkRequests({ url, token }: Demo): Promise<void> {
  const get = async (path: string, headers: Record<string, string>) => {
    const response = await fetch(`${url}${path}`, { headers });
    return { status: response.status, text: await response.text() };
  };
  const health = await get("/health", {});
  assert.deepEqual([health.status, JSON.parse(health.text)], [200, { status: "ok" }]);
  assert.deepEqual(await get("/api", {}), { status: 401, text: "" });
  const authorization = { authorization: `Bearer ${token}` };
  assert.equal((await get("/api", authorization)).status, 204);
  const { tests } = JSON.parse(
    (await get("/api/repos/acme/web-shop/tests", authorization)).text,
  );
  assert.ok(tests.length > 0, "expected the demo to have flaky tests");
  const page = await get("/docs", authorization);
  assert.match(page.text, /<form data-path="\/api\/v1\/flaky\/tests"/);
  const guide = await get("/docs/guides/ci", authorization);
  assert.match(guide.text, /<h1>From your CI to the first flaky test<\/h1>/);
  const script = await get("/docs/files/upload.sh", authorization);
  assert.match(script.text, /^#!\/bin\/sh/);
  const contract = await get("/openapi.yaml", authorization);
  assert.match(contract.text, /^openapi: ["']?3\.1/);
}

async function checkTools(run: Run, { url, token }: Demo): Promise<void> {
  const child = run(["mcp"], { PLATFORM_API_URL: url, PLATFORM_API_TOKEN: token });
  const tooLate = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
  const output = collect(child.stdout);
  const told = collect(child.stderr);
  const writer = child.stdin.getWriter();
  const ask = async (id: number, method: string, params: object) => {
    const message = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    await writer.write(new TextEncoder().encode(`${message}\n`));
    const line = await output.find(new RegExp(`^(.*"id":${id}\\b.*)$`, "m"));
    if (!line) throw new Error(`mcp ended before it answered ${method}: ${told.text()}`);
    return JSON.parse(line).result;
  };
  const client = { protocolVersion: "2025-06-18", capabilities: {} };
  const { serverInfo } = await ask(1, "initialize", {
    ...client,
    clientInfo: { name: "smoke", version: "1" },
  });
  assert.equal(serverInfo.version, VERSION);
  const { structuredContent } = await ask(2, "tools/call", {
    name: "get_repo_flakiness",
    arguments: { repository: "web-shop" },
  });
  assert.equal(typeof structuredContent.percentage, "number");
  clearTimeout(tooLate);
  await writer.close();
  assert.equal((await child.status).code, 0, "expected mcp to end with 0 with its input");
  await Promise.all([output.end, told.end]);
}

async function main([file, ...rest]: string[]): Promise<void> {
  if (file === undefined) throw new Error("expected the program to test as arguments");
  const note = (text: string) =>
    void Deno.stderr.writeSync(new TextEncoder().encode(`ok  ${text}\n`));
  await smoke([file, ...rest], { note });
}

if (import.meta.main) await main(Deno.args);
