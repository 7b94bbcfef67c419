// Tests: tests/routes/quarantine_end_test.ts
/** Queries about repositories: what they are called, and their figures. */
import { firstSubmissionId } from "../../lib/base/identity.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import { SECONDS_PER_DAY, weeksAgo } from "../../lib/base/time.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { buildKeyOf, isActive, isFailedWithoutTest, isOneOf } from "./fragments.ts";
import { type RepositoryPeriod, type WithReruns, withReruns } from "./reruns.ts";

export interface RepositoryDetails extends RepositoryName {
  repositoryId: number;
  /** Unique within the organization. */
  repositoryNumber: number;
  /** First part of the ids of its tests. */
  idPrefix: number;
  /** Its page, `""` when unknown. */
  url: string;
}

/** The given repositories that still exist, by owner and name (case-insensitive). */
export async function loadRepositoryDetails(
  sql: Queryable,
  { repositoryIds }: { repositoryIds: readonly number[] },
): Promise<RepositoryDetails[]> {
  return await sql<RepositoryDetails[]>`
    select r.repository_id::float8 as "repositoryId",
      r.repository_number::float8 as "repositoryNumber",
      r.id_prefix::float8 as "idPrefix", r.owner, r.name, r.url
    from repository r
    where r.repository_id = any(${arrayOf(repositoryIds)}::bigint[])
    order by (r.owner_key || '/' || r.name_key) collate "C"`;
}

/** How many builds there were, and how many of them had a failure. */
interface BuildTotals {
  buildCount: number;
  /** With at least one failure or error, or that ended red without one. */
  failedBuildCount: number;
  /** The same without disruptions. */
  otherFailedBuildCount: number;
  /** With at least one disruption. */
  disruptedBuildCount: number;
  /** With a submission that is an outage. */
  outageBuildCount: number;
}

/** The builds of a day, of the window, or of the time of the same length before it. */
interface CountedBuilds extends BuildTotals {
  repositoryId: number;
  period: "day" | "window" | "before";
  /** In days since 1970; `null` unless of a day. */
  day: number | null;
}

/** The builds of a time, and whether their share of disrupted ones can be known. */
export type BuildCounts = BuildTotals & WithReruns;

/** The builds of a day, with `hasReruns` of its week; weeks are counted back from today. */
export type BuildDay = BuildCounts & { day: number };

interface RepositoryCounts {
  repositoryId: number;
  /** Disruptive in the window and not quarantined. */
  flakyTestCount: number;
  quarantinedTestCount: number;
  /** From the latest coverage report, as `lineCount`; `null` when there is none. */
  coveredLineCount: number | null;
  lineCount: number | null;
  /** Time of the latest submission, in seconds since 1970; `null` when there is none. */
  lastRecordedAt: number | null;
}

export type Overview = Awaited<ReturnType<typeof loadOverviews>>[number];

interface OverviewQuery {
  repositoryIds: readonly number[];
  now: number;
  windowStart: number;
  /** First day of the builds by day, in days since 1970. */
  firstDay: number;
  /** Also counts the builds of the time before the window, for a comparison. */
  withBefore?: boolean;
}

/** The details and figures of the given repositories that still exist, in the same order. */
export async function loadOverviews(tx: Queryable, query: OverviewQuery) {
  const [details, counts, days] = await Promise.all([
    loadRepositoryDetails(tx, query),
    selectCounts(tx, query),
    selectBuildDays(tx, query),
  ]);
  const countsOf = new Map(counts.map((row) => [row.repositoryId, row]));
  const buildsOf = await buildsByPeriod(tx, query, days);
  return details.map((repository) => ({
    ...repository,
    ...countsOf.get(repository.repositoryId)!,
    ...buildsOf.get(repository.repositoryId) ??
      { builds: NO_BUILDS, buildsBefore: NO_BUILDS, days: [] },
  }));
}

/** The builds of a repository. */
interface BuildsByPeriod {
  /** Of the window. */
  builds: BuildCounts;
  /** Of the time of the same length before it, with `withBefore`. */
  buildsBefore: BuildCounts;
  /** By day, oldest first, without days that had none. */
  days: BuildDay[];
}

