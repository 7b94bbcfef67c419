// Tests: tests/routes/flaky_time_test.ts
/** The test time that flaky failures caused. */
import { eventOf, flakyTime } from "../../lib/analysis/flaky_time.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY, SECONDS_PER_WEEK } from "../../lib/base/time.ts";
import { basePatterns, countsForBase } from "../../lib/evidence/base_branch.ts";
import { arrayOf, type Queryable, textArray } from "../connection/sql.ts";
import { loadBaseBranches } from "./base_branch.ts";
import { integersOf } from "./packed_rows.ts";
import { loadRunsByRepository, withDurations } from "./runs.ts";

/** A job is run again within hours or days. */
const REPEATED_WITHIN_SECONDS = SECONDS_PER_WEEK;

/**
 * Microseconds of tests that flaky failures cost a repository since a moment: {@linkcode flakyTime}.
 *
 * @param options.since seconds since 1970, as `now`
 * @param options.testHashes only failures of these tests; of all tests unless given
 */
export async function loadFlakyMicroseconds(
  sql: Queryable,
  { repositoryId, since, ...query }: {
    repositoryId: number;
    since: number;
    now: number;
    testHashes?: readonly number[];
  },
): Promise<number> {
  const found = await loadFlakyTime(sql, {
    ...query,
    repositoryIds: [repositoryId],
    starts: [since],
  });
  return found.get(repositoryId)?.[0] ?? 0;
}

/**
 * Microseconds of tests that flaky failures cost in each of the last weeks, oldest first; the last one ends with
 * today. Repositories without any are left out.
 */
export async function loadFlakyWeeks(
  sql: Queryable,
  { repositoryIds, now, today, weekCount }: {
    repositoryIds: readonly number[];
    now: number;
    /** In days since 1970. */
    today: number;
    weekCount: number;
  },
): Promise<Map<number, number[]>> {
  const starts = Array.from(
    { length: weekCount },
    (_, week) => (today + 1) * SECONDS_PER_DAY - (weekCount - week) * SECONDS_PER_WEEK,
  );
  return await loadFlakyTime(sql, { repositoryIds, now, starts });
}

/**
 * Microseconds by period, of the repositories that have any.
 *
 * @param query.starts of the periods, in seconds since 1970, ascending
 */
export async function loadFlakyTime(
  sql: Queryable,
  { repositoryIds, now, starts, testHashes }: {
    repositoryIds: readonly number[];
    now: number;
    starts: readonly number[];
    testHashes?: readonly number[];
  },
): Promise<Map<number, number[]>> {
  const since = starts[0]!;
  const ids = arrayOf(repositoryIds);
  const isCounted = testHashes
    ? sql`n.test_no = any(array(
        select t.test_no from test t
        where t.repository_id = any(${ids}::bigint[])
          and t.test_hash = any(array(select unnest(${arrayOf(testHashes)}::text::bigint[])))))`
    : sql`true`;
  const repeatedSince = firstSubmissionId(since - REPEATED_WITHIN_SECONDS);
  const disruptions = await sql<
    { repositoryId: number; submissionId: string; code: string; tests: Uint8Array }[]
  >`
    select s.repository_id::float8 as "repositoryId", encode(s.submission_id, 'hex') as "submissionId",
      s.code_version as code, d.tests
    from (
      select n.repository_id, n.submission_id, string_agg(int4send(n.test_no), '') as tests
      from negative_result n
      where n.repository_id = any(${ids}::bigint[]) and n.is_disruption and ${isCounted}
        and n.submission_id >= decode(${repeatedSince}, 'hex')
      group by n.repository_id, n.submission_id
    ) d
    join submission s on s.repository_id = d.repository_id and s.submission_id = d.submission_id
    where s.repository_id = any(${ids}::bigint[]) and s.status = 'processed'`;
  if (disruptions.length === 0) return new Map();
  const byRepository = Map.groupBy(disruptions, (one) => one.repositoryId);
  // The exceptions of all other code need not be read.
  const codes = new Set(disruptions.map(({ code }) => code));
  const [bases, loaded] = await Promise.all([
    loadBaseBranches(sql, { repositoryIds: [...byRepository.keys()], now }),
    loadRunsByRepository(sql, {
      repositoryIds: arrayOf(byRepository.keys()),
      firstId: repeatedSince,
      columns: ["codeVersion", "job", "branch", "queueBase", "buildUrl", "tests", "results"],
      // Of an array that the planner knows it makes a hash table: 3,000 codes took 260 ms instead of 7.
      where: sql`s.code_version = any(${textArray([...codes])}::text[])`,
    }),
  ]);
  const found = new Map<number, number[]>();
  for (const [repositoryId, own] of byRepository) {
    const base = basePatterns(bases.get(repositoryId)!);
    const disrupted = new Map(
      own.map(({ submissionId, tests }) => [submissionId, new Set(integersOf(tests))]),
    );
    const runs = (loaded.get(repositoryId) ?? []).map((run) => {
      const { branch, queueBase } = run;
      const isOnBase = countsForBase({ branch: branch ?? "", queueBase }, base);
      return {
        ...run,
        event: eventOf({ ...run, isOnBase }),
        disrupted: disrupted.get(run.submissionId) ?? new Set<number>(),
      };
    }).sort((a, b) => a.submissionId < b.submissionId ? -1 : 1);
    const { microseconds, incomplete } = flakyTime(runs, starts);
    if (incomplete.length === 0) {
      found.set(repositoryId, microseconds);
      continue;
    }
    const timed = new Map(runs.map((run) => [run.submissionId, run]));
    for await (const run of withDurations(sql, { repositoryId, runs: incomplete })) {
      timed.set(run.submissionId, run);
    }
    found.set(repositoryId, flakyTime([...timed.values()], starts).microseconds);
  }
  return found;
}
