/** Abbreviated ids of commits: CI services offer them, too, and without a tree the id is the code version. */
import { codeOfCommit, severalCommits, WHOLE_ID_LENGTH } from "../../lib/base/commit.ts";
import type { Queryable } from "../connection/sql.ts";

const SHORTEST_LENGTH = 7;

const HEX = /^[0-9a-f]+$/;

/**
 * The commit of an upload without a tree: the whole id if it is abbreviated and fits exactly one
 * commit of such uploads. Otherwise a note says which others it may be.
 */
export async function resolveCommit(
  tx: Queryable,
  { repositoryId, commitOid, treeOid }: {
    repositoryId: number;
    commitOid: string;
    treeOid: string | null;
  },
): Promise<{ commitOid: string; notes: string[] }> {
  const isId = commitOid.length >= SHORTEST_LENGTH && HEX.test(commitOid);
  if (treeOid !== null || !isId) return { commitOid, notes: [] };
  if (commitOid.length >= WHOLE_ID_LENGTH) {
    const known = await findAbbreviation(tx, repositoryId, commitOid);
    const note = `earlier uploads of commit ${known} count as another code version: ` +
      "give whole ids of commits";
    return { commitOid, notes: known === null ? [] : [note] };
  }
  const found = await findWholeIds(tx, repositoryId, commitOid);
  if (found.length === 1) return { commitOid: found[0]!, notes: [] };
  return { commitOid, notes: found.length === 0 ? [] : [severalCommits(commitOid)] };
}

/** At most two. */
async function findWholeIds(
  tx: Queryable,
  repositoryId: number,
  abbreviated: string,
): Promise<string[]> {
  // In the order of any locale, all that begin with it are between it and it with a letter after f.
  const rows = await tx<{ id: string }[]>`
    select distinct commit_oid as id from submission
    where repository_id = ${repositoryId} and code_version >= ${codeOfCommit(abbreviated)}
      and code_version < ${
    codeOfCommit(`${abbreviated}g`)
  } and length(commit_oid) >= ${WHOLE_ID_LENGTH}
    limit 2`;
  return rows.map(({ id }) => id);
}

async function findAbbreviation(
  tx: Queryable,
  repositoryId: number,
  commitOid: string,
): Promise<string | null> {
  const versions = Array.from(
    { length: WHOLE_ID_LENGTH - SHORTEST_LENGTH },
    (_, index) => codeOfCommit(commitOid.slice(0, SHORTEST_LENGTH + index)),
  );
  const [row] = await tx<{ id: string }[]>`
    select commit_oid as id from submission
    where repository_id = ${repositoryId}
      and code_version = any(${`{${versions.join()}}`}::text[])
    limit 1`;
  return row?.id ?? null;
}
