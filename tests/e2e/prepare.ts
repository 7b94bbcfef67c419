import assert from "node:assert/strict";
import process from "node:process";
import { openDatabase } from "../../db/connection/connect.ts";
import { openCurrentDatabase } from "../../lib/cli/database.ts";
import { copyTemplate, openTestServer } from "../database.ts";
import { commandLine, type Ending } from "../lib/cli/run_in_process.ts";
import { NO_CI } from "../no_ci.ts";

/** After which a service that should have refused to start is stopped. */
const MAX_MS = 60_000;

const now = () => Math.floor(Date.now() / 1000);

/**
 * Runs a command in this process, which opens and closes its database as a process does: for what a command
 * says and does, where the process is not what is tested.
 */
export async function runHere(
  args: string[],
  environment: Record<string, string>,
): Promise<Ending> {
  const unopened = () => assert.fail("the command opens its own database");
  return await commandLine(unopened, {
    environment: { ...process.env, ...NO_CI, DATABASE_URL: "", HOST: "", PORT: "", ...environment },
    now,
    stop: AbortSignal.timeout(MAX_MS),
    openDatabase: openCurrentDatabase,
  })(args);
}

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
  const cli = commandLine(() => database, { now });
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

/** Where services have their data. */
export interface ServiceData {
  environment: { DATA_DIR: string; DATABASE_URL?: string };
  /** When the services have ended. */
  remove(): Promise<void>;
}

/**
 * A new migrated database for services, on a server if there is one: for what does not depend on the database.
 * With the embedded one each process takes nearly a second of processor time more.
 */
export async function newServiceData(): Promise<ServiceData> {
  const server = process.env.TEST_DATABASE_URL;
  const database = server ? await openTestServer(server) : null;
  const dataDir = database
    ? await Deno.makeTempDir({ prefix: "test-analytics-data-" })
    : await copyTemplate();
  const databaseUrl = database?.place.databaseUrl;
  return {
    environment: { DATA_DIR: dataDir, ...databaseUrl && { DATABASE_URL: databaseUrl } },
    async remove() {
      await database?.close();
      await Deno.remove(dataDir, { recursive: true });
    },
  };
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
