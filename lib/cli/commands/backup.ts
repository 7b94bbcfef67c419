import { basename, dirname, join, relative, resolve } from "node:path";
import { openDatabase } from "../../../db/connection/connect.ts";
import { inspectEmbedded } from "../../../db/embedded/folder.ts";
import { exists } from "../../system/files.ts";
import { backUpEmbedded } from "../../../db/embedded/backup.ts";
import { copyArchives } from "../../storage/folder.ts";
import { inboxFolder } from "../../storage/inbox.ts";
import { type AddCommand, command } from "../command.ts";
import { argument, location } from "../parameters.ts";
import { Failure } from "../../base/failure.ts";

export const backupCommand: AddCommand = command({
  name: "backup",
  summary: "Back up the embedded database (safe while the service is running); print the folder",
  example: "backup /var/backups/test-analytics-monday",
  details: [
    "The copy is a data folder, to be used with `--data-dir` or DATA_DIR. It has every upload that " +
    "was acknowledged before: those that `up` has not processed yet are copied from DATA_DIR/inbox. " +
    "Requests wait while files are copied. For a PostgreSQL server copy the inbox of `up`, then use " +
    "pg_dump.",
  ],
  input: { folder: argument("folder of the copy; it must not exist yet", location) },
  async run({ folder }, context) {
    const { dataDir, databaseUrl } = context.database;
    const inbox = inboxFolder(dataDir);
    if (databaseUrl !== undefined) {
      throw new Failure(
        `backup works on the embedded database only: for a PostgreSQL server copy "${inbox}" if ` +
          "`up` uses it, then use pg_dump",
      );
    }
    const target = resolve(folder);
    if (await exists(target)) {
      throw new Failure(`${JSON.stringify(folder)} exists already: expected a new folder`);
    }
    for (const copied of [inbox, join(dataDir, "postgres")]) {
      if (relative(await realPath(copied), await realPath(target)).startsWith("..")) continue;
      throw new Failure(
        `${JSON.stringify(folder)} is inside of ${JSON.stringify(copied)}, which is copied: ` +
          "expected a folder elsewhere",
      );
    }
    if (!(await inspectEmbedded(dataDir)).exists) {
      throw new Failure(
        `no embedded database in ${JSON.stringify(dataDir)}: expected DATA_DIR to name its folder`,
      );
    }
    let archives = 0;
    // Without migrating it, so that a backup can be made before an upgrade.
    const database = await openDatabase({ dataDir });
    try {
      const { bytes } = await backUpEmbedded(database.sql, {
        dataDir,
        target,
        async copyMore(copy, onFile) {
          if (!await exists(inbox)) return;
          archives += await copyArchives(inbox, { target: inboxFolder(copy), onFile });
        },
      });
      await context.print(target, { folder: target, bytes, archives });
    } finally {
      await database.close();
    }
  },
});

/** The path without links, also of what does not exist yet. */
async function realPath(path: string): Promise<string> {
  try {
    return await Deno.realPath(path);
  } catch {
    const full = resolve(path);
    const parent = dirname(full);
    return parent === full ? full : join(await realPath(parent), basename(full));
  }
}
