import { resolve } from "node:path";
import { openDatabase } from "../../../db/connection/connect.ts";
import { exists, inspectEmbedded } from "../../../db/embedded/folder.ts";
import { backUpEmbedded } from "../../../db/embedded/backup.ts";
import { type AddCommand, command } from "../command.ts";
import { argument, location } from "../parameters.ts";
import { Failure } from "../../base/failure.ts";

export const backupCommand: AddCommand = command({
  name: "backup",
  summary: "Copy the embedded database, also while the service is running; prints the folder",
  example: "backup /var/backups/test-analytics-monday",
  details: [
    "The copy is a data folder, to be used with `--data-dir` or DATA_DIR. Requests wait while files " +
    "are copied. For a PostgreSQL server use pg_dump.",
  ],
  input: { folder: argument("folder of the copy, which must not exist", location) },
  async run({ folder }, context) {
    if (context.database.databaseUrl !== undefined) {
      throw new Failure(
        "backup works on the embedded database only: use pg_dump for a PostgreSQL server",
      );
    }
    const target = resolve(folder);
    if (await exists(target)) {
      throw new Failure(`${JSON.stringify(folder)} exists already: expected a new folder`);
    }
    const { dataDir } = context.database;
    if (!(await inspectEmbedded(dataDir)).exists) {
      throw new Failure(
        `no embedded database in ${JSON.stringify(dataDir)}: expected DATA_DIR to name its folder`,
      );
    }
    // Without migrating it, so that a backup can be made before an upgrade.
    const database = await openDatabase({ dataDir });
    try {
      const { bytes } = await backUpEmbedded(database.sql, { dataDir, target });
      await context.print(target, { folder: target, bytes });
    } finally {
      await database.close();
    }
  },
});
