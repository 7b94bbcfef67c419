import * as v from "valibot";
import { ATTEMPT_STATUSES } from "../../analysis/attempts.ts";
import {
  body,
  defineTool,
  described,
  idArgument,
  integer,
  nextCursor,
  page,
  pageArguments,
  repositoryArguments,
  testEntries,
  timestamp,
  toolInput,
  unknownRepository,
} from "./tool.ts";

const submissions = v.array(v.object({
  id: v.string(),
  key: v.string(),
  build_url: v.string(),
  commit_oid: v.string(),
  branch: v.string(),
  recorded_at: timestamp,
  status: described(v.string(), "processed, processing (results to come) or failed"),
  test_result_count: integer("Retries and skips count"),
}));

export const listRecentSubmissions = defineTool({
  name: "list_recent_submissions",
  title: "List recent CI runs",
  description:
    "CI runs of a repository that uploaded test results in the last 14 days, newest first. Use it " +
    "to see whether results arrive, and for which commits and builds. Next: " +
    "get_submission_test_results with an id for what failed there, or get_recent_failures.",
  input: toolInput({ ...repositoryArguments, ...pageArguments(10) }),
  output: v.object({
    owner: v.string(),
    name: v.string(),
    count: integer("All of the last 14 days"),
    submissions,
    next_cursor: nextCursor,
  }),
  async run({ owner, name, limit, after }, get) {
    const { metadata, ...found } = await get({
      path: ["api", "repos", owner, name, "submissions"],
      query: { limit, after },
      notFound: unknownRepository(`${owner}/${name}`),
    }, page({ submissions }));
    return { owner, name, ...found, next_cursor: metadata.after };
  },
});

const attempts = v.array(v.object({
  test_case_id: described(v.string(), "test_id of get_test_details"),
  ...testEntries,
  conclusion: v.string(),
  duration_us: integer("Microseconds"),
  message: v.nullable(v.string()),
  body: v.nullable(body),
  run_count: integer("1: first attempt; 2 and more: retries"),
  is_disruption: described(v.boolean(), "The test also passed on the same code"),
}));

export const getSubmissionTestResults = defineTool({
  name: "get_submission_test_results",
  title: "Get the test results of a CI run",
  description:
    "What failed in one CI run, with messages and stack traces, one item per attempt; other " +
    "results with status. The more items, the shorter their traces. Next: get_test_details with a " +
    "test_case_id: is it flaky, and where did it pass?",
  input: toolInput({
    ...repositoryArguments,
    submission_id: idArgument("submission", "the id of a submission from list_recent_submissions"),
    status: v.optional(
      described(v.picklist(ATTEMPT_STATUSES), "failed: failure or error"),
      "failed",
    ),
    ...pageArguments(10),
  }),
  output: v.object({
    submission_id: v.string(),
    count: integer("All with this status, not only this page"),
    tests: attempts,
    next_cursor: nextCursor,
  }),
  async run({ owner, name, submission_id, ...query }, get) {
    const { metadata, ...found } = await get({
      path: ["api", "repos", owner, name, "submissions", submission_id, "tests"],
      query,
      notFound:
        `No submission "${submission_id}" is known in ${JSON.stringify(`${owner}/${name}`)}. ` +
        `Ids come from list_recent_submissions (field id): call it first, with the same owner and name.`,
    }, page({ tests: attempts }));
    return { submission_id, ...found, next_cursor: metadata.after };
  },
});
