// Tests: tests/routes/builds_page_test.ts
/** The builds of a repository: the submissions that share a build URL, or one without. */
import { buildKey, countFailedTests } from "../../lib/analysis/build_costs.ts";
import { BUILD_COLUMNS, uploadsWithGaps } from "../../lib/analysis/build_outcome.ts";
import { firstSubmissionId, recordedAtOf } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import type { SubmissionFilter } from "../../lib/query/submission_filter.ts";
import { idsIn, type Queryable, textsIn } from "../connection/sql.ts";
import { type LastAttempts, loadLastAttempts } from "./last_attempts.ts";
import { buildKeyOf, hasGaps, isFailedWithoutTest, isOfBuild, isSelected } from "./fragments.ts";
import { loadRuns } from "./runs.ts";
import { loadBuildsNotWhole } from "./builds_not_whole.ts";

export const BUILD_OUTCOMES = ["all", "failed", "flaky", "passed"] as const;

type BuildOutcome = typeof BUILD_OUTCOMES[number];

export interface BuildRow {
  /** Its latest submission, 24 hex digits; the other texts are of that submission, too. */
  submissionId: string;
  buildUrl: string;
  commitOid: string;
  /** `""` when unknown. */
  branch: string;
  /** Number of the pull request; `null` when CI did not say. */
  pullNumber: number | null;
  /** Seconds since 1970. */
  recordedAt: number;
  status: "processing" | "processed" | "failed";
  /** Each once; those that are known. */
  environments: string[];
  submissionCount: number;
  testResultCount: number;
  /** Tests with a disruption in it, and no other failure that stands at last. */
  flakyTestCount: number;
  /** Tests with a failure that is no disruption and stands at last. */
  failedTestCount: number;
  /** Whether a command that ran its tests failed, although no test did, and was not run again since. */
  failedWithoutTest: boolean;
  /**
   * Whether reports of it hide tests or failures, and were not run again as a whole since, the outcome of a test is
   * unknown, or a shard is missing that others announce.
   */
  hasGaps: boolean;
  /** Whether a test passed or failed in it. */
  hasRun: boolean;
}

interface BuildsQuery {
  repositoryId: number;
  /** Only builds with a submission from then on, in seconds since 1970. */
  since: number;
  filter: SubmissionFilter;
  /** In lower case; all must be found: {@linkcode isFound}. */
  words: readonly string[];
  /**
   * `failed`: with a failed test, or failed without one; `flaky`: with a disruption; `passed`: with none of these, and
   * a test that ran.
   */
  outcome: BuildOutcome;
  /** The number of builds before the page. */
  offset: number;
  /** Only builds whose latest submission has a smaller id; all unless given. */
  before?: string | null;
  limit: number;
}

/** How much older than the range submissions of its builds may be. Older ones are left out, for speed. */
const EARLIER_SECONDS = 2 * SECONDS_PER_DAY;

/** A page of the builds of a repository, newest first, and how many there are. */
export async function loadBuilds(
  tx: Queryable,
  query: BuildsQuery,
): Promise<{ count: number; builds: BuildRow[] }> {
  const { repositoryId, since } = query;
  const earliest = since - EARLIER_SECONDS;
  const [attempts, earlier] = await Promise.all([
    loadLastAttempts(tx, { repositoryId, since: earliest }),
    loadEarlierIds(tx, { repositoryId, since, earliest }),
  ]);
  const rows = await selectBuilds(tx, { ...query, attempts, earlier });
  const [{ count } = { count: 0 }] = rows;
  const uploads = rows.flatMap(({ submissionIds, buildUrl }) =>
    submissionIds.map((submissionId) => ({ submissionId, buildUrl }))
  );
  const [failures, withGaps, notWhole] = await Promise.all([
    selectFailures(tx, {
      repositoryId,
      submissionIds: uploads.map(({ submissionId }) => submissionId),
    }),
    loadBuildsWithGaps(tx, repositoryId, rows),
    loadBuildsNotWhole(tx, { repositoryId, uploads }),
  ]);
  const bySubmission = Map.groupBy(failures, ({ submissionId }) => submissionId);
  const builds = rows.map(({ submissionIds, count: _, ...row }) => {
    const build = buildKey(row);
    const failures = submissionIds.flatMap((id) => bySubmission.get(id) ?? []);
    return {
      ...row,
      ...countFailedTests(failures, {
        cleared: attempts.cleared.get(build),
        standing: attempts.standing.get(build),
      }),
      hasGaps: row.hasGaps && (row.buildUrl === "" || withGaps.has(row.buildUrl)) ||
        notWhole.has(build),
    };
  });
  return { count, builds };
}

