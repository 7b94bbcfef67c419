// Tests: tests/db/write/store_texts_test.ts
/** The texts of failures: message and body, each stored once per repository. */
import { decodeBody, type FailureText } from "../../lib/analysis/failure_texts.ts";
import { idsIn, type Queryable } from "../connection/sql.ts";

/** SQL: the message of the row `n` of `negative_result` of a repository. */
export function messageOf(sql: Queryable, repositoryId: number) {
  return sql`(
    select f.message from failure_text f
    where f.repository_id = ${repositoryId} and f.text_id = n.text_id)`;
}

/** Texts of a repository, by text id (20 hex digits). */
export async function loadTexts(
  sql: Queryable,
  { repositoryId, textIds }: { repositoryId: number; textIds: readonly string[] },
): Promise<Map<string, FailureText>> {
  if (textIds.length === 0) return new Map();
  const rows = await sql<{ textId: string; message: string; body: Uint8Array }[]>`
    select encode(f.text_id, 'hex') as "textId", f.message, f.body
    from ${storedTexts(sql, { repositoryId, textIds })}`;
  return new Map(
    rows.map(({ textId, message, body }) => [textId, { message, body: decodeBody(body) }]),
  );
}

/**
 * SQL: the rows `f` of `failure_text` with the given text ids, each by a look-up in the index. With a
 * plan that was made while the table was small, a join or `= any` reads all texts of the repository.
 */
export function storedTexts(
  sql: Queryable,
  { repositoryId, textIds }: { repositoryId: number; textIds: readonly string[] },
) {
  return sql`unnest(${idsIn(sql, textIds)}) as wanted(text_id)
    cross join lateral (
      select * from failure_text
      where repository_id = ${repositoryId} and text_id = wanted.text_id
      limit 1) f`;
}
