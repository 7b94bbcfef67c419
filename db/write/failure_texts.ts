/** Stores the messages and stack traces of failures, and deletes unreferenced ones. */
import type { CompressedText } from "../../lib/analysis/failure_texts.ts";
import type { Queryable } from "../connection/sql.ts";
import { storedTexts } from "../read/failure_texts.ts";

const TEXTS_PER_BATCH = 500;

/** Stores the texts that the repository, which must be locked, does not have yet. */
export async function storeTexts(
  tx: Queryable,
  { repositoryId, texts }: { repositoryId: number; texts: readonly CompressedText[] },
): Promise<void> {
  if (texts.length === 0) return;
  await planForParameters(tx);
  for (let start = 0; start < texts.length; start += TEXTS_PER_BATCH) {
    const batch = texts.slice(start, start + TEXTS_PER_BATCH);
    const known = await tx<{ textId: string }[]>`
      select encode(f.text_id, 'hex') as "textId" from ${
      storedTexts(tx, { repositoryId, textIds: batch.map(({ textId }) => textId) })
    }`;
    const knownIds = new Set(known.map(({ textId }) => textId));
    const rows = batch.filter(({ textId }) => !knownIds.has(textId))
      .map(({ body, ...text }) => ({ ...text, body: body.toBase64() }));
    if (rows.length === 0) continue;
    await tx`
      insert into failure_text (repository_id, text_id, message, body)
      select ${repositoryId}, decode("textId", 'hex'), message, decode(body, 'base64')
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as t("textId" text, message text,
        body text)`;
  }
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

/**
 * Makes the server plan the following statements of the transaction for their parameters. A plan
 * that was made while the tables were small compares every row with every other.
 */
async function planForParameters(tx: Queryable): Promise<void> {
  await tx`select set_config('plan_cache_mode', 'force_custom_plan', true)`;
}
