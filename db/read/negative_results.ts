/** SQL about failures and errors that several statements have in common. */
import type { Queryable } from "../connection/sql.ts";

/** SQL: the message of the row `n` of `negative_result` whose submission is the row `s`. */
export function messageOf(sql: Queryable) {
  return sql`coalesce(n.message, s.messages[n.message_no])`;
}

/** SQL: the week of the row `n` of `negative_result`, as the index of disruptions by test has it. */
export function weekOfNegative(sql: Queryable) {
  return sql`get_byte(n.submission_id, 0) * 32 + get_byte(n.submission_id, 1) / 8`;
}

/**
 * SQL: whether the row `n` of `negative_result`, a disruption of a given test, was recorded since.
 *
 * The index is searched by week; the id filters the first week.
 *
 * @param firstId 24 hex digits: the first id of that moment
 */
export function isDisruptedSince(sql: Queryable, firstId: string) {
  const week = Math.floor(parseInt(firstId.slice(0, 4), 16) / 8);
  return sql`(${weekOfNegative(sql)}) >= ${week}::int
    and n.submission_id >= decode(${firstId}, 'hex')`;
}
