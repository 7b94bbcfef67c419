// Tests: tests/db/write/store_submission_test.ts
/** The rows of negative results. */
import type { NegativeResult } from "../../lib/analysis/disruptions.ts";
import type { Fragment, Queryable } from "../connection/sql.ts";
import { codeVersionOf } from "../read/fragments.ts";
import { messageOf } from "../read/texts.ts";
import type { NewNegative, NewNegatives } from "../../lib/analysis/new_negatives.ts";

const NEGATIVES_PER_STATEMENT = 2_000;

/** Inserts the negative results of a new submission. */
export async function insertNegatives(
  tx: Queryable,
  repositoryId: number,
  negatives: NewNegatives,
): Promise<void> {
  // In the order of the primary key, so that pages of its index are filled one after the other.
  const insert = async (batch: Omit<NewNegative, "message">[]) => {
    await tx`
      insert into negative_result (repository_id, submission_id, result_no, test_no, is_disruption,
        conclusion, text_id, fingerprint, other_fingerprints)
      select ${repositoryId}, decode("submissionId", 'hex'), "resultNo", "testNo", "isDisruption",
        conclusion, decode("textId", 'hex'), decode(fingerprint, 'hex'),
        decode("otherFingerprints", 'hex')
      from json_to_recordset(${JSON.stringify(batch)}::text::json) as t("submissionId" text,
        "resultNo" int, "testNo" int, "isDisruption" boolean, conclusion text, "textId" text,
        fingerprint text, "otherFingerprints" text)`;
  };
  let batch: Omit<NewNegative, "message">[] = [];
  for (const { message: _, ...row } of negatives.inOrder()) {
    if (batch.push(row) < NEGATIVES_PER_STATEMENT) continue;
    await insert(batch);
    batch = [];
  }
  if (batch.length > 0) await insert(batch);
}

/** Negative results of a repository, where a condition on `submission` s and `negative_result` n holds. */
export async function loadNegatives(
  sql: Queryable,
  repositoryId: number,
  condition: Fragment,
): Promise<(NegativeResult & { codeVersion: string })[]> {
  return await sql<(NegativeResult & { codeVersion: string })[]>`
    select ${codeVersionOf(sql)} as "codeVersion", encode(n.submission_id, 'hex') as "submissionId",
      n.result_no as "resultNo", n.test_no as "testNo", ${messageOf(sql, repositoryId)} as message,
      n.is_disruption as "isDisruption"
    from submission s
    join negative_result n using (repository_id, submission_id)
    where s.repository_id = ${repositoryId} and ${condition}`;
}

/** Marks negative results as disruptions, or unmarks them. */
export async function markDisruptions(
  sql: Queryable,
  { repositoryId, negatives, isDisruption }: {
    repositoryId: number;
    negatives: NegativeResult[];
    isDisruption: boolean;
  },
): Promise<void> {
  if (negatives.length === 0) return;
  await sql`
    update negative_result n set is_disruption = ${isDisruption}
    from json_to_recordset(${JSON.stringify(negatives)}::text::json)
      as k("submissionId" text, "testNo" int, "resultNo" int)
    where n.repository_id = ${repositoryId} and n.submission_id = decode(k."submissionId", 'hex')
      and n.is_disruption = ${!isDisruption} and n.test_no = k."testNo"
      and n.result_no = k."resultNo"`;
}
