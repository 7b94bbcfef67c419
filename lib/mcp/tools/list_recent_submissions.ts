import * as v from "valibot";
import { json } from "../api_client.ts";
import {
  afterArgument,
  defineTool,
  integer,
  limitArgument,
  nameArgument,
  nextCursor,
  ownerArgument,
  pageMetadata,
  timestamp,
  toolInput,
  unknownRepository,
} from "./tool.ts";

const input = toolInput({
  owner: ownerArgument,
  name: nameArgument,
  limit: limitArgument(10),
  after: afterArgument,
});

const submission = v.object({
  id: v.string(),
  key: v.string(),
  build_url: v.string(),
  commit_oid: v.string(),
  branch: v.string(),
  recorded_at: timestamp,
  status: v.pipe(v.string(), v.description("processed, processing (results to come) or failed")),
  test_result_count: integer("Retries and skips count"),
});

const output = v.object({
  owner: v.string(),
  name: v.string(),
  count: integer("All of the last 14 days"),
  submissions: v.array(submission),
  next_cursor: nextCursor,
});

const page = json(v.object({
  count: v.number(),
  submissions: v.array(submission),
  metadata: pageMetadata,
}));

/** `list_recent_submissions`. */
export const listRecentSubmissions = defineTool({
  name: "list_recent_submissions",
  title: "List recent CI runs",
  description:
    "CI runs of a repository that uploaded test results in the last 14 days, newest first. Use it " +
    "to see whether results arrive and of which commits and builds. Next: " +
    "get_submission_test_results with an id for what failed there, or get_recent_failures.",
  input,
  output,
  async run({ owner, name, limit, after }, get) {
    const { count, submissions, metadata } = await get({
      path: ["api", "repos", owner, name, "submissions"],
      query: { limit, after },
      notFound: unknownRepository(`${owner}/${name}`),
    }, page);
    return { owner, name, count, submissions, next_cursor: metadata.after };
  },
});
