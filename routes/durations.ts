/** The route about how long files, classes and tests take. */
import * as v from "valibot";
import { loadDurations } from "../db/read/durations.ts";
import { MAX_RUNS } from "../lib/analysis/durations.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import { defineJsonRoute } from "../lib/http/request/route.ts";
import * as views from "./response_parts.ts";
import * as schemas from "./schemas.ts";

/** Enough for all files of nearly every repository: `split` needs all of them. */
const MAX_DURATIONS = 10_000;

const durationsSchema = schemas.object("Durations", {
  key: schemas.text("The file or class, or the id of the test"),
  median_us: schemas.count("Microseconds of the median run"),
  p90_us: schemas.count("Microseconds of the 90th percentile"),
  runs: schemas.count(`Runs that count, at most ${MAX_RUNS}`),
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
      durations: durations.map(({ key, medianMicroseconds, p90Microseconds, runCount, test }) => ({
        key,
        median_us: medianMicroseconds,
        p90_us: p90Microseconds,
        runs: runCount,
        test: test && { name: test.name, suite: test.suite, class: test.class, file: test.file },
      })),
      metadata: views.offsetMetadata(query, count),
    };
  },
});
