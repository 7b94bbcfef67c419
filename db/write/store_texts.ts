/** Stores the messages and stack traces of failures, and deletes unreferenced ones. */
import { failureText, type FailureTexts } from "../../lib/analysis/failure_texts.ts";
import type { Queryable } from "../connection/sql.ts";
import { planForParameters } from "../read/snapshot.ts";
import { storedTexts } from "../read/texts.ts";

/** Texts that are stored by one statement. */
export const TEXTS_PER_BATCH = 500;

/**
 * Bytes of texts that are sent without asking which of them are known: that many take less time than the
 * question.
 */
const MAX_UNASKED_BYTES = 100_000;

/** Stores the texts that the repository, which must be locked, does not have yet. */
export async function storeTexts(
  tx: Queryable,
  { repositoryId, texts }: { repositoryId: number; texts: FailureTexts },
): Promise<void> {
  for (let start = 0; start < texts.count; start += TEXTS_PER_BATCH) {
    const length = Math.min(TEXTS_PER_BATCH, texts.count - start);
    const batch = Array.from({ length }, (_, offset) => failureText(texts, start + offset));
    const byteCount = batch.reduce(
      (sum, { message, body }) => sum + message.length + body.length,
      0,
    );
    const known = byteCount <= MAX_UNASKED_BYTES
      ? new Set()
      : await knownTextIds(tx, { repositoryId, textIds: batch.map(({ textId }) => textId) });
    const rows = batch.filter(({ textId }) => !known.has(textId))
      .map(({ body, ...text }) => ({ ...text, body: body.toBase64() }));
    if (rows.length === 0) continue;
    await tx`
      insert into failure_text (repository_id, text_id, message, body)
      select ${repositoryId}, decode("textId", 'hex'), message, decode(body, 'base64')
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as t("textId" text, message text,
        body text)
      on conflict do nothing`;
  }
}

async function knownTextIds(
  sql: Queryable,
  wanted: { repositoryId: number; textIds: readonly string[] },
): Promise<Set<string>> {
  const rows = await sql<{ textId: string }[]>`
    select encode(f.text_id, 'hex') as "textId" from ${storedTexts(sql, wanted)}`;
  return new Set(rows.map(({ textId }) => textId));
}

/**
 * Deletes texts that no failure of the repository has, at most `limit`; returns how many. The repository
 * must be locked. Reads all its failures: no index leads from a text to them.
 */
export async function deleteUnusedTexts(
  tx: Queryable,
  repositoryId: number,
  limit: number | null = null,
): Promise<number> {
  await planForParameters(tx);
  const { count } = await tx`
    delete from failure_text
    where repository_id = ${repositoryId} and text_id = any(array(
      select f.text_id from failure_text f where f.repository_id = ${repositoryId}
      except
      select n.text_id from negative_result n where n.repository_id = ${repositoryId}
      limit ${limit}))`;
  return count;
}
