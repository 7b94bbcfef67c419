import type postgres from "postgres";

/** Whatever queries can be sent through: a pool, one connection, or a running transaction. */
// deno-lint-ignore ban-types -- this is how postgres.js spells "no custom types"
export type Queryable = postgres.ISql<{}>;

/**
 * Whole numbers as the text of a PostgreSQL array, for `= any(${arrayOf(numbers)}::text::int[])`.
 *
 * The planner takes an array for a few values and looks each up in an index. A sub-select over JSON
 * it takes for a hundred rows of unknown numbers, and rather reads a whole table.
 */
export function arrayOf(numbers: Iterable<number>): string {
  return `{${[...numbers].join(",")}}`;
}
