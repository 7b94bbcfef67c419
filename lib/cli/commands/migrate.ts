import type { Command } from "commander";
import * as v from "valibot";
import { openDatabase } from "../../../db/connection/connect.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { addCommand, type CliIo } from "../command.ts";

/** Adds `migrate`. */
export function addMigrateCommand(program: Command, io: CliIo): void {
  addCommand(program, io, {
    name: "migrate",
    summary: "Migrate the database to the schema of this version; prints the schema version",
    example: "migrate",
    input: v.object({}),
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
}
