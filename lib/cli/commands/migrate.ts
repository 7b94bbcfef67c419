import type { Command } from "commander";
import * as v from "valibot";
import { openDatabase } from "../../../db/connection/connect.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { addCommand, type CliIo } from "../command.ts";

/** `migrate`. */
export function addMigrateCommand(program: Command, io: CliIo): void {
  addCommand(program, io, {
    name: "migrate",
    summary: "Bring the database to this version's schema; prints the schema's version",
    example: "migrate",
    input: v.object({}),
    async run(_input, context) {
      const database = await openDatabase(context.database);
      try {
        const { from, to } = await migrate(database.sql);
        context.note(
          from === to ? `schema version ${to} is current` : `schema version ${from} became ${to}`,
        );
        await context.print(String(to), { schema_version: to });
      } finally {
        await database.close();
      }
    },
  });
}
