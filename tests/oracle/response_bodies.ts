/** The response bodies of the API, made from the definitions. */
import { fingerprint } from "../../lib/analysis/failure_groups.ts";
import { eventId, organizationUuid, testHash, type TestIdentity } from "../../lib/base/identity.ts";
import { plainGroups } from "./failure_groups.ts";
import {
  idOfTest,
  isSameTest,
  type KnownTest,
  type PlainSubmission,
  repositoryAt,
} from "./model.ts";
import { compareText, type Oracle, type Row, type Sort, type Term, timestamp } from "./oracle.ts";

/** The values of `include`, in the order of the specification. */
export const INCLUDES = [
  "disruptiveness_ratio",
  "nondeterministic_negative_result_count",
  "nondeterminism_first_recorded_at",
  "recent_nondeterministic_commit_oid",
  "recent_nondeterministic_negative_result",
  "recent_nondeterministic_positive_result",
  "tags",
  "quarantine_date",
  "quarantined_by",
  "quarantine_type",
  "time_consumed",
  "pass_rate",
  "avg_duration_ms",
  "quarantine_reason",
  "quarantine_owner",
  "quarantine_expires_at",
  "quarantine_environment",
] as const;

export type Include = typeof INCLUDES[number];

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Most events of a test in one response. */
const EVENT_LIMIT = 10;

/** One page of the submissions of a repository; `after` is a submission's id. */
export function submissionsPage(
  oracle: Oracle,
  repository: number,
  page: { limit: number; after: string | null },
): { [name: string]: Json } {
  const all = oracle.submissionsInWindow(repository);
  const { after } = page;
  const rest = after === null ? all : all.filter((submission) => submission.id < after);
  const shown = rest.slice(0, page.limit);
  const last = shown.at(-1);
  return {
    count: all.length,
    submissions: shown.map((submission) => ({
      id: submission.id,
      key: submission.key,
      build_url: submission.buildUrl,
      commit_oid: submission.commit,
      tree_oid: submission.tree ?? "",
      branch: submission.branch ?? "",
      environment: submission.environment,
      job: submission.job,
      shard: submission.shard ?? "",
      attempt: submission.attempt ?? "",
      runner: "",
      pull_number: null,
      pull_title: "",
      author: "",
      recorded_at: timestamp(submission.recordedAt),
      status: submission.status,
      test_result_count: submission.results.length,
      ran_test_count: countOf(oracle, submission, "ran"),
      skipped_test_count: countOf(oracle, submission, "were skipped"),
      exit_code: null,
      failed_without_test: false,
      notes: [],
    })),
    metadata: {
      after: last && rest.length > page.limit ? btoa(`id:${last.id}`) : null,
      limit: page.limit,
    },
  };
}

function countOf(oracle: Oracle, submission: PlainSubmission, what: "ran" | "were skipped"): Json {
  return submission.status === "processed" ? oracle.testsThat(submission, what).size : null;
}

/** The organization of the token. */
export function organizations({ state }: Oracle): { [name: string]: Json } {
  const { organization: name, organizationId } = state;
  return {
    organizations: [{ id: organizationUuid(organizationId), name, slug: name.toLowerCase() }],
  };
}

/** All repositories of the organization. */
export function repositories(oracle: Oracle): { [name: string]: Json } {
  return {
    repositories: oracle.repositories().map(({ owner, name, repositoryId, url }) => ({
      id: String(repositoryId),
      name,
      full_name: `${owner}/${name}`,
      url,
      description: "",
    })),
  };
}

export interface TestsPage {
  sort: Sort;
  /** All of them must match. */
  terms: Term[];
  limit: number;
  offset: number;
  /** Patterns of the branches that count; all submissions without any. */
  branches?: readonly string[];
  environments?: readonly string[];
}

