/** Tests that kill processes: a few kills on one database in the gate, many on both in `deno task prove kills`. */
import { it } from "@std/testing/bdd";
import process from "node:process";
import { copyTemplate, openTestServer } from "../database.ts";

/** Set by `deno task prove kills 50`. */
const PROVED = process.env.PROVE_KILLS ?? "";

/** Whether this is the long proof, which prints its figures. */
export const IS_PROOF = PROVED !== "";

/** How many processes a test kills. */
export function killCount({ inGate }: { inGate: number }): number {
  return IS_PROOF ? Number(PROVED) : inGate;
}

/** Runs `body` on a new embedded database. */
async function onEmbedded(body: (environment: Record<string, string>) => Promise<void>) {
  const dataDir = await copyTemplate();
  try {
    await body({ DATA_DIR: dataDir });
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

/** Runs `body` on a new database of a server. */
async function onServer(
  server: string,
  body: (environment: Record<string, string>) => Promise<void>,
) {
  const { place, close } = await openTestServer(server);
  try {
    await body({ DATABASE_URL: place.databaseUrl! });
  } finally {
    await close();
  }
}

/**
 * Defines a test of what transactions and claims hold, whichever database: in the gate it runs on a server
 * if there is one. What the embedded database itself keeps when its users are killed is in
 * `embedded_kill_test.ts`.
 */
export function itOnKilledDatabase(
  name: string,
  body: (environment: Record<string, string>) => Promise<void>,
): void {
  const server = process.env.TEST_DATABASE_URL ?? "";
  if (IS_PROOF || server === "") it(`${name}, on the embedded database`, () => onEmbedded(body));
  if (server !== "") it(`${name}, on a server`, () => onServer(server, body));
}
