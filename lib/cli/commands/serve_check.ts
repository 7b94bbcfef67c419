/** `serve --check`: whether it would start. */
import { dirname, resolve } from "node:path";
import { openDatabase } from "../../../db/connection/connect.ts";
import { loadServerState } from "../../../db/admin/diagnostics.ts";
import { inspectEmbedded } from "../../../db/embedded/inspect.ts";
import { checkSchema } from "../../../db/schema/migrate.ts";
import type { CommandContext } from "../command.ts";
import { Failure } from "../errors.ts";

/**
 * Looks at what `serve` needs at its start, beside the settings, which are right when this is
 * called. Changes nothing: the schema is not brought up to date, no database is created.
 *
 * @throws {Failure} when it would not start
 */
export async function checkStart(context: CommandContext): Promise<void> {
  const finding = await lookAt(context);
  await context.print("ok", { status: "ok", finding });
  context.note(finding);
}

async function lookAt({ database: location }: CommandContext): Promise<string> {
  if (location.databaseUrl === undefined && !(await inspectEmbedded(location.dataDir)).exists) {
    await checkFolder(location.dataDir);
    return `it would create an embedded database in ${location.dataDir}`;
  }
  const database = await openDatabase({ ...location, readOnly: false, maxConnections: 1 });
  try {
    const { state, problem } = await checkSchema(database.sql);
    if (state === "current") {
      const { isReplica } = await loadServerState(database.sql);
      const what = isReplica ? ", a replica, and" : " and";
      return `the database answers${what} has this program's schema`;
    }
    if (problem !== null) throw new Failure(problem);
    const { canMigrate } = await loadServerState(database.sql);
    if (!canMigrate) {
      throw new Failure(
        `the database's schema is ${state} and this program may not write there: ` +
          "run `test-analytics migrate` first, as a user who may",
      );
    }
    return `the database answers; it would bring the schema up to date, which is ${state}`;
  } finally {
    await database.close();
  }
}

/** The nearest folder that is there must be one that can be written to. */
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
        `data folder ${JSON.stringify(dataDir)} cannot be used: ${reason}; ` +
          "expected a folder that may be written to (DATA_DIR)",
      );
    }
  }
}
