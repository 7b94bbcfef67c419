/**
 * Lists the files in which a function runs: for a cached request (GET of a list of tests, with its line of the log), and
 * for an upload (`ingest` of one report).
 *
 * `TEST_DATABASE_URL=... deno run -A --config tests/deno.json tools/measure/entered_files.ts`
 */
import { Session } from "node:inspector/promises";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { pause } from "../../lib/base/delay.ts";
import type { Log } from "../../lib/base/log.ts";
import { queueStderr } from "../../lib/system/standard_error.ts";
import { withLog } from "../../lib/cli/log_output.ts";
import { serve } from "../../routes/mod.ts";
import { openTestEmbedded, openTestServer } from "../../tests/database.ts";
import { commandLine } from "../../tests/lib/cli/run_in_process.ts";

const ROOT = new URL("../../", import.meta.url);

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

interface Coverage {
  result: { url: string; functions: { ranges: { startOffset: number; count: number }[] }[] }[];
}

/** The program's files in which a function was called since the last call of this. */
async function enteredFiles(): Promise<string[]> {
  const { result } = await session.post("Profiler.takePreciseCoverage") as unknown as Coverage;
  return result
    .filter(({ functions }) =>
      // The first is the module itself.
      functions.some(({ ranges: [range] }) => range!.startOffset > 0 && range!.count > 0)
    )
    .map(({ url }) => url.startsWith(ROOT.href) ? url.slice(ROOT.href.length) : "")
    .filter((path) => /^(lib|db|routes)\//.test(path)).sort();
}

const server = process.env.TEST_DATABASE_URL;
const database = server ? await openTestServer(server) : await openTestEmbedded();
const run = commandLine(() => database);
async function ingest(report: string): Promise<void> {
  const path = fileURLToPath(new URL(`fixtures/demo/${report}`, ROOT));
  const { code, stderr } = await run([
    "ingest",
    "--repo",
    "acme/shop",
    "--commit",
    "1234567",
    path,
  ]);
  if (code !== 0) throw new Error(stderr);
}
await run("org create acme");
const { stdout } = await run("token create --org acme --json");
const token = JSON.parse(stdout).token;

// Loads all modules, which runs functions of some of them.
await ingest("browser_attempt_3.xml");
await enteredFiles();
await ingest("unit_attempt_2.xml");
const upload = await enteredFiles();

/** A cached request to the API, with the log of `serve`. */
async function requestCached(log: Log): Promise<string[]> {
  const listener = serve({ sql: database.sql, log, host: "127.0.0.1", port: 0 });
  const request = async () => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${listener.url}/api/repos/acme/shop/tests`, { headers });
    await response.text();
    if (response.status !== 200) throw new Error(`status ${response.status}`);
  };
  for (let count = 0; count < 3; count++) await request();
  // What follows a request.
  await pause(500);
  await enteredFiles();
  await request();
  const entered = await enteredFiles();
  await listener.shutdown();
  return entered;
}
let cached: string[] = [];
const io = { environment: {}, stderrIsTerminal: false, queueStderr };
await withLog(io, { LOG_LEVEL: "info", LOG_FORMAT: "json" }, async (log) => {
  cached = await requestCached(log);
});

for (const [name, files] of Object.entries({ "A cached request": cached, "An upload": upload })) {
  process.stdout.write(
    `${name}: ${files.length} files\n${files.map((file) => `  ${file}\n`).join("")}`,
  );
}
await database.close();
session.disconnect();