/** One page of the disruptive tests of a repository. */
export function testsPage(
  oracle: Oracle,
  repository: number,
  page: TestsPage,
): { [name: string]: Json } {
  return listPage(oracle, oracle.disruptiveTests([repository]), page, (test) => ({
    ...names(test),
    disruptiveness: oracle.ratioThousandths(test) / 1000,
    nondeterministic_negative_result_count: oracle.disruptionsInWindow(test).length,
    nondeterminism_first_recorded_at: recordedAt(oracle.firstDisruption(test)),
    latest_nondeterministic_commit_oid: oracle.latestDisruption(test)?.submission.commit ?? null,
    latest_nondeterministic_negative_result: negative(oracle.latestDisruption(test)),
    latest_nondeterministic_positive_result: positive(oracle.latestNondeterministicPositive(test)),
  }));
}

/** One page of one view of the inventory. */
export function inventoryPage(
  oracle: Oracle,
  repositories: number[],
  page: TestsPage & { quarantined: boolean; include: Include[] },
): { [name: string]: Json } {
  const tests = oracle.inventory(repositories, page.quarantined);
  return listPage(oracle, tests, page, (test) => {
    const item: { [name: string]: Json } = names(test);
    const expansions = expansionsOf(oracle, test);
    for (const name of page.include) Object.assign(item, expansions[name]);
    return item;
  });
}

function expansionsOf(oracle: Oracle, test: KnownTest): Record<Include, { [name: string]: Json }> {
  const count = oracle.disruptionsInWindow(test).length;
  const first = recordedAt(oracle.firstDisruption(test));
  const latest = oracle.latestDisruption(test);
  const quarantine = oracle.quarantineOf(test);
  return {
    disruptiveness_ratio: { disruptiveness_ratio: oracle.ratioThousandths(test) / 1000 },
    nondeterministic_negative_result_count: {
      nondeterministic_negative_result_count: count,
      disruption_count: count,
    },
    nondeterminism_first_recorded_at: {
      nondeterminism_first_recorded_at: first,
      first_disruption_at: first,
    },
    recent_nondeterministic_commit_oid: {
      recent_nondeterministic_commit_oid: latest?.submission.commit ?? null,
    },
    recent_nondeterministic_negative_result: {
      recent_nondeterministic_negative_result: negative(latest),
    },
    recent_nondeterministic_positive_result: {
      recent_nondeterministic_positive_result: positive(
        oracle.latestNondeterministicPositive(test),
      ),
    },
    tags: { tags: oracle.tagsOf(test) },
    quarantine_date: { quarantine_date: quarantine ? timestamp(quarantine.at) : null },
    quarantined_by: { quarantined_by: quarantine?.by ?? null },
    quarantine_type: { quarantine_type: quarantine?.type ?? null },
    time_consumed: { time_consumed: oracle.timeConsumed(test) },
    pass_rate: { pass_rate: oracle.passRate(test) },
    avg_duration_ms: { avg_duration_ms: oracle.averageDuration(test) },
    quarantine_reason: { quarantine_reason: quarantine?.reason ?? null },
    quarantine_owner: { quarantine_owner: quarantine?.owner ?? null },
    quarantine_environment: { quarantine_environment: null },
    quarantine_expires_at: {
      quarantine_expires_at: quarantine?.expiresAt ? timestamp(quarantine.expiresAt) : null,
    },
  };
}

/** The verdicts on failed tests, without what depends on the evidence. */
export function verdicts(
  oracle: Oracle,
  repository: number,
  { tests, base, ...run }: {
    tests: readonly TestIdentity[];
    base: readonly string[];
    job: string;
    environment: string;
  },
): { [name: string]: Json } {
  const bases = base.length > 0 ? base : [oracle.baseBranch(repository)];
  const onBase = oracle.onBranches(bases);
  const recent = oracle.recentSubmissions(repository);
  const isUnnamed = recent.length > 0 && recent.every(({ branch }) => !branch);
  const known = oracle.testsOf([repository]);
  return {
    tests: tests.map((wanted) => {
      const test = known.find((one) => isSameTest(one, wanted)) ?? {
        ...{ suite: "", class: "", name: "", file: "" },
        repository,
        id: idOfTest(oracle.state, repository, wanted),
      };
      const failure = onBase.rowsInWindow(test).filter((row) => oracle.isNegative(row)).at(-1);
      const isQuarantined = oracle.quarantineOf(test) !== undefined;
      const isFlaky = oracle.disruptionsInWindow(test).length > 0;
      const isTracked = isQuarantined || isFlaky;
      return {
        ...names(test),
        ...isTracked && { verdict: isQuarantined ? "quarantined" : "flaky" },
        owners: oracle.ownersOf(test),
        disruptiveness_ratio: oracle.ratioThousandths(test) / 1000,
        recent_nondeterministic_negative_result: isTracked
          ? negative(oracle.latestDisruption(test))
          : null,
        recent_base_negative_result: negative(failure),
        causes: oracle.causesOf(test),
      };
    }),
    failed_without_test: false,
    base_branch: base.length === 0 && isUnnamed ? "" : bases.toSorted().join(", "),
    mass_failure: null,
    ...comparedRuns(onBase, repository, run),
    expected_files: null,
    outage: massFailures(oracle, repository),
  };
}

