import {
  firstSubmissionId,
  recordedAtOf,
  testId,
  type TestIdentity,
} from "../../lib/base/identity.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { messageOf } from "./texts.ts";
import { hasHash, isOnBranch, isRecordedSince } from "./fragments.ts";

/** A test, and its latest failure on some branches. */
export interface TestOnBase extends TestIdentity {
  /** 24 lower-case hex digits. */
  id: string;
  /** The id that it would have with a file, or without one, if reports name it so too. */
  aliasId: string | null;
  /** The latest in the window, `null` when it did not fail. */
  failure: { recordedAt: number; buildUrl: string; message: string } | null;
}

type TestRow = TestIdentity & {
  idPrefix: number;
  testHash: number;
  aliasHash: number | null;
  submissionId: string | null;
  buildUrl: string;
  message: string;
};

/**
 * The tests of a repository with the given hashes.
 *
 * @param options.windowStart first second of the window, since 1970
 * @param options.before id of a submission: only failures before it count
 */
export async function loadTestsOnBase(
  sql: Queryable,
  { repositoryId, testHashes, windowStart, base, before = null }: {
    repositoryId: number;
    testHashes: readonly number[];
    windowStart: number;
    base: Patterns;
    before?: string | null;
  },
): Promise<TestOnBase[]> {
  const rows = await sql<TestRow[]>`
    select r.id_prefix::float8 as "idPrefix",
      t.test_hash::float8 as "testHash", t.alias_hash::float8 as "aliasHash", t.suite, t.class,
      t.name, t.file, failure.*
    from repository_state r
    join test t on t.repository_id = r.repository_id and ${hasHash(sql, testHashes)}
    left join lateral (
      select encode(s.submission_id, 'hex') as "submissionId", s.build_url as "buildUrl",
        ${messageOf(sql, repositoryId)} as message
      from negative_result n
      join submission s on s.repository_id = n.repository_id and s.submission_id = n.submission_id
      where n.repository_id = ${repositoryId} and n.test_no = t.test_no
        and ${isRecordedSince(sql, firstSubmissionId(windowStart))}
        and s.status = 'processed' and ${isOnBranch(sql, base)}
        ${before === null ? sql`` : sql`and n.submission_id < decode(${before}, 'hex')`}
      order by n.submission_id desc, n.result_no desc
      limit 1
    ) failure on true
    where r.repository_id = ${repositoryId}`;
  return rows.map(testOf);
}

function testOf(row: TestRow): TestOnBase {
  const { idPrefix, testHash, aliasHash, suite, class: className, name, file } = row;
  const { submissionId, buildUrl, message } = row;
  const failure = submissionId === null
    ? null
    : { recordedAt: recordedAtOf(submissionId), buildUrl, message };
  const id = testId(idPrefix, testHash);
  const aliasId = aliasHash === null ? null : testId(idPrefix, aliasHash);
  return { id, aliasId, suite, class: className, name, file, failure };
}
