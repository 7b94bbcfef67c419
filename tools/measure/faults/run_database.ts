/** A database for one run, with an organization and a token. */
import assert from "node:assert/strict";
import { copyTemplate } from "../../../tests/database.ts";
import { makeOwnServer, type OwnServer } from "../../../tests/e2e/postgres.ts";
import { run } from "../../../tests/e2e/program.ts";

/** The database of a run. */
export interface RunDatabase {
  kind: "embedded" | "server";
  /** Environment variables that select it. */
  environment: Record<string, string>;
  token: string;
  remove(): Promise<void>;
}

/** Creates a database. */
export async function createRunDatabase(kind: RunDatabase["kind"]): Promise<RunDatabase> {
  if (kind === "server") {
    const server = await makeOwnServer();
    return useServer(server, () => server.remove());
  }
  const dataDir = await copyTemplate();
  const environment = { DATA_DIR: dataDir };
  const remove = () => Deno.remove(dataDir, { recursive: true });
  return { kind, environment, token: await makeToken(environment), remove };
}

/** Uses an existing server. */
export async function useServer(
  server: Pick<OwnServer, "url">,
  remove: () => Promise<void>,
): Promise<RunDatabase> {
  const environment = { DATABASE_URL: server.url };
  return { kind: "server", environment, token: await makeToken(environment), remove };
}

/** Creates the organization `acme`; returns a token of it. */
export async function makeToken(environment: Record<string, string>): Promise<string> {
  const created = await run(["org", "create", "acme"], environment);
  assert.equal(created.code, 0, created.stderr);
  return await addToken(environment);
}

/** Creates a token of `acme`, such as one for `--upload`. */
export async function addToken(
  environment: Record<string, string>,
  ...options: string[]
): Promise<string> {
  const line = ["token", "create", "--org", "acme", ...options];
  const { code, stdout, stderr } = await run(line, environment);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}
