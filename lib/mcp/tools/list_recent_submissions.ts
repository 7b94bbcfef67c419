import * as v from "valibot";
import {
  afterArgument,
  defineTool,
  integer,
  limitArgument,
  listFacts,
  listText,
  nextCursor,
  pageMetadata,
  repositoryArgument,
  timestamp,
  toolInput,
  unknownRepository,
} from "./tool.ts";

const input = toolInput({
  owner: repositoryArgument("Before the last slash of owner/name; may contain slashes"),
  name: repositoryArgument("Repository without its owner"),
  limit: limitArgument(10),
  after: afterArgument,
});

const submission = v.object({
  key: v.string(),
  build_url: v.string(),
  commit_oid: v.string(),
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

const page = v.object({
  count: v.number(),
  submissions: v.array(submission),
  metadata: pageMetadata,
});

/** `list_recent_submissions`. */
export const listRecentSubmissions = defineTool({
  name: "list_recent_submissions",
  title: "List recent CI runs",
  description:
    "CI runs of a repository that uploaded test results in the last 14 days, newest first. Use it " +
    "to see whether results arrive and of which commits and builds; it does not tell which tests " +
    "failed. Next: find_flaky_tests, whose latest disruptions name the same builds.",
  input,
  output,
  async run({ owner, name, limit, after }, { api, signal }) {
    const { count, submissions, metadata } = await api.getJson({
      path: ["api", "repos", owner, name, "submissions"],
      query: { limit, after },
      notFound: unknownRepository(`${owner}/${name}`),
      signal,
    }, page);
    return { owner, name, count, submissions, next_cursor: metadata.after };
  },
  text({ owner, name, count, submissions, next_cursor }) {
    if (count === 0) return `${owner}/${name} uploaded no test results in the last 14 days.`;
    const items = submissions.map((submission) =>
      listFacts([
        submission.recorded_at,
        submission.status,
        `${submission.test_result_count} results`,
        `commit ${submission.commit_oid}`,
        submission.build_url,
        `key ${submission.key}`,
      ])
    );
    const head =
      `${items.length} of ${count} CI runs of ${owner}/${name} in the last 14 days, newest first.`;
    return listText(head, items, next_cursor);
  },
});
