// Tests: tests/lib/cli/commands/import_test.ts tests/lib/cli/commands/prune_test.ts
import { timestampOrNull } from "./time.ts";

/** `createdAt` as `created_at`. */
type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : "";

/** Fields as JSON shows them: with the database's names, and times (`...At`) as timestamps. */
export function jsonRecord<Row extends object>(row: Row) {
  const entries = Object.entries(row).map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    name.endsWith("At") ? timestampOrNull(value) : value,
  ]);
  return Object.fromEntries(entries) as {
    [Name in keyof Row as SnakeCase<Name>]: Name extends `${string}At`
      ? null extends Row[Name] ? string | null : string
      : Row[Name];
  };
}
