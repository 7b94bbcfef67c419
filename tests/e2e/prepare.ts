import assert from "node:assert/strict";
import { openDatabase } from "../../db/connection/connect.ts";
import { commandLine } from "../lib/cli/run_in_process.ts";

/**
 * Runs commands in this process, one after the other, and returns what each prints: for what a test needs
 * before it begins, because each process of the program takes a second of processor time.
 */
export async function prepare(
  environment: Record<string, string>,
  commands: (string | string[])[],
): Promise<string[]> {
  const { DATABASE_URL: databaseUrl, DATA_DIR: dataDir = "" } = environment;
  const database = await openDatabase({ databaseUrl, dataDir });
  const cli = commandLine(() => database, { now: () => Math.floor(Date.now() / 1000) });
  const printed: string[] = [];
  try {
    for (const command of commands) {
      const { code, stdout, stderr } = await cli(command);
      assert.equal(code, 0, stderr);
      printed.push(stdout.trimEnd());
    }
  } finally {
    await database.close();
  }
  return printed;
}

/** Creates the organization acme, and returns a token of it for the API and one for uploads. */
export async function createAcme(
  environment: Record<string, string>,
): Promise<{ api: string; upload: string }> {
  const [, api = "", upload = ""] = await prepare(environment, [
    "org create acme",
    "token create --org acme",
    "token create --org acme --upload",
  ]);
  return { api, upload };
}
