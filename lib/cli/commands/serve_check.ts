/** Checks before `serve` starts. */
import { openDatabase } from "../../../db/connection/connect.ts";
import { loadServerState } from "../../../db/admin/diagnostics.ts";
import { inspectEmbedded } from "../../../db/embedded/inspect.ts";
import { checkSchema } from "../../../db/schema/migrate.ts";
import type { CommandContext } from "../command.ts";
import { cannotMigrate, nearestFolder } from "../database.ts";
import { Failure } from "../errors.ts";

/** Checks what `serve` needs at startup; changes nothing. @throws {Failure} */
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
    if (!canMigrate) throw cannotMigrate(state);
    return `the database responds; migrates its schema, which is ${state}, at startup`;
  } finally {
    await database.close();
  }
}

/** Checks that the nearest existing folder is writable. */
async function checkFolder(dataDir: string): Promise<void> {
  try {
    const dir = await nearestFolder(dataDir);
    await Deno.remove(await Deno.makeTempFile({ dir, prefix: ".test-analytics-check-" }));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure(
      `cannot use the data folder "${dataDir}": ${reason}; expected DATA_DIR to be a writable folder`,
    );
  }
}

/**
 * Checks that several processes can share a port. macOS accepts the option and gives all connections to
 * one process. Without `--unstable-net`, which adds `listenDatagram`, a shared port ends the process.
 *
 * @throws {Failure}
 */
export function requireSharedPorts(
  os: string = Deno.build.os,
  hasUnstableNet = "listenDatagram" in Deno,
): void {
  if (os !== "linux") {
    throw new Failure(
      `--reuse-port (REUSE_PORT) needs Linux, found ${os}: use a port for each process and a proxy ` +
        "in front of them",
    );
  }
  if (!hasUnstableNet) {
    throw new Failure(
      "--reuse-port (REUSE_PORT) needs --unstable-net: start it with " +
        "`deno run --unstable-net ... serve --reuse-port`",
    );
  }
}
