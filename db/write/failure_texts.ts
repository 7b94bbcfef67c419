/** Stores the texts of failures, and deletes those that no failure has any more. */
import {
  type CollectedTexts,
  encodeBody,
  type FailureText,
  type IdentifiedText,
  identifiedTexts,
} from "../../lib/analysis/failure_texts.ts";
import { idsIn, type Queryable } from "../connection/sql.ts";
import { loadTexts, storedTexts } from "../read/failure_texts.ts";
import { planForParameters } from "./transaction.ts";

// Bounds the memory.
const TEXTS_PER_BATCH = 500;
const CHARACTERS_PER_BATCH = 1 << 20;

/** Stores those of the texts that the repository, which must be locked, does not have yet. */
export async function storeTexts(
  tx: Queryable,
  { repositoryId, texts }: { repositoryId: number; texts: CollectedTexts },
): Promise<void> {
  await planForParameters(tx);
  let batch: IdentifiedText[] = [];
  let characters = 0;
  for (const text of identifiedTexts(texts)) {
    batch.push(text);
    characters += text.body.length;
    if (batch.length === TEXTS_PER_BATCH || characters > CHARACTERS_PER_BATCH) {
      await storeBatch(tx, repositoryId, batch);
      batch = [];
      characters = 0;
    }
  }
  if (batch.length > 0) await storeBatch(tx, repositoryId, batch);
}

async function storeBatch(
  tx: Queryable,
  repositoryId: number,
  texts: IdentifiedText[],
): Promise<void> {
  const known = await tx<{ textId: string }[]>`
    select encode(f.text_id, 'hex') as "textId" from ${
    storedTexts(tx, { repositoryId, textIds: texts.map(({ textId }) => textId) })
  }`;
  const knownIds = new Set(known.map(({ textId }) => textId));
  const added = texts.filter(({ textId }) => !knownIds.has(textId));
  if (added.length === 0) return;

  const bases = await loadBases(tx, repositoryId, added);
  const rows = added.map((text) => {
    const { textId, fingerprint, message } = text;
    const base = bases.get(fingerprint);
    if (!base) bases.set(fingerprint, text);
    const body = encodeBody(text, base ?? null);
    return {
      textId,
      fingerprint,
      message,
      body: body.toBase64(),
      baseTextId: base?.textId ?? null,
    };
  });
  await tx`
    insert into failure_text (repository_id, text_id, fingerprint, message, body, base_text_id)
    select ${repositoryId}, decode("textId", 'hex'), decode(fingerprint, 'hex'), message,
      decode(body, 'base64'), decode("baseTextId", 'hex')
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as t("textId" text,
      fingerprint text, message text, body text, "baseTextId" text)`;
}

/** The base of each of the fingerprints that has one. */
async function loadBases(
  tx: Queryable,
  repositoryId: number,
  texts: IdentifiedText[],
): Promise<Map<string, FailureText & { textId: string }>> {
  const fingerprints = [...new Set(texts.map(({ fingerprint }) => fingerprint))];
  const rows = await tx<{ fingerprint: string; textId: string }[]>`
    select encode(wanted.fingerprint, 'hex') as fingerprint, encode(f.text_id, 'hex') as "textId"
    from unnest(${idsIn(tx, fingerprints)}) as wanted(fingerprint)
    cross join lateral (
      select text_id from failure_text
      where repository_id = ${repositoryId} and fingerprint = wanted.fingerprint
        and base_text_id is null
      limit 1) f`;
  const found = await loadTexts(tx, { repositoryId, textIds: rows.map(({ textId }) => textId) });
  return new Map(
    rows.map(({ fingerprint, textId }) => [fingerprint, { textId, ...found.get(textId)! }]),
  );
}

/**
 * Deletes those of the given texts that no failure has, and that are not the base of another text;
 * their bases too. The repository must be locked.
 */
export async function deleteUnusedTexts(
  tx: Queryable,
  { repositoryId, textIds }: { repositoryId: number; textIds: readonly string[] },
): Promise<void> {
  if (textIds.length === 0) return;
  await planForParameters(tx);
  // Reads the failures of the repository once: no index leads from a text to them.
  const unused = await tx<{ textId: string }[]>`
    with candidate as (
      select text_id from unnest(${idsIn(tx, textIds)}) as given(text_id)
      union
      select f.base_text_id from ${storedTexts(tx, { repositoryId, textIds })}
      where f.base_text_id is not null
    )
    select encode(text_id, 'hex') as "textId" from candidate
    except
    select encode(n.text_id, 'hex') from negative_result n
    where n.repository_id = ${repositoryId}`;
  const unusedIds = idsIn(tx, unused.map(({ textId }) => textId));
  // First those with a base, so that no text loses the base that its body needs.
  await tx`
    delete from failure_text
    where repository_id = ${repositoryId} and text_id = any(${unusedIds})
      and base_text_id is not null`;
  await tx`
    delete from failure_text f
    where f.repository_id = ${repositoryId} and f.text_id = any(${unusedIds})
      and f.base_text_id is null and (
        select true from failure_text d
        where d.repository_id = ${repositoryId} and d.fingerprint = f.fingerprint
          and d.base_text_id = f.text_id
        limit 1) is null`;
}

/** The texts of a repository that no failure has. */
export async function findUnusedTexts(sql: Queryable, repositoryId: number): Promise<string[]> {
  const rows = await sql<{ textId: string }[]>`
    select encode(f.text_id, 'hex') as "textId" from failure_text f
    where f.repository_id = ${repositoryId}
    except
    select encode(n.text_id, 'hex') from negative_result n
    where n.repository_id = ${repositoryId}`;
  return rows.map(({ textId }) => textId);
}
