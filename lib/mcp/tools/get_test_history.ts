import * as v from "valibot";
import {
  defineTool,
  described,
  integer,
  testIdArgument,
  timestamp,
  toolInput,
  unknownTest,
} from "./tool.ts";

const events = v.array(v.object({
  id: v.string(),
  build_url: v.string(),
  commit_oid: v.string(),
  conclusion: described(v.string(), "failure (assertion) or error (crash)"),
  recorded_at: timestamp,
  message: v.string(),
}));

export const getTestHistory = defineTool({
  name: "get_test_history",
  title: "Get the history of a flaky test",
  description:
    "The latest disruptions of one test, newest first, at most 10 of the last 14 days: build, " +
    "commit, message. Use it after find_flaky_tests, to see how a test fails (the same message " +
    "each time?) and since when. Next: get_test_details for stack traces and passes.",
  input: toolInput({ test_id: testIdArgument }),
  output: v.object({ test_id: v.string(), count: integer("Events returned"), events }),
  async run({ test_id }, get) {
    const path = ["api", "tests", test_id, "results"];
    const history = v.object({ results: events });
    const { results } = await get({ path, notFound: unknownTest(test_id) }, history);
    return { test_id, count: results.length, events: results };
  },
});