/** The builds of each repository that has any. */
async function buildsByPeriod(
  sql: Queryable,
  { now, windowStart }: OverviewQuery,
  rows: readonly CountedBuilds[],
): Promise<Map<number, BuildsByPeriod>> {
  const today = Math.floor(now / SECONDS_PER_DAY);
  const weekOf = ({ day }: CountedBuilds) => weeksAgo(day!, today);
  const bounds = {
    window: { start: windowStart },
    before: { start: 2 * windowStart - now, end: windowStart },
  };
  const weekBounds = (week: number) => ({
    start: (today + 1 - 7 * (week + 1)) * SECONDS_PER_DAY,
    ...week > 0 && { end: (today + 1 - 7 * week) * SECONDS_PER_DAY },
  });
  const groups = Map.groupBy(
    rows,
    (row) => `${row.repositoryId} ${row.period === "day" ? weekOf(row) : row.period}`,
  );
  const counted = Array.from(groups.values(), (own): [RepositoryPeriod, BuildTotals] => {
    const [first] = own as [CountedBuilds];
    const { repositoryId, period } = first;
    const within = period === "day" ? weekBounds(weekOf(first)) : bounds[period];
    return [{ repositoryId, ...within }, sumOf(own)];
  });
  const known = await withReruns(sql, counted);
  const found = new Map<number, BuildsByPeriod>();
  for (const [index, own] of [...groups.values()].entries()) {
    const { repositoryId, period } = own[0]!;
    const { hasReruns } = known[index]!;
    const builds = found.get(repositoryId) ??
      { builds: NO_BUILDS, buildsBefore: NO_BUILDS, days: [] };
    found.set(repositoryId, builds);
    if (period === "window") builds.builds = known[index]!;
    else if (period === "before") builds.buildsBefore = known[index]!;
    else for (const row of own) builds.days.push({ ...row, day: row.day!, hasReruns });
  }
  return found;
}

/** The totals of a repository without builds. */
export const NO_BUILDS: BuildCounts = {
  buildCount: 0,
  failedBuildCount: 0,
  otherFailedBuildCount: 0,
  disruptedBuildCount: 0,
  outageBuildCount: 0,
  hasReruns: false,
};

function sumOf(counts: readonly BuildTotals[]): BuildTotals {
  const { hasReruns: _, ...total } = NO_BUILDS;
  for (const one of counts) {
    total.buildCount += one.buildCount;
    total.failedBuildCount += one.failedBuildCount;
    total.otherFailedBuildCount += one.otherFailedBuildCount;
    total.disruptedBuildCount += one.disruptedBuildCount;
    total.outageBuildCount += one.outageBuildCount;
  }
  return total;
}

/** The sums of several counts; something was run twice if it was in one of them. */
export function sumOfBuilds(counts: readonly BuildCounts[]): BuildCounts {
  return { ...sumOf(counts), hasReruns: counts.some(({ hasReruns }) => hasReruns) };
}

function selectCounts(sql: Queryable, { repositoryIds, now, windowStart }: OverviewQuery) {
  const ids = arrayOf(repositoryIds);
  const isDisruptive = sql`d.latest_submission_id >= decode(${
    firstSubmissionId(windowStart)
  }, 'hex')`;
  return sql<RepositoryCounts[]>`
    select r.repository_id::float8 as "repositoryId",
      coalesce(disruptive.count, 0) - coalesce(quarantined.disruptive_count, 0) as "flakyTestCount",
      coalesce(quarantined.count, 0) as "quarantinedTestCount",
      coverage.covered_line_count::float8 as "coveredLineCount",
      coverage.line_count::float8 as "lineCount",
      extract(epoch from latest.recorded_at)::float8 as "lastRecordedAt"
    from repository_state r
    left join (
      select d.repository_id, count(*)::int as count from disruptive_test d
      where d.repository_id = any(${ids}::bigint[]) and ${isDisruptive}
      group by d.repository_id
    ) disruptive on disruptive.repository_id = r.repository_id
    left join (
      select q.repository_id, count(*)::int as count, count(d.test_no)::int as disruptive_count
      from quarantine q
      left join disruptive_test d
        on d.repository_id = any(${ids}::bigint[]) and d.repository_id = q.repository_id
          and d.test_no = q.test_no and ${isDisruptive}
      where q.repository_id = any(${ids}::bigint[]) and ${isActive(sql, now)}
      group by q.repository_id
    ) quarantined on quarantined.repository_id = r.repository_id
    left join lateral (
      select c.covered_line_count, c.line_count from coverage_report c
      where c.repository_id = r.repository_id
        and ${isOneOf(sql, sql`c.repository_id`, repositoryIds)}
      order by c.coverage_report_id desc
      limit 1
    ) coverage on true
    left join lateral (
      select s.recorded_at from submission s
      where s.repository_id = r.repository_id
        and ${isOneOf(sql, sql`s.repository_id`, repositoryIds)}
      order by s.submission_id desc
      limit 1
    ) latest on true
    where r.repository_id = any(${ids}::bigint[])`;
}

