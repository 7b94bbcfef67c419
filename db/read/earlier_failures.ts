// Tests: tests/db/write/evidence_test.ts
/** The failures that other runs had before one. */
import { knownCauses, splitFingerprints } from "../../lib/analysis/failure_groups.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { countsForBase, isOfQueue } from "../../lib/evidence/base_branch.ts";
import {
  causesOfOthers,
  type EarlierFailure,
  type FailureOfOther,
} from "../../lib/evidence/evidence.ts";
import { OUTAGE_SECONDS, TOGETHER_SECONDS } from "../../lib/evidence/mass_failure.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import { idsIn, integersIn, type Queryable } from "../connection/sql.ts";
import {
  type EvidenceRun,
  isBefore,
  isOfOther,
  isOfOtherBase,
  isOwn,
  isSameCode,
  isSamePull,
  MAX_RUNS,
  MEMORY_SECONDS,
} from "./evidence_run.ts";
import { isMassFailureRow, isOfBase, isRecordedSince, weekOfNegative } from "./fragments.ts";

/** The causes of others: of all in the day before, and of mass failures in the two hours before that may go on. */
export async function loadLatelySeen(
  sql: Queryable,
  { repositoryId, run, base }: { repositoryId: number; run: EvidenceRun; base: Patterns },
): Promise<{ inDay: Set<string>; ofOutages: Set<string> }> {
  const isOnBase = countsForBase(run, base);
  // For a run on the base branch, what came there is its own branch; for one of the merge queue it is another.
  const isOnOtherBase = isOfQueue(run)
    ? isOfOtherBase(sql, { repositoryId, run, base })
    : sql`false`;
  const change = isOnBase
    ? sql`s.branch, s.pull_number::float8 as "pullNumber", ${isOfBase(sql, base)} as "isOfBase",
      ${isOnOtherBase} as "isOnBase"`
    : sql`'' as branch, null::float8 as "pullNumber", false as "isOfBase", false as "isOnBase"`;
  type Row = Omit<FailureOfOther, "causes"> & { fingerprints: string; isOfOutage: boolean };
  const rows = await sql<Row[]>`
    select encode(n.fingerprint || coalesce(n.other_fingerprints, ''), 'hex') as fingerprints, ${change},
      bool_or(o.submission_id is not null) as "isOfOutage"
    from submission s
    ${withOpenMassFailures(sql, { repositoryId, run })}
    join negative_result n on n.repository_id = ${repositoryId} and n.submission_id = s.submission_id
    where s.repository_id = ${repositoryId} and ${isBefore(sql, run, TOGETHER_SECONDS)}
      and ${
    run.branch === ""
      ? isOfOtherBase(sql, { repositoryId, run, base })
      : sql`s.branch <> ${run.branch} and not ${isSamePull(sql, run)}`
  } and s.branch <> '' and not ${isSameCode(sql, run)} and not ${isOwn(sql, run)}
    group by 1, 2, 3, 4, 5`;
  const failures = rows.map(({ fingerprints, ...row }) => {
    return { ...row, causes: knownCauses(splitFingerprints(fingerprints)) };
  });
  const judged = { isOnBase, pullNumber: run.pullNumber ?? null };
  return {
    inDay: causesOfOthers(failures, judged),
    ofOutages: causesOfOthers(failures.filter(({ isOfOutage }) => isOfOutage), judged),
  };
}

/**
 * SQL: joins the row `s` of `submission` with `o`, the mass failures of the two hours before that are not over: their
 * job did not run without one since.
 */
function withOpenMassFailures(
  sql: Queryable,
  { repositoryId, run }: { repositoryId: number; run: EvidenceRun },
) {
  return sql`left join (
    select submission_id
    from (
      select s.submission_id, ${isMassFailureRow(sql)} as is_mass_failure,
        bool_or(s.ran_test_count > 0 and not ${isMassFailureRow(sql)}) over (
          partition by s.branch, s.environment, s.job, s.workflow, s.shard
          order by s.submission_id rows between 1 following and unbounded following) as is_over
      from submission s
      where s.repository_id = ${repositoryId} and ${isBefore(sql, run, OUTAGE_SECONDS)}
    ) s
    where is_mass_failure and is_over is not true) o using (submission_id)`;
}

/**
 * Bound of the failures of a test that are read, disruptions and others each: a test that is broken for months fails
 * in tens of thousands of runs, and all that counts is what happened in the latest thousand.
 */
const MAX_FAILURES = 10_000;

/** An earlier failure, before it is known which runs are counted. */
type FailureElsewhere = Omit<EarlierFailure, "isCounted">;