/** What a run is compared with: the last ten of its job. */
function comparedRuns(
  onBase: Oracle,
  repository: number,
  { job, environment }: { job: string; environment: string },
): { [name: string]: Json } {
  const runs = onBase.submissionsOf(repository)
    .filter((one) =>
      job !== "" && one.job === job && one.environment === environment && !one.shard &&
      !one.isPruned && one.status === "processed" && onBase.isOnBranch(one) &&
      onBase.testsThat(one, "ran").size > 0
    )
    .sort((a, b) => compareText(b.id, a.id)).slice(0, 10);
  const counts = runs.map((one) => onBase.testsThat(one, "ran").size);
  const skipped = runs.map((one) => onBase.testsThat(one, "were skipped").size);
  return {
    expected_test_count: runs.length < 3 ? null : middle(counts),
    base_test_counts: counts,
    expected_skipped_count: runs.length < 3 ? null : middle(skipped),
  };
}

/** The median, rounded down. */
function middle(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)]!;
  if (sorted.length % 2 === 1) return upper;
  return Math.floor((upper + sorted[sorted.length / 2 - 1]!) / 2);
}

function massFailures(oracle: Oracle, repository: number): Json {
  const runs = oracle.submissionsOf(repository)
    .filter((one) =>
      one.status === "processed" && !one.isPruned && one.recordedAt >= oracle.now - 2 * 3600 &&
      oracle.isMassFailure(one)
    )
    .sort((a, b) => compareText(b.id, a.id)).slice(0, 10);
  return runs.length === 0 ? null : {
    runs: runs.map((one) => ({
      submission_id: one.id,
      recorded_at: timestamp(one.recordedAt),
      build_url: one.buildUrl,
      branch: one.branch ?? "",
      environment: one.environment,
      job: one.job,
      failed_test_count: oracle.testsThat(one, "failed").size,
      ran_test_count: oracle.testsThat(one, "ran").size,
    })),
  };
}

/** One test with all expansions. */
export function testDetails(oracle: Oracle, test: KnownTest): { [name: string]: Json } {
  const { owner, name, repositoryId } = repositoryAt(oracle.state, test.repository);
  return Object.assign(
    names(test),
    {
      repository: `${owner}/${name}`,
      repository_id: repositoryId,
      is_quarantined: oracle.quarantineOf(test) !== undefined,
    },
    ...Object.values(expansionsOf(oracle, test)),
  );
}

/** The latest disruption events of a test. */
export function testResults(oracle: Oracle, test: KnownTest): { [name: string]: Json } {
  const newestFirst = oracle.disruptionsInWindow(test).reverse();
  return {
    results: newestFirst.slice(0, EVENT_LIMIT).map((row) => ({
      id: eventId(row.submission.id, row.position),
      build_url: row.submission.buildUrl,
      commit_oid: row.submission.commit,
      conclusion: row.result.conclusion,
      recorded_at: timestamp(row.submission.recordedAt),
      message: row.result.message,
    })),
  };
}

