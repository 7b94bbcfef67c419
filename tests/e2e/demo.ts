/** The example of `demo`, served by the process of the test. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { openCurrentDatabase } from "../../lib/cli/database.ts";
import { copyTemplate } from "../database.ts";
import { commandLine } from "../lib/cli/run_in_process.ts";

/** The demo while it is served. */
export interface Demo {
  /** Base address. */
  url: string;
  token: string;
  dataDir: string;
  stop(): Promise<void>;
}

/**
 * Serves the demo from a copy of the migrated database: a process of its own takes ten seconds of processor
 * time to create one. The process is tested in `cli_test.ts`.
 */
export async function serveDemo(): Promise<Demo> {
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
  const ending = run(["demo", "--port", "0", "--json"], { environment: { HOST: "" } });
  const early = ending.then(({ stderr }) => assert.fail(stderr));
  early.catch(() => {});
  const { url, token, data_dir: dataDir } = JSON.parse(await Promise.race([printed, early]));
  return {
    url,
    token,
    dataDir,
    async stop() {
      stop.abort();
      const { code, stderr } = await ending;
      assert.equal(code, 0, stderr);
    },
  };
}
