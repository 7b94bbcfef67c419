/** The options and settings that name the database. */
import * as v from "valibot";
import { type Environment, setting } from "../base/config.ts";
import { option, readInput } from "./parameters.ts";
import { readSecret } from "./settings.ts";
import { location } from "./values.ts";

/** A PostgreSQL server when there is a URL, else the embedded database in the folder. */
export interface DatabaseLocation {
  databaseUrl: string | undefined;
  dataDir: string;
}

/** The settings of every command that uses the database. */
export const DATABASE_SETTINGS = ["DATABASE_URL", "DATABASE_URL_FILE", "DATA_DIR"] as const;

/** The options of every command that uses the database. */
export const DATABASE_OPTIONS = {
  databaseUrl: option(
    "<url>",
    "PostgreSQL server (passwords are safer in DATABASE_URL)",
    v.optional(location),
  ),
  dataDir: option("<folder>", "folder of the embedded database", v.optional(location)),
};

/** Reads where the database is. */
export async function readDatabaseLocation(
  environment: Environment,
  flags: Readonly<Record<string, unknown>>,
  problems: string[],
): Promise<DatabaseLocation> {
  const options = readInput(DATABASE_OPTIONS, { flags, given: [], problems });
  const dataDir = options.dataDir ?? setting(environment, "DATA_DIR");
  if (options.databaseUrl !== undefined && options.dataDir !== undefined) {
    problems.push("--database-url and --data-dir: expected only one of them");
  }
  try {
    // --data-dir wins over DATABASE_URL of the environment.
    const databaseUrl = options.databaseUrl ??
      (options.dataDir === undefined ? readSecret(environment, "DATABASE_URL") : undefined);
    // Loaded by what uses it, as everything of the database.
    if (databaseUrl) {
      (await import("../../db/connection/database_url.ts")).readDatabaseUrl(databaseUrl);
    }
    return { databaseUrl, dataDir };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    problems.push(error.message);
    return { databaseUrl: undefined, dataDir };
  }
}
