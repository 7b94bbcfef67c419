/** `serve --check`. */
import { dirname, resolve } from "node:path";
import { openDatabase } from "../../../db/connection/connect.ts";
import { loadServerState } from "../../../db/admin/diagnostics.ts";
import { inspectEmbedded } from "../../../db/embedded/inspect.ts";
import { checkSchema } from "../../../db/schema/migrate.ts";
import type { CommandContext } from "../command.ts";
import { Failure } from "../errors.ts";

/**
 * Checks what `serve` needs at startup. Changes nothing: migrates no schema, creates no database.
 *
 * @throws {Failure} when it could not start
 */
export async function checkStart(context: CommandContext): Promise<void> {
  const finding = await findingOf(context);
  await context.print("ok", { status: "ok", finding });
  context.note(finding);
}

async function findingOf({ database: location }: CommandContext): Promise<string> {
  if (location.databaseUrl === undefined && !(await inspectEmbedded(location.dataDir)).exists) {
    await checkFolder(location.dataDir);
    return `creates an embedded database in ${location.dataDir} at startup`;
  }
  const database = await openDatabase({ ...location, readOnly: false, maxConnections: 1 });
  try {
    const { state, problem } = await checkSchema(database.sql);
    if (state === "current") {
      const { isReplica } = await loadServerState(database.sql);
      return `the ${isReplica ? "replica" : "database"} responds and its schema is current`;
    }
    if (problem !== null) throw new Failure(problem);
    const { canMigrate } = await loadServerState(database.sql);
    if (!canMigrate) {
      throw new Failure(
        `the database schema is ${state} and this user cannot migrate it: run ` +
          "`test-analytics migrate` as a user with write privileges",
      );
    }
    return `the database responds; migrates its schema, which is ${state}, at startup`;
  } finally {
    await database.close();
  }
}

/** Checks that the nearest existing folder is writable. */
async function checkFolder(dataDir: string): Promise<void> {
  for (let path = resolve(dataDir);; path = dirname(path)) {
    try {
      const probe = await Deno.makeTempFile({ dir: path, prefix: ".test-analytics-check-" });
      await Deno.remove(probe);
      return;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound && path !== dirname(path)) continue;
      const reason = error instanceof Error ? error.message : String(error);
      throw new Failure(
        `cannot use the data folder ${
          JSON.stringify(dataDir)
        }: ${reason}; expected DATA_DIR to be a ` +
          "writable folder",
      );
    }
  }
}