/** A page of the attempts of a submission. */
export function submissionTests(
  oracle: Oracle,
  submission: PlainSubmission,
  { status, limit, offset }: { status: string; limit: number; offset: number },
): { [name: string]: Json } {
  const attempts = oracle.attempts(submission, status);
  const { repository, results } = submission;
  const byHash = results.map((result, position) => ({ hash: testHash(result), position }))
    .sort((a, b) => a.hash - b.hash || a.position - b.position);
  const next = offset + limit;
  return {
    count: attempts.length,
    tests: attempts.slice(offset, next).map((row) => {
      const position = byHash.findIndex((one) => one.position === row.position);
      const test = oracle.state.tests.find((one) =>
        one.repository === repository && isSameTest(one, row.result)
      )!;
      return {
        ...names(test),
        id: eventId(
          submission.id,
          oracle.isNegative(row) ? row.position : results.length + position,
        ),
        test_case_id: test.id,
        ...attempt(oracle, test, row),
        causes: oracle.isNegative(row) ? oracle.causesOfFailure(row) : [],
        ran_at: timestamp(submission.recordedAt),
      };
    }),
    metadata: { after: next < attempts.length ? btoa(`offset:${next}`) : null, limit },
  };
}

/** A page of the attempts of a test; `before` are the attempts on the pages before. */
export function testRuns(
  oracle: Oracle,
  test: KnownTest,
  { status, limit, before }: { status: string; limit: number; before: number },
): { [name: string]: Json } {
  const runs = oracle.runs(test, status);
  const shown = runs.slice(before, before + limit);
  const isLast = before + limit >= runs.length;
  return {
    runs: shown.map((row) => ({
      submission_id: row.submission.id,
      recorded_at: timestamp(row.submission.recordedAt),
      build_url: row.submission.buildUrl,
      commit_oid: row.submission.commit,
      tree_oid: row.submission.tree ?? "",
      branch: row.submission.branch ?? "",
      environment: row.submission.environment,
      ...attempt(oracle, test, row),
    })),
    metadata: { after: isLast ? null : runCursor(oracle, shown.at(-1)!), limit },
  };
}

/** The cursor after an attempt of a test. */
export function runCursor(oracle: Oracle, row: Row): string {
  return btoa(`run:${row.submission.id}:${oracle.runCount(row)}`);
}

function attempt(oracle: Oracle, test: KnownTest, row: Row): { [name: string]: Json } {
  const isNegative = oracle.isNegative(row);
  return {
    conclusion: row.result.conclusion,
    duration_us: row.result.durationMicroseconds,
    message: isNegative ? row.result.message : null,
    body: isNegative ? row.result.body : null,
    run_count: oracle.runCount(row),
    is_disruption: oracle.isDisruption(test, row),
  };
}

/** The failures of tests by cause. */
export function failureGroups(
  oracle: Oracle,
  tests: KnownTest[],
  { withTests }: { withTests: boolean },
): { [name: string]: Json } {
  const known = (failure: { fingerprint: string }) =>
    !withTests || failure.fingerprint !== fingerprint("");
  const failures = oracle.failures(tests).map(({ test, row }) => ({
    fingerprint: fingerprint(oracle.cause(row)),
    testId: test.id,
    branch: row.submission.branch ?? "",
    recordedAt: row.submission.recordedAt,
    isDisruption: oracle.isDisruption(test, row),
    row,
  })).filter(known);
  const { count, groups } = plainGroups(failures);
  return {
    count,
    failures: groups.map((group) => ({
      fingerprint: group.fingerprint,
      message: group.latest.row.result.message,
      body: group.latest.row.result.body,
      count: group.count,
      disruption_count: group.disruptionCount,
      first_recorded_at: timestamp(group.firstRecordedAt),
      last_recorded_at: timestamp(group.lastRecordedAt),
      branches: group.branches,
      latest_build_url: group.latest.row.submission.buildUrl,
      latest_commit_oid: group.latest.row.submission.commit,
      ...withTests && { test_count: group.testCount, tests: group.tests },
    })),
  };
}

export interface DurationsPage {
  by: "file" | "class" | "test";
  limit: number;
  offset: number;
}

