import * as v from "valibot";
import type { TrackedTest } from "../lib/analysis/tracked_test.ts";
import { use } from "../lib/base/at_hand.ts";
import { JSON_MEDIA_TYPE } from "../lib/http/request/json.ts";
import {
  limitParameter,
  offsetCursorParameter,
  repositoryPathParameters,
  searchParameter,
  sortParameter,
} from "../lib/http/request/parameters.ts";
import { selectRepository } from "../lib/http/request/repositories.ts";
import { defineRoute } from "../lib/http/request/route.ts";
import { DISRUPTIVE_TESTS_EXAMPLE } from "./examples.ts";
import { answerTestPage } from "./test_page.ts";
import {
  baseEntries,
  baseView,
  countSchema,
  metadataSchema,
  negativeResultSchema,
  negativeResultView,
  positiveResultSchema,
  positiveResultView,
  ratioView,
  textSchema,
  timestampSchema,
  timestampView,
} from "./views.ts";

const DEFAULT_LIMIT = 10;

const disruptiveTestSchema = v.pipe(
  v.strictObject({
    ...baseEntries,
    disruptiveness: v.pipe(
      v.number(),
      v.minValue(0),
      v.maxValue(1),
      v.description(
        "Disruptions among the passing and failing results of the last 14 days, cut to 3 decimals",
      ),
    ),
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
      v.description("The latest pass on code that the test failed on as well"),
    ),
  }),
  v.title("DisruptiveTest"),
);

/** `GET /api/repos/{owner}/{name}/tests`: the disruptive tests of the window. */
export const disruptiveTests = defineRoute({
  method: "GET",
  path: "/api/repos/:owner/:name/tests",
  access: "token",
  operationId: "listDisruptiveTests",
  tag: "Repositories",
  summary: "Flaky tests of a repository",
  description:
    "Tests that both passed and failed on the same code, and failed so in the last 14 days. " +
    "Quarantined ones are listed too.",
  parameters: {
    path: repositoryPathParameters,
    query: v.object({
      limit: limitParameter(DEFAULT_LIMIT),
      after: offsetCursorParameter,
      sort: sortParameter,
      q: searchParameter,
    }),
  },
  response: {
    status: 200,
    description: "A page of tests",
    mediaType: JSON_MEDIA_TYPE,
    schema: v.pipe(
      v.strictObject({
        count: countSchema("Tests that match, on all pages"),
        tests: v.array(disruptiveTestSchema),
        metadata: metadataSchema,
      }),
      v.title("DisruptiveTestPage"),
    ),
    example: DISRUPTIVE_TESTS_EXAMPLE,
  },
  resource: { in: "path", select: selectRepository },
  handler(request) {
    const page = request.query;
    return use(
      request.loadTests(),
      (tests) => answerTestPage(tests, { page, isListed: isDisruptive, view: disruptiveTestView }),
    );
  },
});

function isDisruptive({ disruptionCount }: TrackedTest): boolean {
  return disruptionCount > 0;
}

function disruptiveTestView(test: TrackedTest) {
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