/**
 * The ids of submissions before a range that belong to a build with a submission in it: with the commit of one, or
 * within a day of the latest.
 */
async function loadEarlierIds(
  tx: Queryable,
  { repositoryId, since, earliest }: { repositoryId: number; since: number; earliest: number },
): Promise<string[]> {
  const isEarlier = tx`s.submission_id < decode(${firstSubmissionId(since)}, 'hex')`;
  const builds = await tx<
    { earlierIds: string[]; earlierCommits: string[]; commits: string[]; recordedAt: number }[]
  >`
    select array_to_json(array_agg(encode(s.submission_id, 'hex')) filter (where ${isEarlier}))
        as "earlierIds",
      array_to_json(array_agg(s.commit_oid) filter (where ${isEarlier})) as "earlierCommits",
      array_to_json(array_agg(s.commit_oid) filter (where not ${isEarlier})) as commits,
      extract(epoch from max(s.recorded_at))::float8 as "recordedAt"
    from submission s
    where s.repository_id = ${repositoryId}
      and s.submission_id >= decode(${firstSubmissionId(earliest)}, 'hex')
      and s.build_url in (
        select s.build_url from submission s
        where s.repository_id = ${repositoryId} and s.build_url <> '' and ${isEarlier}
          and s.submission_id >= decode(${firstSubmissionId(earliest)}, 'hex'))
    group by s.build_url
    having not bool_and(${isEarlier})`;
  return builds.flatMap(({ earlierIds, earlierCommits, commits, recordedAt }) => {
    const inRange = new Set(commits);
    return earlierIds.filter((id, index) =>
      inRange.has(earlierCommits[index]!) || recordedAtOf(id) >= recordedAt - SECONDS_PER_DAY
    );
  });
}

/** The URLs of builds of which an upload has gaps at last. */
async function loadBuildsWithGaps(
  tx: Queryable,
  repositoryId: number,
  rows: readonly Page[],
): Promise<ReadonlySet<string>> {
  const urls = rows.filter((row) => row.hasGaps && row.buildUrl !== "")
    .map(({ buildUrl }) => buildUrl);
  if (urls.length === 0) return new Set();
  const uploads = await loadRuns(tx, {
    repositoryId,
    columns: [...BUILD_COLUMNS, "hasGaps"],
    where: isOfBuild(tx, urls),
  });
  const builds = [...Map.groupBy(uploads, buildKey).values()];
  return new Set(builds.flatMap(uploadsWithGaps).map(({ buildUrl }) => buildUrl));
}

type Page = Omit<BuildRow, "flakyTestCount" | "failedTestCount"> & {
  count: number;
  submissionIds: string[];
};

