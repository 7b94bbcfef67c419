/** Stores the messages and stack traces of failures, and deletes unreferenced ones. */
import type { CompressedText } from "../../lib/analysis/failure_texts.ts";
import { idsIn, type Queryable } from "../connection/sql.ts";
import { storedTexts } from "../read/failure_texts.ts";
import { planForParameters } from "./transaction.ts";

const TEXTS_PER_BATCH = 500;

/** Stores the texts that the repository, which must be locked, does not have yet. */
export async function storeTexts(
  tx: Queryable,
  { repositoryId, texts }: { repositoryId: number; texts: readonly CompressedText[] },
): Promise<void> {
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

/** Deletes those of the given texts that no failure has. The repository must be locked. */
export async function deleteUnusedTexts(
  tx: Queryable,
  { repositoryId, textIds }: { repositoryId: number; textIds: readonly string[] },
): Promise<void> {
  if (textIds.length === 0) return;
  await planForParameters(tx);
  // Reads the failures of the repository once: no index leads from a text to them.
  await tx`
    delete from failure_text
    where repository_id = ${repositoryId} and text_id = any(array(
      select text_id from unnest(${idsIn(tx, textIds)}) as given(text_id)
      except
      select n.text_id from negative_result n where n.repository_id = ${repositoryId}))`;
}
