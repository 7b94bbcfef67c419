// Tests: tests/lib/cli/commands/digest_test.ts
import type { DisruptedTest } from "../../lib/digest/digest.ts";
import { countRedJobs, JOB_COLUMNS, type RedJobs } from "../../lib/digest/red_jobs.ts";
import { firstSubmissionId, testId, type TestIdentity } from "../../lib/base/identity.ts";
import { storedMassFailure } from "../../lib/evidence/mass_failure.ts";
import { type Queryable, textsIn } from "../connection/sql.ts";
import { loadLastAttempts } from "./last_attempts.ts";
import { buildKeyOf, isFailedWithoutTest } from "./fragments.ts";
import { ownersOf } from "./owners.ts";
import { loadRuns } from "./runs.ts";

/** Times in seconds since 1970. */
interface DigestPeriods {
  /** Start of the window that ends now. */
  windowStart: number;
  /** Start of the window that ended when the period began. */
  previousWindowStart: number;
  /** Start of the period. */
  since: number;
}

type TestRow = TestIdentity & {
  idPrefix: number;
  testHash: number;
  disruptions: number;
  disruptionsBefore: number;
  disruptionsInPeriod: number;
  builds: number;
  isNew: boolean;
};

/**
 * The tests of a repository with a disruption in one of the two windows. The first and the latest
 * disruption of a test are kept when its submissions are pruned.
 */
export async function loadDisruptedTests(
  sql: Queryable,
  { repositoryId, periods: { windowStart, previousWindowStart, since } }: {
    repositoryId: number;
    periods: DigestPeriods;
  },
): Promise<Omit<DisruptedTest, "repository" | "owners">[]> {
  const isSince = (moment: number) =>
    sql`s.submission_id >= decode(${firstSubmissionId(moment)}, 'hex')`;
  const rows = await sql<TestRow[]>`
    select r.id_prefix::float8 as "idPrefix", t.test_hash::float8 as "testHash", t.suite, t.class,
      t.name, t.file, coalesce(d.disruptions, 0) as disruptions,
      coalesce(d.before, 0) as "disruptionsBefore",
      coalesce(d.in_period, 0) as "disruptionsInPeriod", coalesce(d.builds, 0) as builds,
      f.first_disruption_at >= to_timestamp(${since}::float8) as "isNew"
    from disruptive_test f
    join repository_state r on r.repository_id = f.repository_id
    join test t on t.repository_id = f.repository_id and t.test_no = f.test_no
    left join (
      select n.test_no, (count(*) filter (where ${isSince(windowStart)}))::int as disruptions,
        (count(*) filter (where not ${isSince(since)}))::int as before,
        (count(*) filter (where ${isSince(since)}))::int as in_period,
        (count(distinct ${buildKeyOf(sql)}) filter (where ${isSince(since)}))::int as builds
      from negative_result n
      join submission s on s.repository_id = n.repository_id and s.submission_id = n.submission_id
      where n.repository_id = ${repositoryId} and n.is_disruption
        and n.submission_id >= decode(${firstSubmissionId(previousWindowStart)}, 'hex')
      group by n.test_no
    ) d on d.test_no = f.test_no
    where f.repository_id = ${repositoryId}
      and f.latest_submission_id >= decode(${firstSubmissionId(previousWindowStart)}, 'hex')`;
  return rows.map((
    { idPrefix, testHash, disruptionsBefore, disruptionsInPeriod, isNew, ...test },
  ) => ({
    ...test,
    id: testId(idPrefix, testHash),
    disruptions_before: disruptionsBefore,
    disruptions_in_period: disruptionsInPeriod,
    is_new: isNew,
  }));
}

/** The builds since a moment that ended red at last without a failed test. */
export async function countFailedWithoutTest(
  sql: Queryable,
  { repositoryId, since }: { repositoryId: number; since: number },
): Promise<number> {
  const { withoutRed } = await loadLastAttempts(sql, { repositoryId, since });
  const [row] = await sql<{ count: number }[]>`
    select count(distinct ${buildKeyOf(sql)})::int as count from submission s
    where s.repository_id = ${repositoryId} and ${isFailedWithoutTest(sql)}
      and s.submission_id >= decode(${firstSubmissionId(since)}, 'hex')
      and s.build_url <> all(${textsIn(sql, withoutRed)})`;
  return row!.count;
}

/** The jobs since a moment that ended red, by kind. */
export async function loadRedJobs(
  sql: Queryable,
  { repositoryId, since }: { repositoryId: number; since: number },
): Promise<RedJobs> {
  const [failed, disruptions, withoutTest] = await Promise.all([
    loadRuns(sql, {
      repositoryId,
      columns: [...JOB_COLUMNS, "isOutage", "ranTestCount", "failedTestCount", "results"],
      since,
      where: sql`s.failed_test_count > 0`,
    }),
    sql<{ submissionId: string; testNos: number[] }[]>`
      select encode(n.submission_id, 'hex') as "submissionId",
        array_to_json(array_agg(distinct n.test_no)) as "testNos"
      from negative_result n
      where n.repository_id = ${repositoryId} and n.is_disruption
        and n.submission_id >= decode(${firstSubmissionId(since)}, 'hex')
      group by n.submission_id`,
    loadRuns(sql, {
      repositoryId,
      columns: JOB_COLUMNS,
      since,
      where: isFailedWithoutTest(sql),
    }),
  ]);
  const disrupted = new Map(
    disruptions.map(({ submissionId, testNos }) => [submissionId, new Set(testNos)]),
  );
  const uploads = failed.map((run) => ({
    ...run,
    massFailure: storedMassFailure(run),
    flaky: disrupted.get(run.submissionId) ?? NONE,
  }));
  return countRedJobs(uploads, withoutTest);
}

const NONE: ReadonlySet<number> = new Set();

/** Sorted owners of a repository's disruptive or quarantined tests, by test id (24 hex digits). */
export async function loadOwnersOfTrackedTests(
  sql: Queryable,
  { repositoryId, idPrefix }: { repositoryId: number; idPrefix: number },
): Promise<Map<string, string[]>> {
  const rows = await sql<{ testHash: number; owner: string }[]>`
    select t.test_hash::float8 as "testHash", o.owner
    from ${ownersOf(sql, repositoryId)}
    join test t on t.repository_id = ${repositoryId} and o.tests @> t.test_no
    where (
      exists (
        select 1 from disruptive_test d
        where d.repository_id = ${repositoryId} and d.test_no = t.test_no)
      or exists (
        select 1 from quarantine q
        where q.repository_id = ${repositoryId} and q.test_no = t.test_no))`;
  const owners = Map.groupBy(rows, ({ testHash }) => testId(idPrefix, testHash));
  return new Map([...owners].map(([id, tags]) => [id, tags.map(({ owner }) => owner).sort()]));
}
