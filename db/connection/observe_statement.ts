import type postgres from "postgres";

export type Settled = { result: postgres.RowList<postgres.Row[]> } | { error: unknown };

/**
 * Calls `onSend` when a statement is awaited, which makes postgres.js send it, and what that returns
 * when it has settled, before anything else that waits for it. Fragments, identifiers and lists of
 * values are created by the same calls, and are never awaited.
 */
export function observeStatement<T>(
  statement: T,
  onSend: () => (settled: Settled) => void,
): T {
  if (!(statement instanceof Promise)) return statement;
  const { then } = statement;
  statement.then = ((...handlers: Parameters<typeof then>) => {
    statement.then = then;
    const onSettled = onSend();
    statement.then((result) => {
      dropEmptySlots(result);
      onSettled({ result });
    }, (error) => onSettled({ error }));
    return statement.then(...handlers);
  }) as typeof then;
  return statement;
}

/**
 * After a statement that failed between two rows, postgres.js 3.4.9 puts as many empty slots before the
 * rows of the next statement of the connection.
 */
function dropEmptySlots(rows: unknown): void {
  if (!Array.isArray(rows) || rows.length === 0 || 0 in rows) return;
  rows.splice(0, Number(Object.keys(rows).find((key) => /^\d+$/.test(key)) ?? rows.length));
}