function selectBuilds(
  tx: Queryable,
  { repositoryId, since, filter, words, outcome, offset, before = null, limit, attempts, earlier }:
    & BuildsQuery
    & { attempts: LastAttempts; earlier: readonly string[] },
) {
  const isInRange = tx`s.submission_id >= decode(${firstSubmissionId(since)}, 'hex')`;
  // With a lower bound: a generic plan reads the whole repository for an `or` alone.
  const isInBuildOfRange = earlier.length === 0 ? isInRange : tx`
    s.submission_id >= decode(${firstSubmissionId(since - EARLIER_SECONDS)}, 'hex')
    and (${isInRange} or s.submission_id = any(${idsIn(tx, earlier)}))`;
  const isNoneOf = (builds: readonly string[]) =>
    builds.length === 0
      ? tx`true`
      : tx`coalesce(nullif(s.build_url, ''), encode(s.submission_id, 'hex'))
      <> all(${textsIn(tx, builds)})`;
  const hasNegative = (isDisruption: boolean) =>
    tx`bool_or(exists (
      select 1 from negative_result n
      where n.repository_id = ${repositoryId} and n.submission_id = s.submission_id
        and n.is_disruption = ${isDisruption}))`;
  const standing = [...attempts.standing].filter(([, tests]) => tests.size > 0).map(([build]) =>
    build
  );
  const hasFailure = tx`(${hasNegative(false)} and bool_and(${isNoneOf(attempts.withoutFailure)})
    or not bool_and(${isNoneOf(standing)}))`;
  const isRed = tx`bool_or(${isFailedWithoutTest(tx)} and ${isNoneOf(attempts.withoutRed)})`;
  const hasRun = tx`bool_or(coalesce(s.ran_test_count, s.test_result_count) > 0)`;
  const conditions = {
    all: tx`true`,
    failed: tx`(${hasFailure} or ${isRed})`,
    flaky: hasNegative(true),
    passed: tx`not ${hasFailure} and not ${hasNegative(true)} and not ${isRed}
      and bool_and(s.status = 'processed') and ${hasRun}`,
  };
  return tx<Page[]>`
    select count(*) over ()::float8 as count, b.*
    from (
      select (array_agg(encode(s.submission_id, 'hex') order by s.submission_id desc))[1]
          as "submissionId",
        array_to_json(array_agg(encode(s.submission_id, 'hex'))) as "submissionIds",
        max(s.build_url) as "buildUrl",
        (array_agg(s.commit_oid order by s.submission_id desc))[1] as "commitOid",
        coalesce((array_agg(s.branch order by s.submission_id desc))[1], '') as branch,
        max(s.pull_number)::float8 as "pullNumber",
        extract(epoch from max(s.recorded_at))::float8 as "recordedAt",
        case when bool_or(s.status = 'processing') then 'processing'
          when bool_or(s.status = 'failed') then 'failed' else 'processed' end as status,
        array_to_json(array_remove(array_agg(distinct s.environment), '')) as environments,
        ${isRed} as "failedWithoutTest", bool_or(${hasGaps(tx)}) as "hasGaps",
        ${hasRun} as "hasRun",
        count(*)::int as "submissionCount", sum(s.test_result_count)::int as "testResultCount"
      from submission s
      where s.repository_id = ${repositoryId} and ${isInBuildOfRange}
        and ${isSelected(tx, filter)} and ${isFound(tx, words)}
      group by ${buildKeyOf(tx)}
      having bool_or(${isInRange}) and ${conditions[outcome]}
    ) b
    where ${before === null ? tx`true` : tx`b."submissionId" collate "C" < ${before}`}
    order by b."submissionId" desc
    limit ${limit} offset ${offset}`;
}

/**
 * SQL: whether the row `s` of `submission` has each word: its commit begins with it, if it has four digits or
 * more, or branch or build URL contain it. A number, such as `#77`, is one part of the path of either: of a
 * pull request or a CI run.
 */
function isFound(tx: Queryable, words: readonly string[]) {
  if (words.length === 0) return tx`true`;
  const parts = words.map((word) => word.replace(/^#?(\d{1,9})$/, "/$1/"));
  return tx`not exists (
    select 1 from unnest(${textsIn(tx, words)}, ${textsIn(tx, parts)}) as w(word, part)
    where (length(w.word) < 4 or not starts_with(lower(s.commit_oid), w.word)) and strpos(
      lower(concat('/', s.branch, '/', s.pull_number, '/', chr(10), s.build_url, '/')), w.part) = 0)`;
}

function selectFailures(
  tx: Queryable,
  { repositoryId, submissionIds }: { repositoryId: number; submissionIds: readonly string[] },
) {
  return tx<{ submissionId: string; testNo: number; isDisruption: boolean }[]>`
    select encode(n.submission_id, 'hex') as "submissionId", n.test_no as "testNo",
      bool_or(n.is_disruption) as "isDisruption"
    from negative_result n
    where n.repository_id = ${repositoryId}
      and n.submission_id = any(${idsIn(tx, submissionIds)})
    group by n.submission_id, n.test_no`;
}
