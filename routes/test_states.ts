/** The tests of a repository by their state on the base branch. */
import * as v from "valibot";
import { loadTestStates, type TestInState } from "../db/read/test_states.ts";
import { quote } from "../lib/base/quote.ts";
import { BAD_STATES, TEST_STATES, type TestState } from "../lib/evidence/states.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import { defineJsonRoute } from "../lib/http/request/route.ts";
import * as views from "./response_parts.ts";
import * as schemas from "./schemas.ts";
import { changeSchema, failingRunsSchema, sinceView } from "./test_evidence.ts";

const state = parameters.parsed(
  (text): readonly TestState[] => {
    const words = text.split(",").map((word) => word.trim()).filter((word) => word !== "");
    const wrong = words.find((word) => !TEST_STATES.some((one) => one === word));
    if (wrong !== undefined) {
      throw new RangeError(
        `invalid state ${quote(wrong)}: expected some of ${TEST_STATES.join(", ")}`,
      );
    }
    return words.length === 0 ? BAD_STATES : words as TestState[];
  },
  `Comma-separated states: ${TEST_STATES.join(", ")}`,
  { jsonSchema: { type: "string", default: BAD_STATES.join(",") }, example: "broken" },
);

const withoutReruns = parameters.choice(
  "without_reruns",
  ["false", "true"],
  "true: without flaky tests that are disruptive in the last 14 days",
);

const testSchema = schemas.object("TestInState", {
  ...schemas.test,
  state: schemas.described(v.picklist(TEST_STATES), "As in the evidence for the test"),
  rate: schemas.nullable(schemas.share, "Failures / runs of the last segment"),
  failing_runs: failingRunsSchema,
  since: schemas.nullable(changeSchema, "Where the last segment began, with 99 %"),
});

export const testStates = defineJsonRoute({
  path: "/api/repos/:owner/:name/states",
  operationId: "listTestStates",
  tag: "Repositories",
  summary: "Tests that are broken, flaky, healthy or new",
  description:
    "The state of each test on the base branch, broken ones first. It needs no test to run twice on the same " +
    "code: a test that fails now and then is flaky by its history. Such tests are not disruptive, and count " +
    "neither in badges nor in the inventory or the policy of quarantine. Of a base branch that has not run for 30 " +
    "days, no test is listed as broken, or as flaky by its history.",
  query: {
    state,
    without_reruns: withoutReruns,
    limit: parameters.limit(25),
    after: parameters.offsetCursor,
  },
  list: { field: "tests", batch: 10_000_000 },
  schema: schemas.page("TestStatePage", "Tests, on all pages", { tests: v.array(testSchema) }),
  exampleQuery: { limit: "2" },
  resource: "repository in path",
  dependsOn: "day",
  async handler({ load, query }) {
    const { state: states, without_reruns, limit, after: offset } = query;
    const isListed = without_reruns === "false" ? () => true : isInNoOtherList;
    const { count, tests } = await load(loadTestStates, { states, isListed, limit, offset });
    return {
      count,
      tests: tests.map(testInStateView),
      metadata: views.offsetMetadata(query, count),
    };
  },
});

/** Whether no list of disruptive tests says what is wrong with a test: it is broken, or only its history shows it. */
export function isInNoOtherList(
  { state, isDisruptive }: Pick<TestInState, "state" | "isDisruptive">,
): boolean {
  return state === "broken" || !isDisruptive;
}

/** A test with its state, as the API shows it. */
export function testInStateView(test: TestInState) {
  const { state, rate, failingRuns, since } = test;
  return {
    ...views.test(test),
    state,
    rate,
    failing_runs: failingRuns,
    since: sinceView(since()),
  };
}