/**
 * Builds of some repositories by day, in the window, and before it. A build counts on the day of its first
 * submission. Grows with the submissions, not with their results. Each row is counted for each period
 * instead of by `grouping sets`, which Citus refuses; `offset 0` looks for its failures once.
 */
function selectBuildDays(
  sql: Queryable,
  { repositoryIds, firstDay, windowStart, now, withBefore = false }: OverviewQuery,
) {
  const ids = arrayOf(repositoryIds);
  const firstSecond = firstDay * SECONDS_PER_DAY;
  const beforeStart = withBefore ? 2 * windowStart - now : windowStart;
  const start = Math.min(firstSecond, beforeStart);
  // `limit 1` looks each up in the index. For `exists` the planner reads all failures into a table.
  const hasNegative = (isDisruption: boolean) =>
    sql`s.failed_test_count is distinct from 0 and (
      select true from negative_result n
      where n.repository_id = s.repository_id and n.submission_id = s.submission_id
        and n.is_disruption = ${isDisruption} and ${
      isOneOf(sql, sql`n.repository_id`, repositoryIds)
    }
      limit 1) is true`;
  const isRed = sql`${isFailedWithoutTest(sql)} and not exists (
    select 1 from submission later
    where later.repository_id = s.repository_id and ${
    isOneOf(sql, sql`later.repository_id`, repositoryIds)
  } and later.status = 'processed' and later.build_url = s.build_url
      and md5(later.build_url) = md5(s.build_url) and s.build_url <> '' and later.job = s.job
      and later.workflow = s.workflow and later.environment = s.environment
      and later.shard = s.shard and later.submission_id > s.submission_id)`;
  return sql<CountedBuilds[]>`
    select c.repository_id::float8 as "repositoryId", c.period, c.day,
      count(*)::int as "buildCount",
      (count(*) filter (where c.is_disrupted or c.is_failed))::int as "failedBuildCount",
      (count(*) filter (where c.is_failed))::int as "otherFailedBuildCount",
      (count(*) filter (where c.is_disrupted))::int as "disruptedBuildCount",
      (count(*) filter (where c.is_outage))::int as "outageBuildCount"
    from (
      select b.repository_id, scope.period,
        min(case scope.period when 'day' then b.day end) as day,
        bool_or(b.is_disrupted) as is_disrupted, bool_or(b.is_failed or b.is_red) as is_failed,
        bool_or(b.is_outage) as is_outage
      from (
        select s.repository_id, ${buildKeyOf(sql)} as build,
          (extract(epoch from s.recorded_at)::bigint / ${SECONDS_PER_DAY}::int)::int as day,
          s.submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex') as in_window,
          s.submission_id >= decode(${firstSubmissionId(beforeStart)}, 'hex') as is_compared,
          s.submission_id >= decode(${firstSubmissionId(firstSecond)}, 'hex') as in_days,
          ${hasNegative(true)} as is_disrupted,
          ${hasNegative(false)} as is_failed, ${isRed} as is_red,
          s.is_outage
        from submission s
        where s.repository_id = any(${ids}::bigint[])
          and s.submission_id >= decode(${firstSubmissionId(start)}, 'hex')
          and s.status = 'processed'
        offset 0
      ) b
      cross join (values ('day'), ('window'), ('before')) as scope(period)
      where case scope.period when 'day' then b.in_days when 'window' then b.in_window
        else b.is_compared and not b.in_window end
      group by b.repository_id, scope.period, b.build
    ) c
    group by c.repository_id, c.period, c.day
    order by c.repository_id, c.day`;
}
