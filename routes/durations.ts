/** The routes about how long files, classes and tests take. */
import * as v from "valibot";
import { loadDurations } from "../db/read/durations.ts";
import { loadSlowTests, type SlowTest } from "../db/read/slow_tests.ts";
import { MAX_RUNS } from "../lib/analysis/durations.ts";
import { formatTimestamp } from "../lib/base/time.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import { defineJsonRoute } from "../lib/http/request/route.ts";
import * as views from "./response_parts.ts";
import * as schemas from "./schemas.ts";

/** Enough for all files of nearly every repository: `split` needs all of them. */
const MAX_DURATIONS = 10_000;

/** Each page measures all of them again, which takes longer than to keep them: about 300 bytes each. */
const ALL_AT_ONCE = 10_000_000;

const durationsSchema = schemas.object("Durations", {
  key: schemas.text("The file or class, or the id of the test"),
  median_us: schemas.count("Microseconds of the median run"),
  p90_us: schemas.count("Microseconds of the 90th percentile"),
  runs: schemas.count(`Runs that count, at most ${MAX_RUNS}`),
  overhead_us: schemas.count(
    "Microseconds of the median time of its suites beyond their tests, such as hooks; 0 of a test, and where " +
      "reports have one suite for several files",
  ),
  test: schemas.nullable(
    schemas.object("DurationsTest", schemas.identity),
    "The test, with by=test",
  ),
});

export const durations = defineJsonRoute({
  path: "/api/repos/:owner/:name/durations",
  operationId: "listDurations",
  tag: "Repositories",
  summary: "Durations of files, classes or tests",
  description:
    `How long each takes, by its latest ${MAX_RUNS} runs of the last 14 days, the longest first. A run ` +
    "is a submission; the attempts of a test in it are added up.",
  query: {
    by: parameters.durationsBy,
    limit: parameters.limit(100, MAX_DURATIONS),
    after: parameters.offsetCursor,
    ...parameters.submissionFilter,
    job: parameters.job,
    as_of: parameters.asOf,
  },
  list: { field: "durations", batch: ALL_AT_ONCE },
  schema: schemas.page("DurationsPage", "Files, classes or tests, on all pages", {
    durations: v.array(durationsSchema),
  }),
  exampleQuery: { limit: "2" },
  resource: "repository in path",
  async handler({ load, windowStart, now, query }) {
    const { by, after, limit, job: jobs, as_of: until } = query;
    const { count, durations } = await load(loadDurations, {
      by,
      after,
      limit,
      ...parameters.filterOf(query),
      jobs,
      until,
      // The window ends at that moment.
      windowStart: until === null ? windowStart : windowStart + until - now,
    });
    return {
      count,
      durations: durations.map(({ key, test, ...run }) => ({
        key,
        median_us: run.medianMicroseconds,
        p90_us: run.p90Microseconds,
        runs: run.runCount,
        overhead_us: run.overheadMicroseconds,
        test: test && { name: test.name, suite: test.suite, class: test.class, file: test.file },
      })),
      metadata: views.offsetMetadata(query, count),
    };
  },
});

const slowTestSchema = schemas.object("SlowTest", {
  ...schemas.test,
  median_us: schemas.count(`Microseconds of the median of the latest ${MAX_RUNS} runs`),
  p90_us: schemas.count("Microseconds of the 90th percentile of them"),
  runs: schemas.count(`Runs that count for these two, at most ${MAX_RUNS}`),
  total_us: schemas.count("Microseconds of all runs of the last 14 days"),
  share: schemas.described(
    schemas.share,
    "Share of the time of all tests of the last 14 days, truncated to 3 decimals",
  ),
  slower: schemas.nullable(
    schemas.object("SlowDown", {
      before_us: schemas.count("Microseconds of the median run before, at the usual speed"),
      after_us: schemas.count("Microseconds of the median run since, at the usual speed"),
      since: schemas.described(schemas.timestamp, "recorded_at of the first slow run"),
      last_fast_commit_oid: schemas.text("Commit of the last run before"),
      first_slow_commit_oid: schemas.text("Commit of the first slow run"),
    }),
    "How it became slower in the last 14 days",
  ),
});

export const slowTests = defineJsonRoute({
  path: "/api/repos/:owner/:name/slow-tests",
  operationId: "listSlowTests",
  tag: "Repositories",
  summary: "Slow tests of a repository",
  description:
    "How long each test takes, its share of all time, and whether it became slower: at least 20 runs " +
    "on 3 days, by 20 % and 1 s. Runs are compared by how slow all their tests were, so that " +
    "a slow machine makes no test slower. In runs of one or two tests nothing tells.",
  query: {
    sort: parameters.slowSort,
    limit: parameters.limit(25),
    after: parameters.offsetCursor,
    ...parameters.submissionFilter,
  },
  list: { field: "tests", batch: ALL_AT_ONCE },
  schema: schemas.page("SlowTestPage", "Tests, on all pages", { tests: v.array(slowTestSchema) }),
  exampleQuery: { limit: "1" },
  resource: "repository in path",
  async handler({ load, loadTests, query }) {
    const { sort, after, limit } = query;
    const filter = parameters.filterOf(query);
    // One repository always has runs.
    const runs = (await loadTests({ withTime: true, filter })).runs!;
    const { count, tests } = await load(loadSlowTests, { filter, runs, sort, after, limit });
    return {
      count,
      tests: tests.map((test) => slowTestView(test, runs.timeConsumed ?? 0)),
      metadata: views.offsetMetadata(query, count),
    };
  },
});

/** A slow test, as the API shows it; `total` are the microseconds of all tests. */
export function slowTestView(test: SlowTest, total: number) {
  const { slowDown } = test;
  return {
    ...views.test(test),
    median_us: test.medianMicroseconds,
    p90_us: test.p90Microseconds,
    runs: test.runCount,
    total_us: test.totalMicroseconds,
    share: total === 0 ? 0 : Math.floor(1000 * test.totalMicroseconds / total) / 1000,
    slower: slowDown && {
      before_us: slowDown.beforeMicroseconds,
      after_us: slowDown.afterMicroseconds,
      since: formatTimestamp(slowDown.firstAfter.recordedAt),
      last_fast_commit_oid: slowDown.lastBefore.commitOid,
      first_slow_commit_oid: slowDown.firstAfter.commitOid,
    },
  };
}
