import * as v from "valibot";
import type { TrackedTest } from "../lib/analysis/tracked_test.ts";
import { JSON_MEDIA_TYPE } from "../lib/http/request/json.ts";
import {
  branchParameter,
  limitParameter,
  offsetCursorParameter,
  repositoryPathParameters,
  searchParameter,
  sortParameter,
} from "../lib/http/request/parameters.ts";
import { defineRoute } from "../lib/http/request/route.ts";
import examples from "./examples.json" with { type: "json" };
import { testPage } from "./test_page.ts";
import {
  baseEntries,
  baseView,
  countSchema,
  negativeResultSchema,
  negativeResultView,
  pageSchema,
  positiveResultSchema,
  positiveResultView,
  ratioSchema,
  ratioView,
  textSchema,
  timestampSchema,
  timestampView,
} from "./schemas.ts";

const DEFAULT_LIMIT = 10;

const disruptiveTestSchema = v.pipe(
  v.strictObject({
    ...baseEntries,
    disruptiveness: ratioSchema,
    nondeterministic_negative_result_count: countSchema("Disruptions of the last 14 days"),
    nondeterminism_first_recorded_at: v.pipe(
      timestampSchema,
      v.description("The first disruption ever"),
    ),
    latest_nondeterministic_commit_oid: textSchema("Commit of the latest disruption"),
    latest_nondeterministic_negative_result: v.pipe(
      negativeResultSchema,
      v.description("The latest disruption"),
    ),
    latest_nondeterministic_positive_result: v.pipe(
      positiveResultSchema,
      v.description("The latest pass at a code version where the test also failed"),
    ),
  }),
  v.title("DisruptiveTest"),
);

export const disruptiveTests = defineRoute({
  path: "/api/repos/:owner/:name/tests",
  operationId: "listDisruptiveTests",
  tag: "Repositories",
  summary: "Flaky tests of a repository",
  description:
    "Tests that both passed and failed at the same code version, with such a failure in the last " +
    "14 days. Quarantined tests are listed too.",
  parameters: {
    path: repositoryPathParameters,
    query: v.object({
      limit: limitParameter(DEFAULT_LIMIT),
      after: offsetCursorParameter,
      sort: sortParameter,
      q: searchParameter,
      branch: branchParameter,
    }),
  },
  response: {
    status: 200,
    description: "A page of tests",
    mediaType: JSON_MEDIA_TYPE,
    schema: pageSchema("DisruptiveTestPage", "Tests that match, on all pages", {
      tests: v.array(disruptiveTestSchema),
    }),
    example: examples.disruptiveTests,
  },
  resource: "repository in path",
  async handler(request) {
    const { branch, ...page } = request.query;
    const tests = await request.loadTests({ branches: branch });
    return testPage(tests, { ...page, isListed: isDisruptive }, disruptiveTestView);
  },
});

/** Whether the list shows a test. */
export const isDisruptive = ({ disruptionCount }: TrackedTest) => disruptionCount > 0;

/** A test as the list shows it. */
export function disruptiveTestView(test: TrackedTest) {
  return {
    ...baseView(test),
    disruptiveness: ratioView(test),
    nondeterministic_negative_result_count: test.disruptionCount,
    nondeterminism_first_recorded_at: timestampView(test.firstDisruptionAt),
    latest_nondeterministic_commit_oid: test.latestDisruption?.commitOid ?? "",
    latest_nondeterministic_negative_result: negativeResultView(test.latestDisruption),
    latest_nondeterministic_positive_result: positiveResultView(test.latestPositive),
  };
}
