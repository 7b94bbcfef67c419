import * as v from "valibot";
import { json } from "../api_client.ts";
import { defineTool, integer, timestamp, toolInput } from "./tool.ts";

const input = toolInput({
  test_id: v.pipe(
    v.string(),
    v.regex(
      /^[0-9a-fA-F]{24}$/,
      ({ received }) =>
        `invalid test id ${received}: expected 24 hex digits, the id of a test in the output of ` +
        `find_flaky_tests`,
    ),
    v.description("id from find_flaky_tests"),
  ),
});

const event = v.object({
  id: v.string(),
  build_url: v.string(),
  commit_oid: v.string(),
  conclusion: v.pipe(v.string(), v.description("failure (assertion) or error (crash)")),
  recorded_at: timestamp,
  message: v.string(),
});

const output = v.object({
  test_id: v.string(),
  count: integer("Events returned"),
  events: v.array(event),
});

const history = json(v.object({ results: v.array(event) }));

/** `get_test_history`. */
export const getTestHistory = defineTool({
  name: "get_test_history",
  title: "Get the history of a flaky test",
  description:
    "The latest disruptions of one test, newest first, at most 10 of the last 14 days: build, " +
    "commit, message. Use it after find_flaky_tests, to see how a test fails (the same message " +
    "each time?) and since when. Then read the test's file and the builds.",
  input,
  output,
  async run({ test_id }, get) {
    const { results } = await get({
      path: ["api", "tests", test_id, "results"],
      notFound: `No test "${test_id}" is known to the organization of this token. Test ids come ` +
        `from find_flaky_tests (field id of each test): call it first, and copy the whole id.`,
    }, history);
    return { test_id, count: results.length, events: results };
  },
});
