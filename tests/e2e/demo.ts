/** The example of `demo`, served by the process of the test. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { openCurrentDatabase } from "../../lib/cli/database.ts";
import { copyTemplate } from "../database.ts";
import { commandLine } from "../lib/cli/run_in_process.ts";

/** The command `demo` while it runs. */
interface RunningDemo {
  /** What it printed. */
  stdout: string;
  /** Returns its standard error. */
  stop(): Promise<string>;
}

/** The demo while it is served. */
export interface Demo {
  /** Base address. */
  url: string;
  token: string;
  dataDir: string;
  stop(): Promise<unknown>;
}

/**
 * Runs `demo` on a copy of the migrated database: a process of its own takes ten seconds of processor time to
 * create one. `tools/smoke.ts` tests the process.
 */
export async function runDemo(...options: string[]): Promise<RunningDemo> {
  const stop = new AbortController();
  const { promise: printed, resolve: onPrint } = Promise.withResolvers<string>();
  const run = commandLine(() => assert.fail("the demo opens a database of its own"), {
    now: () => Math.floor(Date.now() / 1000),
    stop: stop.signal,
    stdout: (text) => Promise.resolve(onPrint(text)),
    async openDatabase(location, options) {
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
  const { stdout, stop } = await runDemo("--json");
  const { url, token, data_dir: dataDir } = JSON.parse(stdout);
  return { url, token, dataDir, stop };
}