/** The durations of the files, classes or tests of a repository. */
export function durations(
  oracle: Oracle,
  repository: number,
  { by, limit, offset }: DurationsPage,
): { [name: string]: Json } {
  const tests = oracle.testsOf([repository]);
  const keys = new Set(tests.map((test) => oracle.durationKey(test, by)).filter((key) => key));
  const all = [...keys].map((key) => {
    const runs = oracle.latestDurations(repository, by, key);
    return { key, runs, median: oracle.percentile(runs, 50) };
  }).filter(({ runs }) => runs.length > 0)
    .sort((a, b) => b.median - a.median || compareText(a.key, b.key));
  const next = offset + limit;
  return {
    count: all.length,
    durations: all.slice(offset, next).map(({ key, runs, median }) => {
      const test = tests.find(({ id }) => by === "test" && id === key);
      const { name, suite, class: className, file } = test ?? {};
      return {
        key,
        median_us: median,
        p90_us: oracle.percentile(runs, 90),
        runs: runs.length,
        // Results of a history have no suites with a time of their own.
        overhead_us: 0,
        test: test ? { name: name!, suite: suite!, class: className!, file: file! } : null,
      };
    }),
    metadata: { after: next < all.length ? btoa(`offset:${next}`) : null, limit },
  };
}

/** A badge: the percentage as text (`null` for none) and the colour. */
export interface Badge {
  percentage: string | null;
  color: string;
}

const COLORS = {
  green: "#4c1",
  lightGreen: "#97ca00",
  yellow: "#dfb317",
  red: "#e05d44",
  grey: "#9f9f9f",
};

/** Every colour of a badge. */
export const BADGE_COLORS = Object.values(COLORS);

/** The flakiness badge of a repository. */
export function flakinessBadge(oracle: Oracle, repository: number): Badge {
  const { all, disrupted } = oracle.builds(repository);
  if (all === 0) return { percentage: null, color: COLORS.grey };
  const tenths = oracle.tenthsOfPercent(disrupted, all);
  const color = tenths === 0 ? COLORS.green : tenths <= 200 ? COLORS.yellow : COLORS.red;
  return { percentage: percentageText(tenths), color };
}

/** The coverage badge of a repository. */
export function coverageBadge(oracle: Oracle, repository: number): Badge {
  const coverage = oracle.latestCoverage(repository);
  if (!coverage) return { percentage: null, color: COLORS.grey };
  const tenths = oracle.tenthsOfPercent(coverage.covered, coverage.total);
  let color = COLORS.red;
  if (tenths >= 700) color = COLORS.yellow;
  if (tenths >= 900) color = COLORS.lightGreen;
  if (tenths === 1000) color = COLORS.green;
  return { percentage: percentageText(tenths), color };
}

/** Repositories that a `repository` parameter names: `owner/name`, or a bare name. */
export function repositoriesNamed(oracle: Oracle, parameter: string): number[] {
  return [...oracle.state.repositories.keys()].filter((index) => {
    const { owner, name, isThere } = repositoryAt(oracle.state, index);
    if (!isThere) return false;
    const spelling = parameter.includes("/") ? `${owner}/${name}` : name;
    return spelling.toLowerCase() === parameter.toLowerCase();
  });
}

function listPage(
  oracle: Oracle,
  tests: KnownTest[],
  page: TestsPage,
  item: (test: KnownTest) => { [name: string]: Json },
): { [name: string]: Json } {
  const matching = tests.filter((test) => page.terms.every((term) => oracle.matches(test, term)));
  const sorted = oracle.sorted(matching, page.sort);
  const next = page.offset + page.limit;
  return {
    count: sorted.length,
    tests: sorted.slice(page.offset, next).map(item),
    metadata: { after: next < sorted.length ? btoa(`offset:${next}`) : null, limit: page.limit },
  };
}

function names(test: KnownTest): { [name: string]: Json } {
  const { id, name, suite, class: className, file } = test;
  return { id, name, suite, class: className, file };
}

function recordedAt(row: Row | undefined): string | null {
  return row ? timestamp(row.submission.recordedAt) : null;
}

function negative(row: Row | undefined): Json {
  if (!row) return null;
  const { submission, result } = row;
  return {
    recorded_at: timestamp(submission.recordedAt),
    build_url: submission.buildUrl,
    message: result.message,
  };
}

function positive(row: Row | undefined): Json {
  if (!row) return null;
  const { submission } = row;
  return {
    recorded_at: timestamp(submission.recordedAt),
    build_url: submission.buildUrl,
    message: null,
  };
}

function percentageText(tenths: number): string {
  return `${tenths / 10}%`;
}
