// Tests: tests/db/schema/other_fingerprints_test.ts tests/routes/verdicts_test.ts
import {
  failureCause,
  fingerprint,
  knownCauses,
  splitFingerprints,
} from "../../lib/analysis/failure_groups.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { idsIn, integersIn, type Queryable } from "../connection/sql.ts";
import { hasHash } from "./fragments.ts";
import { messageOf } from "./texts.ts";

// Messages of a test: 5,000 take 100 ms, and a request may be about a hundred tests.
const MESSAGES = 500;

/**
 * The fingerprints of the disruptions of tests, by test hash, sorted: of all that are stored, not of the
 * window alone. A quarantined test is known for these.
 *
 * The fingerprints of the latest messages are computed again: a version of the program that replaces more
 * than the one that stored them still knows the causes.
 */
export async function loadKnownCauses(
  sql: Queryable,
  { repositoryId, testHashes }: { repositoryId: number; testHashes: readonly number[] },
): Promise<Map<number, string[]>> {
  const isDisruption = sql`n.repository_id = ${repositoryId} and n.test_no = t.test_no
    and n.is_disruption`;
  type Row = Causes & { testHash: number };
  const rows = await sql<Row[]>`
    select t.test_hash::float8 as "testHash", t.class, t.name, (
      select coalesce(json_agg(distinct
        encode(n.fingerprint || coalesce(n.other_fingerprints, ''), 'hex')), '[]')
      from negative_result n where ${isDisruption}
    ) as stored, (
      select coalesce(json_agg(distinct n.message), '[]') from (
        select ${messageOf(sql, repositoryId)} as message from negative_result n
        where ${isDisruption}
        order by n.submission_id desc, n.result_no desc limit ${MESSAGES}
      ) n
    ) as messages
    from test t
    where t.repository_id = ${repositoryId} and ${hasHash(sql, testHashes)}`;
  return new Map(rows.map(({ testHash, ...row }) => [testHash, causesOf(row)]));
}

/** The causes of a test: as they are stored, and the latest messages. */
interface Causes extends Pick<TestIdentity, "class" | "name"> {
  stored: string[];
  messages: string[];
}

function causesOf({ stored, messages, ...test }: Causes): string[] {
  const present = messages
    // Without a message, the fingerprint is of the body.
    .filter((message) => message !== "")
    .map((message) => fingerprint(failureCause(message, "", test)));
  return [...new Set([...stored.flatMap(splitFingerprints), ...present])].sort();
}

/** The causes of the failures of tests in some submissions (24 hex digits), by test_no and submission. */
export async function loadCausesOfRuns(
  sql: Queryable,
  { repositoryId, testNos, submissionIds }: {
    repositoryId: number;
    testNos: readonly number[];
    submissionIds: readonly string[];
  },
): Promise<Map<number, Map<string, readonly string[]>>> {
  const rows = await sql<{ testNo: number; submissionId: string; causes: string }[]>`
    select n.test_no as "testNo", encode(n.submission_id, 'hex') as "submissionId",
      encode(string_agg(n.fingerprint || coalesce(n.other_fingerprints, ''), ''), 'hex') as causes
    from negative_result n
    where n.repository_id = ${repositoryId} and n.test_no = any(${integersIn(sql, testNos)})
      and n.submission_id = any(${idsIn(sql, submissionIds)})
    group by n.test_no, n.submission_id`;
  return new Map(
    Array.from(Map.groupBy(rows, ({ testNo }) => testNo), ([testNo, own]) => [
      testNo,
      new Map(own.map(({ submissionId, causes }) => [
        submissionId,
        knownCauses(splitFingerprints(causes)),
      ])),
    ]),
  );
}
