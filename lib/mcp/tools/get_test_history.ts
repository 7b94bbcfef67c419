import * as v from "valibot";
import { json } from "../api_client.ts";
import { defineTool, integer, testIdArgument, timestamp, toolInput, unknownTest } from "./tool.ts";

const input = toolInput({ test_id: testIdArgument });

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
    "each time?) and since when. Next: get_test_details for stack traces and passes.",
  input,
  output,
  async run({ test_id }, get) {
    const { results } = await get({
      path: ["api", "tests", test_id, "results"],
      notFound: unknownTest(test_id),
    }, history);
    return { test_id, count: results.length, events: results };
  },
});
