import * as v from "valibot";
import { json } from "../api_client.ts";
import {
  afterArgument,
  body,
  defineTool,
  idArgument,
  integer,
  limitArgument,
  nameArgument,
  nextCursor,
  ownerArgument,
  pageMetadata,
  testEntries,
  toolInput,
} from "./tool.ts";

const STATUSES = ["failed", "failure", "error", "skipped", "passed", "unknown", "all"] as const;

const input = toolInput({
  owner: ownerArgument,
  name: nameArgument,
  submission_id: idArgument("submission", "the id of a submission from list_recent_submissions"),
  status: v.optional(
    v.pipe(v.picklist(STATUSES), v.description("failed: failure or error")),
    "failed",
  ),
  limit: limitArgument(10),
  after: afterArgument,
});

const attempt = v.object({
  test_case_id: v.pipe(v.string(), v.description("test_id of get_test_details")),
  ...testEntries,
  conclusion: v.string(),
  duration_us: integer("Microseconds"),
  message: v.nullable(v.string()),
  body: v.nullable(body),
  run_count: integer("1: first attempt; 2 and more: retries"),
  is_disruption: v.pipe(v.boolean(), v.description("The test also passed on the same code")),
});

const page = json(v.object({
  count: v.number(),
  tests: v.array(attempt),
  metadata: pageMetadata,
}));

/** `get_submission_test_results`. */
export const getSubmissionTestResults = defineTool({
  name: "get_submission_test_results",
  title: "Get the test results of a CI run",
  description:
    "What failed in one CI run, with messages and stack traces, one item per attempt; other " +
    "results with status. The more items, the shorter their traces. Next: get_test_details with a " +
    "test_case_id: is it flaky, and where did it pass?",
  input,
  output: v.object({
    submission_id: v.string(),
    count: integer("All with this status, not only this page"),
    tests: v.array(attempt),
    next_cursor: nextCursor,
  }),
  async run({ owner, name, submission_id, status, limit, after }, get) {
    const { count, tests, metadata } = await get({
      path: ["api", "repos", owner, name, "submissions", submission_id, "tests"],
      query: { status, limit, after },
      notFound:
        `No submission "${submission_id}" is known in ${JSON.stringify(`${owner}/${name}`)}. ` +
        `Ids come from list_recent_submissions (field id): call it first, with the same owner and name.`,
    }, page);
    return { submission_id, count, tests, next_cursor: metadata.after };
  },
});
