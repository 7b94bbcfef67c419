// Tests: tests/routes/flaky_time_test.ts
import { flakyTime } from "../../lib/analysis/flaky_time.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { SECONDS_PER_WEEK } from "../../lib/base/time.ts";
import { arrayOf, type Queryable, textsIn } from "../connection/sql.ts";
import { integersOf } from "./packed_rows.ts";
import { loadRuns, withDurations } from "./runs.ts";

/** A job is run again within hours or days. */
const REPEATED_WITHIN_SECONDS = SECONDS_PER_WEEK;

/**
 * Microseconds of tests that flaky failures cost a repository since a moment: {@linkcode flakyTime}.
 *
 * @param options.testHashes only failures of these tests; of all tests unless given
 */
export async function loadFlakyMicroseconds(
  sql: Queryable,
  { repositoryId, since, testHashes }: {
    repositoryId: number;
    /** Seconds since 1970. */
    since: number;
    testHashes?: readonly number[];
  },
): Promise<number> {
  const isCounted = testHashes
    ? sql`n.test_no = any(array(
        select t.test_no from test t
        where t.repository_id = ${repositoryId}
          and t.test_hash = any(array(select unnest(${arrayOf(testHashes)}::text::bigint[])))))`
    : sql`true`;
  const repeatedSince = since - REPEATED_WITHIN_SECONDS;
  const disruptions = await sql<{ submissionId: string; code: string; tests: Uint8Array }[]>`
    select encode(s.submission_id, 'hex') as "submissionId", s.code_version as code, d.tests
    from submission s
    cross join lateral (
      select string_agg(int4send(n.test_no), '') as tests
      from negative_result n
      where n.repository_id = ${repositoryId} and n.submission_id = s.submission_id
        and n.is_disruption and ${isCounted}
    ) d
    where s.repository_id = ${repositoryId} and s.status = 'processed' and d.tests is not null
      and s.submission_id >= decode(${firstSubmissionId(repeatedSince)}, 'hex')
      and s.code_version in (
        select e.code_version from submission e
        where e.repository_id = ${repositoryId}
          and e.submission_id >= decode(${firstSubmissionId(since)}, 'hex'))`;
  const disrupted = new Map(
    disruptions.map(({ submissionId, tests }) => [submissionId, new Set(integersOf(tests))]),
  );
  // The exceptions of all other code need not be read.
  const codes = new Set(disruptions.map(({ code }) => code));
  const loaded = await loadRuns(sql, {
    repositoryId,
    columns: ["codeVersion", "job", "tests", "results"],
    since: repeatedSince,
    where: sql`s.code_version = any(${textsIn(sql, [...codes])})`,
    order: "oldest first",
  });
  const runs = loaded.map((run) => (
    { ...run, disrupted: disrupted.get(run.submissionId) ?? new Set<number>() }
  ));
  const { microseconds, incomplete } = flakyTime(runs, since);
  if (incomplete.length === 0) return microseconds;
  const timed = new Map(runs.map((run) => [run.submissionId, run]));
  for await (const run of withDurations(sql, { repositoryId, runs: incomplete })) {
    timed.set(run.submissionId, run);
  }
  return flakyTime([...timed.values()], since).microseconds;
}
