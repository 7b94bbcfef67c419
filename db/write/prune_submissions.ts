/**
 * Deletes old submissions. Those of a code version judge one another: they go together, when all of
 * them are old.
 */
import { writeTransaction } from "../schema/migrate.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import type { Database } from "../connection/connect.ts";
import { interruptAdditions, lockRepository } from "../admin/repositories.ts";
import { idsIn, type Queryable, textsIn } from "../connection/sql.ts";

interface PrunedSubmissions {
  submissionCount: number;
  testResultCount: number;
}

/** Submissions that one batch looks at, and at most deletes. */
const SUBMISSIONS_PER_BATCH = 50;

/**
 * Failures that one batch deletes, rows with two indexes: by far the most work. One submission is
 * never taken apart, however many it has: its upload was one transaction too.
 */
const NEGATIVES_PER_BATCH = 1_000;

/** Results of the submissions that one batch deletes: some bytes each, in rows of 2 kB. */
const RESULTS_PER_BATCH = 1_000_000;

const FIRST_ID = "00".repeat(12);

/**
 * Deletes the old submissions with their results, oldest first; yields what each batch deleted.
 *
 * @param options.cutoff seconds since 1970: old is what was recorded before
 */
export async function* pruneSubmissions(
  sql: Database["sql"],
  { repositoryId, cutoff }: { repositoryId: number; cutoff: number },
): AsyncGenerator<PrunedSubmissions> {
  const before = firstSubmissionId(cutoff);
  let after = FIRST_ID;
  while (true) {
    const batch = await writeTransaction(sql, async (tx) => {
      if (!await lockRepository(tx, repositoryId)) return null;
      return await pruneBatch(tx, { repositoryId, before, after });
    });
    if (batch === null) return;
    after = batch.after;
    yield batch.went;
  }
}

interface BatchScope {
  repositoryId: number;
  /** 24 hex digits: old is what has a smaller id. */
  before: string;
  /** 24 hex digits: submissions up to this one stay, as was found out before. */
  after: string;
}

/** Deletes some submissions; `null` when none is left to look at. */
async function pruneBatch(
  tx: Queryable,
  { repositoryId, before, after }: BatchScope,
): Promise<{ after: string; went: PrunedSubmissions } | null> {
  // What is being processed is about to change its place; it has no results that take space.
  const old = await tx<{ id: string; codeVersion: string }[]>`
    select encode(submission_id, 'hex') as id, code_version as "codeVersion"
    from submission
    where repository_id = ${repositoryId} and submission_id > decode(${after}, 'hex')
      and submission_id < decode(${before}, 'hex') and status <> 'processing'
    order by submission_id
    limit ${SUBMISSIONS_PER_BATCH}`;
  if (old.length === 0) return null;
  const codeVersions = [...new Set(old.map(({ codeVersion }) => codeVersion))];
  const prunable = await prunableSubmissions(tx, { repositoryId, before, codeVersions });
  const chosen = firstThatFit(prunable, codeVersions);
  if (chosen.length > 0) await interruptAdditions(tx, repositoryId);
  return {
    // Those that did not fit in come with the next batch.
    after: chosen.length === prunable.length ? old.at(-1)!.id : after,
    went: await deleteSubmissions(tx, { repositoryId, ids: chosen.map(({ id }) => id) }),
  };
}

interface PrunableSubmission {
  /** 24 hex digits. */
  id: string;
  codeVersion: string;
  testResultCount: number;
  negativeCount: number;
}

/** The submissions of those of some code versions that have old ones only. */
async function prunableSubmissions(
  tx: Queryable,
  { repositoryId, before, codeVersions }: {
    repositoryId: number;
    before: string;
    codeVersions: string[];
  },
): Promise<PrunableSubmission[]> {
  return await tx<PrunableSubmission[]>`
    select encode(s.submission_id, 'hex') as id, s.code_version as "codeVersion",
      s.test_result_count as "testResultCount", (
        select count(*)::int from negative_result n
        where n.repository_id = ${repositoryId} and n.submission_id = s.submission_id
      ) as "negativeCount"
    from submission s
    where s.repository_id = ${repositoryId} and s.status <> 'processing'
      and s.code_version = any(${textsIn(tx, codeVersions)})
      and s.code_version not in (
        select live.code_version from submission live
        where live.repository_id = ${repositoryId}
          and live.code_version = any(${textsIn(tx, codeVersions)})
          and live.submission_id >= decode(${before}, 'hex'))
    order by s.submission_id`;
}

/**
 * Whole code versions as long as they fit into a batch, in the given order; of the first a part when
 * it does not, at least one submission.
 *
 * Of such a part those with failures come first: what is left of the code version has passes without
 * failures rather than failures whose proof is gone.
 */
function firstThatFit(
  submissions: PrunableSubmission[],
  codeVersions: string[],
): PrunableSubmission[] {
  const groups = Map.groupBy(submissions, ({ codeVersion }) => codeVersion);
  const chosen: PrunableSubmission[] = [];
  for (const codeVersion of codeVersions) {
    const group = groups.get(codeVersion) ?? [];
    if (!fits([...chosen, ...group])) break;
    chosen.push(...group);
  }
  if (chosen.length > 0) return chosen;
  const [first] = groups.values();
  const failedFirst = (first ?? []).toSorted((a, b) =>
    Number(b.negativeCount > 0) - Number(a.negativeCount > 0)
  );
  for (const submission of failedFirst) {
    if (chosen.length > 0 && !fits([...chosen, submission])) break;
    chosen.push(submission);
  }
  return chosen;
}

function fits(submissions: PrunableSubmission[]): boolean {
  let [results, negatives] = [0, 0];
  for (const { testResultCount, negativeCount } of submissions) {
    results += testResultCount;
    negatives += negativeCount;
  }
  return submissions.length <= SUBMISSIONS_PER_BATCH && results <= RESULTS_PER_BATCH &&
    negatives <= NEGATIVES_PER_BATCH;
}

async function deleteSubmissions(
  tx: Queryable,
  { repositoryId, ids }: { repositoryId: number; ids: string[] },
): Promise<PrunedSubmissions> {
  if (ids.length === 0) return { submissionCount: 0, testResultCount: 0 };
  // Named one by one: without statistics, as on the embedded database, a join reads whole tables.
  await tx`
    delete from negative_result
    where repository_id = ${repositoryId} and submission_id = any(${idsIn(tx, ids)})`;
  const [went] = await tx<PrunedSubmissions[]>`
    with gone as (
      delete from submission
      where repository_id = ${repositoryId} and submission_id = any(${idsIn(tx, ids)})
      returning test_result_count
    )
    select count(*)::int as "submissionCount",
      coalesce(sum(test_result_count), 0)::float8 as "testResultCount"
    from gone`;
  return went!;
}
