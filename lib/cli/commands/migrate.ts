// Tests: tests/lib/cli/commands/completion_test.ts tests/lib/cli/program_test.ts
import { openDatabase } from "../../../db/connection/connect.ts";
import { distributeDatabase } from "../../../db/schema/distribute.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { type AddCommand, command } from "../command.ts";
import { plural } from "../../base/text.ts";
import { judgeAgain } from "../../../db/admin/judge_again.ts";
import { flag } from "../parameters.ts";

export const migrateCommand: AddCommand = command({
  name: "migrate",
  summary: "Migrate the database to the schema of this version and print the schema version",
  example: "migrate",
  input: {
    citus: flag("also distribute the data over the workers of a Citus cluster (once)"),
  },
  async run({ citus }, context) {
    const database = await openDatabase(context.database);
    try {
      const { from, to } = await migrate(database.sql);
      context.note(
        from === to ? `schema version ${to} is current` : `migrated from schema ${from} to ${to}`,
      );
      const moved = await judgeAgain(database.sql, {
        onProgress: ({ repository, judged, of }) =>
          context.note(`${repository}: ${judged} of ${of} code versions judged again`),
      });
      if (moved > 0) {
        context.note(
          `judged what is stored by the rules of this version: the first disruption of ${
            plural(moved, "test")
          } moved, see \`org log --org NAME\``,
        );
      }
      if (citus) {
        const tables = await distributeDatabase(database.sql);
        context.note(
          tables.length > 0 ? `distributed ${tables.length} tables` : "all tables are distributed",
        );
      }
      await context.print(String(to), { schema_version: to });
    } finally {
      await database.close();
    }
  },
});
