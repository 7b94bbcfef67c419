// Tests: tests/db/read/fragments_test.ts
import { firstSubmissionId } from "../../lib/base/identity.ts";
import type { Queryable } from "../connection/sql.ts";
import { messageOf } from "./texts.ts";
import { isRecordedSince } from "./fragments.ts";

interface DisruptionEvent {
  /** 24 hex digits. */
  submissionId: string;
  /** Position of the result in its submission. */
  resultNo: number;
  buildUrl: string;
  commitOid: string;
  conclusion: "failure" | "error";
  message: string;
}

/** The latest disruptions of a test in the window, newest first. */
export async function loadDisruptionEvents(sql: Queryable, options: {
  repositoryId: number;
  testNo: number;
  windowStart: number;
  limit: number;
}): Promise<DisruptionEvent[]> {
  const { repositoryId, testNo, windowStart, limit } = options;
  const firstId = firstSubmissionId(windowStart);
  return await sql<DisruptionEvent[]>`
    select encode(n.submission_id, 'hex') as "submissionId", n.result_no as "resultNo",
      s.build_url as "buildUrl", s.commit_oid as "commitOid", n.conclusion,
      ${messageOf(sql, repositoryId)} as message
    from negative_result n
    join submission s
      on s.repository_id = n.repository_id and s.submission_id = n.submission_id
    where n.repository_id = ${repositoryId} and n.test_no = ${testNo} and n.is_disruption
      and ${isRecordedSince(sql, firstId)}
    order by n.submission_id desc, n.result_no desc
    limit ${limit}`;
}