/**
 * The failures of tests in other submissions of the last 365 days, oldest first, by test_no.
 *
 * One row for each test, and the submissions by themselves: joined and sent one by one, the 9,000 failures that 300
 * tests had before took ten times as long.
 */
export async function loadEarlierFailures(
  sql: Queryable,
  { repositoryId, run, testNos, base }: {
    repositoryId: number;
    run: EvidenceRun;
    testNos: readonly number[];
    base: Patterns;
  },
): Promise<Map<number, FailureElsewhere[]>> {
  const isCounted = sql`
    ${isRecordedSince(sql, firstSubmissionId(run.moment - MEMORY_SECONDS))}
    and n.submission_id < decode(${firstSubmissionId(run.moment + 1)}, 'hex')
    and ${isOfOther(sql, { repositoryId, run })}`;
  // In the order of the index of tests: sorting them by submission takes twice as long as reading them. It also has
  // each test looked up by itself. Where the repository has more failures than the planner knows of, as within a
  // first upload of many, it would read all failures of each submission for every test.
  const newest = (isDisruption: boolean) =>
    sql`(select n.submission_id, n.fingerprint, n.other_fingerprints from negative_result n
      where n.repository_id = ${repositoryId} and n.test_no = t.test_no
        and n.is_disruption = ${isDisruption} and ${isCounted}
      order by ${weekOfNegative(sql)} desc limit ${MAX_FAILURES})`;
  const rows = await sql<{ testNo: number; failures: string }[]>`
    select t.test_no as "testNo", n.failures
    from unnest(${integersIn(sql, new Set(testNos))}) t (test_no)
    cross join lateral (
      select string_agg(
        encode(n.submission_id || n.fingerprint || coalesce(n.other_fingerprints, ''), 'hex'), ' ') as failures
      from (${newest(false)} union all ${newest(true)}) n
    ) n
    where n.failures is not null`;
  const failures = rows.map(({ testNo, failures }) => ({ testNo, runs: failedRuns(failures) }));
  const ids = new Set(failures.flatMap(({ runs }) => runs.map(({ submissionId }) => submissionId)));
  const submissions = await loadFailedSubmissions(sql, { repositoryId, run, base, ids });
  // Few causes occur in thousands of failures.
  const split = new Map<string, readonly string[]>();
  const causesOf = (joined: string) => {
    let causes = split.get(joined);
    if (!causes) split.set(joined, causes = knownCauses(splitFingerprints(joined)));
    return causes;
  };
  return new Map(failures.map(({ testNo, runs }) => [
    testNo,
    runs.map(({ submissionId, fingerprints }) => {
      return { ...submissions.get(submissionId)!, causes: causesOf(fingerprints) };
    }),
  ]));
}

/** The latest runs in which a test failed, oldest first, from ids with the fingerprints of an attempt. */
function failedRuns(attempts: string): { submissionId: string; fingerprints: string }[] {
  const runs: { submissionId: string; fingerprints: string }[] = [];
  for (const attempt of attempts.split(" ").sort()) {
    const submissionId = attempt.slice(0, ID_LENGTH);
    const fingerprints = attempt.slice(ID_LENGTH);
    const last = runs.at(-1);
    if (last?.submissionId === submissionId) last.fingerprints += fingerprints;
    else runs.push({ submissionId, fingerprints });
  }
  return runs.slice(-MAX_RUNS);
}

/** Hex digits of a submission id. */
const ID_LENGTH = 24;

/** What counts of the submissions with earlier failures, by id. */
async function loadFailedSubmissions(
  sql: Queryable,
  { repositoryId, run, base, ids }: {
    repositoryId: number;
    run: EvidenceRun;
    base: Patterns;
    ids: ReadonlySet<string>;
  },
): Promise<Map<string, Omit<FailureElsewhere, "causes">>> {
  if (ids.size === 0) return new Map();
  const rows = await sql<Omit<FailureElsewhere, "causes">[]>`
    select encode(s.submission_id, 'hex') as "submissionId", coalesce(s.branch, '') as branch,
      ${isSameCode(sql, run)} as "isSameCode",
      s.job = ${run.job} and s.environment = ${run.environment} as "isSameJob", ${
    isSamePull(sql, run)
  } as "isSamePull",
      s.pull_number::float8 as "pullNumber", ${isOfBase(sql, base)} as "isOfBase",
      ${isOfOtherBase(sql, { repositoryId, run, base })} as "isOnBase"
    from submission s
    where s.repository_id = ${repositoryId} and s.submission_id = any(${idsIn(sql, [...ids])})`;
  return new Map(rows.map((row) => [row.submissionId, row]));
}
