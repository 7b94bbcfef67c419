/** The example of `demo`, served by the process of the test. */
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { openCurrentDatabase } from "../../lib/cli/database.ts";
import { copyTemplate, openTestServer } from "../database.ts";
import { commandLine } from "../lib/cli/run_in_process.ts";

const SERVER = process.env.TEST_DATABASE_URL;

/** The command `demo` while it runs. */
interface RunningDemo {
  /** What it printed. */
  stdout: string;
  environment: Record<string, string>;
  /** Returns its standard error. */
  stop(): Promise<string>;
}

/** The demo while it is served. */
export interface Demo {
  /** Base address. */
  url: string;
  token: string;
  /** Of commands on its database. */
  environment: Record<string, string>;
  stop(): Promise<unknown>;
}

/**
 * Runs `demo` on a database that is migrated already, on a server if there is one: a process of its own takes
 * ten seconds of processor time to create one. `tools/smoke.ts` tests the process.
 */
export async function runDemo(...options: string[]): Promise<RunningDemo> {
  const stop = new AbortController();
  const { promise: printed, resolve: onPrint } = Promise.withResolvers<string>();
  const environment: Record<string, string> = {};
  const run = commandLine(() => assert.fail("the demo opens a database of its own"), {
    now: () => Math.floor(Date.now() / 1000),
    stop: stop.signal,
    stdout: (text) => Promise.resolve(onPrint(text)),
    async openDatabase(location, options) {
      if (SERVER) {
        const database = await openTestServer(SERVER);
        environment.DATABASE_URL = database.place.databaseUrl!;
        return database;
      }
      environment.DATA_DIR = location.dataDir;
      const template = await copyTemplate();
      await Deno.mkdir(location.dataDir, { recursive: true });
      await Deno.rename(join(template, "postgres"), join(location.dataDir, "postgres"));
      await Deno.remove(template);
      return await openCurrentDatabase(location, options);
    },
  });
  const ending = run(["demo", "--port", "0", ...options], { environment: { HOST: "" } });
  const early = ending.then(({ stderr }) => assert.fail(stderr));
  early.catch(() => {});
  return {
    stdout: await Promise.race([printed, early]),
    environment,
    async stop() {
      stop.abort();
      const { code, stderr } = await ending;
      assert.equal(code, 0, stderr);
      return stderr;
    },
  };
}

/** Serves the demo. */
export async function serveDemo(): Promise<Demo> {
  const { stdout, environment, stop } = await runDemo("--json");
  const { url, token } = JSON.parse(stdout);
  return { url, token, environment, stop };
}
