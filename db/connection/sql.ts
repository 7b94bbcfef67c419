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

/**
 * SQL: whole numbers to compare a column of a large table with, as in
 * `test_no = any(${integersIn(sql, testNos)})`.
 *
 * The array is read once, and the planner knows that it is short: it looks each number up in an
 * index. Of the bare text it knows the length too well, may read all rows of a repository instead,
 * and then reads the text anew for each of them.
 */
export function integersIn(sql: Queryable, numbers: Iterable<number>) {
  return sql`array(select unnest(${arrayOf(numbers)}::text::int[]))`;
}

/** SQL: texts as an array, read once as well; as JSON, which has a rule for every character. */
export function textsIn(sql: Queryable, texts: readonly string[]) {
  return sql`array(select json_array_elements_text(${JSON.stringify(texts)}::text::json))`;
}

/** SQL: the texts of a JSON array, which is a column; `null` when there are none. */
export function someTextsOf(sql: Queryable, json: postgres.Fragment) {
  return sql`nullif(array(select json_array_elements_text(${json})), '{}')`;
}

/** SQL: ids of submissions (24 hex digits each) as an array of what is stored. */
export function idsIn(sql: Queryable, ids: readonly string[]) {
  return sql`array(select decode(id, 'hex') from unnest(${textsIn(sql, ids)}) as id)`;
}
