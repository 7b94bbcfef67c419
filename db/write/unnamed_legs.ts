// Tests: tests/db/write/store_submission_test.ts
/** Submissions of one attempt of a job that ran the same test and do not say what differs. */
import type { VersionRun } from "../../lib/analysis/disruptions.ts";
import { type Legs, sayLegs } from "../../lib/analysis/repetition/submissions.ts";
import type { Queryable } from "../connection/sql.ts";
import { hasCodeVersion } from "../read/fragments.ts";

/** Whether another submission of its code version is of its attempt, and may be of its shard. */
export async function mayBeLeg(
  tx: Queryable,
  { repositoryId, submissionId, codeVersion }: {
    repositoryId: number;
    submissionId: string;
    codeVersion: string;
  },
): Promise<boolean> {
  const [row] = await tx<{ hasSibling: boolean }[]>`
    select exists (
      select 1 from submission s
      join submission o on o.repository_id = s.repository_id and o.build_url = s.build_url
        and o.attempt = s.attempt and (o.shard = s.shard or '' in (o.shard, s.shard))
      where s.repository_id = ${repositoryId} and ${hasCodeVersion(tx, [codeVersion])}
        and s.status = 'processed' and s.job <> '' and s.attempt <> '' and s.build_url <> ''
        and o.repository_id = ${repositoryId} and o.submission_id = decode(${submissionId}, 'hex')
        and s.submission_id <> o.submission_id
    ) as "hasSibling"`;
  return row!.hasSibling;
}

/** The note about a submission that is one of two legs; `null` if it is another. */
export async function noteOfLegs(
  tx: Queryable,
  repositoryId: number,
  submissionId: string,
  { runs: [first, second], testNo }: Legs<VersionRun>,
): Promise<string | null> {
  if (![first, second].some((run) => run.submissionId === submissionId)) return null;
  const other = first.submissionId === submissionId ? second : first;
  const [row] = await tx<{ key: string; name: string }[]>`
    select s.key, t.name from submission s
    join test t on t.repository_id = s.repository_id and t.test_no = ${testNo}
    where s.repository_id = ${repositoryId} and s.submission_id = decode(${other.submissionId}, 'hex')`;
  return sayLegs({ ...first, test: row!.name, key: row!.key });
}
