import { openDatabase } from "../../../db/connection/connect.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { type AddCommand, command } from "../command.ts";

export const migrateCommand: AddCommand = command({
  name: "migrate",
  summary: "Migrate the database to the schema of this version; prints the schema version",
  example: "migrate",
  input: {},
  async run(_input, context) {
    const database = await openDatabase(context.database);
    try {
      const { from, to } = await migrate(database.sql);
      context.note(
        from === to ? `schema version ${to} is current` : `migrated from schema ${from} to ${to}`,
      );
      await context.print(String(to), { schema_version: to });
    } finally {
      await database.close();
    }
  },
});
