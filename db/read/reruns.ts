// Tests: tests/routes/run_twice_test.ts
/** Whether anything was run twice: without that, no test can be disruptive, and no share of builds is known. */
import { REPETITION_COLUMNS, wasRunTwice } from "../../lib/analysis/repetition/submissions.ts";
import type { Run } from "../../lib/analysis/run.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { arrayOf, type Queryable, textArray } from "../connection/sql.ts";
import { codeVersionOf, hasCodeVersion } from "./fragments.ts";
import { loadRuns } from "./runs.ts";
import { loadTestFacts } from "./test_facts.ts";

/** A time of a repository, in seconds since 1970. */
export interface RepositoryPeriod {
  repositoryId: number;
  start: number;
  /** The first second after it; without one it has no end. */
  end?: number | undefined;
}

/** Builds of a time, with what can be known of their share of disrupted ones. */
export interface WithReruns {
  /** Whether any code was run twice in this time: otherwise no share of disrupted builds is known. */
  hasReruns: boolean;
}

/** Above all ids. */
const NO_END = "ff";

const COLUMNS = [
  "codeVersion",
  ...REPETITION_COLUMNS,
  "tests",
  "results",
] as const;

type CodeRun = Run<typeof COLUMNS[number]>;

/** Code versions of which the runs are in memory together. */
const CODES_PER_STATEMENT = 50;

/**
 * The builds of each period, with whether any code was run twice in it. A disruption proves that; of the others the
 * submissions are looked through.
 *
 * @param counted periods, and the builds of each
 */
export async function withReruns<Builds extends { disruptedBuildCount: number }>(
  sql: Queryable,
  counted: readonly [RepositoryPeriod, Builds][],
): Promise<(Builds & WithReruns)[]> {
  const unknown = counted.filter(([, { disruptedBuildCount }]) => disruptedBuildCount === 0);
  const found = await loadRerunPeriods(sql, unknown.map(([period]) => period));
  return counted.map(([period, builds]) => ({
    ...builds,
    hasReruns: builds.disruptedBuildCount > 0 || found.has(period),
  }));
}

/** Whether any code of a repository was run twice in the window. */
export async function loadHasReruns(
  tx: Queryable,
  { repositoryId, windowStart }: { repositoryId: number; windowStart: number },
): Promise<boolean> {
  return (await loadRerunPeriods(tx, [{ repositoryId, start: windowStart }])).size > 0;
}

/** The periods in which any code was run twice. */
async function loadRerunPeriods(
  sql: Queryable,
  periods: readonly RepositoryPeriod[],
): Promise<Set<RepositoryPeriod>> {
  const found = new Set<RepositoryPeriod>();
  if (periods.length === 0) return found;
  const open = new Map<RepositoryPeriod, Set<string>>();
  for (const { no, isRerun, codes } of await selectRepeatedCode(sql, periods)) {
    const period = periods[no]!;
    if (isRerun) found.add(period);
    else open.set(period, new Set(codes));
  }
  for (const [repositoryId, own] of Map.groupBy(open.keys(), (one) => one.repositoryId)) {
    for await (const runs of eachCodeVersion(sql, { repositoryId, own, open })) {
      for (const period of own) {
        if (found.has(period)) continue;
        const { start, end = Infinity } = period;
        const within = runs.filter(({ recordedAt: at }) => at >= start && at < end);
        if (await wasCodeRunTwice(sql, repositoryId, within)) found.add(period);
      }
      if (own.every((period) => found.has(period))) break;
    }
  }
  return found;
}

interface RepeatedCode {
  /** Of the period. */
  no: number;
  isRerun: boolean;
  /** Unless `isRerun`: code versions of which the results must be looked at. */
  codes: string[] | null;
}

/**
 * The periods with code that has several submissions, or one with more results than tests. If the submissions of one
 * list of tests have more outcomes than the list has tests, then one of the tests was run twice, whichever it is: that
 * leaves few of which the results must be read.
 */
async function selectRepeatedCode(sql: Queryable, periods: readonly RepositoryPeriod[]) {
  const ids = arrayOf(new Set(periods.map(({ repositoryId }) => repositoryId)));
  const idsOf = (of: (period: RepositoryPeriod) => number | undefined) =>
    textArray(periods.map((period) => {
      const second = of(period);
      return second === undefined ? NO_END : firstSubmissionId(second);
    }));
  // As most code in shards: none of them repeats another.
  const isOneAttempt = sql`bool_and(s.build_url <> '' and s.attempt <> '')
    and count(distinct s.attempt || ' ' || s.build_url) = 1`;
  return await sql<RepeatedCode[]>`
    select c.no, bool_or(c.is_rerun) as "isRerun",
      case when not bool_or(c.is_rerun) then json_agg(c.code_version) end as codes
    from (
      select p.no, ${codeVersionOf(sql)} as code_version,
        count(*) > 1 and count(distinct s.test_list_no) = 1 and count(distinct s.shard) = 1
          and (s.job = '' or count(*) = count(distinct case
            when s.build_url = '' or s.attempt = '' then encode(s.submission_id, 'hex')
            else s.attempt || ' ' || s.build_url end))
          and sum(s.ran_test_count) > min(s.test_result_count) is true as is_rerun
      from submission s
      join (
        select repository_id, (place - 1)::int as no, decode(first_id, 'hex') as first_id,
          decode(end_id, 'hex') as end_id
        from unnest(${arrayOf(periods.map(({ repositoryId }) => repositoryId))}::bigint[],
          ${idsOf(({ start }) => start)}::text[], ${idsOf(({ end }) => end)}::text[])
          with ordinality as given(repository_id, first_id, end_id, place)
      ) p on p.repository_id = s.repository_id
        and s.submission_id >= p.first_id and s.submission_id < p.end_id
      where s.repository_id = any(${ids}::bigint[]) and s.status = 'processed'
      group by p.no, s.repository_id, s.code_version, s.environment, s.job, s.workflow
      having (count(*) > 1 and not (s.job <> '' and ${isOneAttempt})
        or bool_or(s.test_result_count > coalesce(s.ran_test_count + s.skipped_test_count, 0)))
    ) c
    group by c.no`;
}

/** The runs of each code version that may prove something in some periods of a repository. */
async function* eachCodeVersion(
  sql: Queryable,
  { repositoryId, own, open }: {
    repositoryId: number;
    own: readonly RepositoryPeriod[];
    open: ReadonlyMap<RepositoryPeriod, ReadonlySet<string>>;
  },
): AsyncGenerator<CodeRun[], void> {
  const codes = [...new Set(own.flatMap((period) => [...open.get(period)!]))];
  const lists = new Map();
  for (let first = 0; first < codes.length; first += CODES_PER_STATEMENT) {
    const runs = await loadRuns(sql, {
      repositoryId,
      columns: COLUMNS,
      since: Math.min(...own.map(({ start }) => start)),
      where: hasCodeVersion(sql, codes.slice(first, first + CODES_PER_STATEMENT)),
      lists,
    });
    yield* Map.groupBy(runs, ({ codeVersion }) => codeVersion).values();
  }
}

async function wasCodeRunTwice(
  sql: Queryable,
  repositoryId: number,
  runs: readonly CodeRun[],
): Promise<boolean> {
  if (!wasRunTwice(runs, { hasFile: () => true })) return false;
  if (wasRunTwice(runs, { hasFile: () => false })) return true;
  const testNos = new Set(runs.flatMap(({ tests }) => [...tests.testNos]));
  return wasRunTwice(runs, await loadTestFacts(sql, { repositoryId, testNos }));
}
