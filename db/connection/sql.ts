// Tests: tests/db/connection/pool_test.ts tests/db/connection/pooler_test.ts
import type postgres from "postgres";

/** Anything that runs queries: a pool, one connection, or a transaction. */
// deno-lint-ignore ban-types -- this is how postgres.js spells "no custom types"
export type Queryable = postgres.ISql<{}>;

/** What runs in a transaction. */
export type Transaction = (tx: postgres.TransactionSql) => unknown;

export type Fragment = ReturnType<typeof integersIn>;

/**
 * Integers as the text of a PostgreSQL array, for `= any(${arrayOf(numbers)}::text::int[])`.
 *
 * The planner assumes that an array is short and looks each value up in an index. For a sub-select
 * over JSON it assumes a hundred rows, and prefers to read the whole table.
 */
export function arrayOf(numbers: Iterable<number>): string {
  return `{${[...numbers].join(",")}}`;
}

/**
 * SQL: integers to compare a column of a large table with, as in `test_no = any(${integersIn(sql,
 * testNos)})`. The sub-select is evaluated once, and the planner assumes a short array. For the
 * bare text it may read all rows, and parse it for each of them.
 */
export function integersIn(sql: Queryable, numbers: Iterable<number>) {
  return sql`array(select unnest(${arrayOf(numbers)}::text::int[]))`;
}

/** Integers as an `int4multirange` such as `{[0,4000),[4003,4004)}`: short for consecutive ones. */
export function rangesOf(numbers: Iterable<number>): string {
  const ranges: string[] = [];
  let first = 0;
  let end = -1;
  for (const number of Int32Array.from(numbers).sort()) {
    if (number === end) end++;
    else {
      if (end !== -1) ranges.push(`[${first},${end})`);
      [first, end] = [number, number + 1];
    }
  }
  if (end !== -1) ranges.push(`[${first},${end})`);
  return `{${ranges.join(",")}}`;
}

/** Integers from `first`, without `end`. */
export interface Range {
  first: number;
  end: number;
}

/** The ranges of an `int4multirange`, from its text. */
export function rangesIn(text: string): Range[] {
  return [...text.matchAll(/(\d+),(\d+)/g)].map(([, first, end]) => ({
    first: Number(first),
    end: Number(end),
  }));
}

/** Texts as the text of an array, as in `values (${textArray(texts)}::text[])`. */
export function textArray(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

/** SQL: texts as an array, evaluated once; as JSON, which can escape every character. */
export function textsIn(sql: Queryable, texts: readonly string[]) {
  return sql`array(select json_array_elements_text(${JSON.stringify(texts)}::text::json))`;
}

/** SQL: submission ids (24 hex digits) as an array of `bytea`. */
export function idsIn(sql: Queryable, ids: readonly string[]) {
  return sql`array(select decode(id, 'hex') from unnest(${textsIn(sql, ids)}) as id)`;
}
