import initial from "./0001_initial.sql" with { type: "text" };

/** The migrations in order; the schema version is their number. Released ones never change. */
export const migrations: readonly string[] = [initial];
