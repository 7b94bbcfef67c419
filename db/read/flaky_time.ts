// Tests: tests/routes/flaky_time_test.ts
/** The test time that flaky failures caused. */
import { eventOf, type FlakyRun, flakyTime, timeOfRetries } from "../../lib/analysis/flaky_time.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { SECONDS_PER_WEEK } from "../../lib/base/time.ts";
import { basePatterns, countsForBase } from "../../lib/evidence/base_branch.ts";
import { arrayOf, type Queryable, textArray } from "../connection/sql.ts";
import { loadBaseBranches } from "./base_branch.ts";
import {
  type DisruptedRun,
  loadDisruptedRuns,
  loadRunsByRepository,
  withDurations,
} from "./runs.ts";

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
 * Microseconds of tests that flaky failures cost in each of the last weeks, oldest first; the last one ends now.
 * Repositories without any are left out.
 */
export async function loadFlakyWeeks(
  sql: Queryable,
  { repositoryIds, now, weekCount }: {
    repositoryIds: readonly number[];
    now: number;
    weekCount: number;
  },
): Promise<Map<number, number[]>> {
  const starts = Array.from(
    { length: weekCount },
    (_, week) => now - (weekCount - week) * SECONDS_PER_WEEK,
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
  const isCounted = testHashes && sql`n.test_no = any(array(
    select t.test_no from test t
    where t.repository_id = any(${arrayOf(repositoryIds)}::bigint[])
      and t.test_hash = any(array(select unnest(${arrayOf(testHashes)}::text::bigint[])))))`;
  const disrupted = await loadDisruptedRuns(sql, {
    repositoryIds,
    firstId: firstSubmissionId(since - REPEATED_WITHIN_SECONDS),
    isCounted,
  });
  // Most flaky failures are followed by a pass in their run. Only after others may a run of the code repeat it.
  const found = new Map<number, number[]>();
  const failed = new Map<number, DisruptedRun[]>();
  for (const [repositoryId, runs] of disrupted) {
    const { microseconds, repeatable } = timeOfRetries(runs, starts);
    found.set(repositoryId, microseconds);
    if (repeatable.length > 0) failed.set(repositoryId, repeatable);
  }
  if (failed.size === 0) return found;
  const repeated = await loadRunsOfSameCode(sql, { failed, since, now });
  for (const [repositoryId, runs] of repeated) {
    const { incomplete } = flakyTime(runs, starts);
    const timed = new Map<string, FlakyRun>(runs.map((run) => [run.submissionId, run]));
    for await (const run of withDurations(sql, { repositoryId, runs: incomplete })) {
      timed.set(run.submissionId, run);
    }
    const { microseconds } = flakyTime([...timed.values()], starts);
    const retries = found.get(repositoryId)!;
    found.set(repositoryId, retries.map((one, period) => one + microseconds[period]!));
  }
  return found;
}

/** The runs of the code of some disrupted runs, oldest first, by repository. */
async function loadRunsOfSameCode(
  sql: Queryable,
  { failed, since, now }: {
    failed: ReadonlyMap<number, readonly DisruptedRun[]>;
    since: number;
    now: number;
  },
) {
  const codesOf = new Map(
    Array.from(
      failed,
      ([repositoryId, runs]) => [repositoryId, new Set(runs.map(({ code }) => code))],
    ),
  );
  const codes = new Set([...codesOf.values()].flatMap((own) => [...own]));
  const [bases, loaded] = await Promise.all([
    loadBaseBranches(sql, { repositoryIds: [...failed.keys()], now }),
    loadRunsByRepository(sql, {
      repositoryIds: arrayOf(failed.keys()),
      firstId: firstSubmissionId(since - REPEATED_WITHIN_SECONDS),
      columns: [
        "code",
        "codeVersion",
        "job",
        "branch",
        "queueBase",
        "buildUrl",
        "tests",
        "results",
      ],
      // The planner makes a hash table of an array that it knows: 3,000 codes took 260 ms instead of 7.
      where: sql`s.code_version = any(${textArray([...codes])}::text[])`,
    }),
  ]);
  return new Map(Array.from(failed, ([repositoryId, own]) => {
    const base = basePatterns(bases.get(repositoryId)!);
    const ownCodes = codesOf.get(repositoryId)!;
    const disruptedIn = new Map(own.map((run) => [run.submissionId, run.disrupted]));
    const runs = (loaded.get(repositoryId) ?? []).filter(({ code }) => ownCodes.has(code)).map(
      (run) => {
        const { branch, queueBase } = run;
        const isOnBase = countsForBase({ branch: branch ?? "", queueBase }, base);
        return {
          ...run,
          event: eventOf({ ...run, isOnBase }),
          disrupted: disruptedIn.get(run.submissionId) ?? new Set<number>(),
        };
      },
    );
    return [repositoryId, runs.sort((a, b) => a.submissionId < b.submissionId ? -1 : 1)];
  }));
}
