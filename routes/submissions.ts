import * as v from "valibot";
import { loadSubmissionsPage, type SubmissionRow } from "../db/read/submissions.ts";
import { encodeKeysetCursor } from "../lib/base/cursor.ts";
import { checkVersion } from "../lib/http/request/stale_version.ts";
import {
  branchParameter,
  keysetCursorParameter,
  limitParameter,
  repositoryPathParameters,
} from "../lib/http/request/parameters.ts";
import { defineJsonRoute, selectedRepository } from "../lib/http/request/route.ts";
import { formatTimestamp } from "../lib/base/time.ts";
import examples from "./examples.json" with { type: "json" };
import {
  countSchema,
  keysetPage,
  objectIdSchema,
  pageSchema,
  textSchema,
  timestampSchema,
} from "./schemas.ts";

const DEFAULT_LIMIT = 10;

const submissionSchema = v.pipe(
  v.strictObject({
    id: v.pipe(objectIdSchema, v.description("Its first 8 digits are the seconds of recorded_at")),
    key: textSchema("Object-storage key of the uploaded archive; never changes"),
    build_url: textSchema('URL of the CI run, "" when it is not known'),
    commit_oid: textSchema("Commit that was tested"),
    tree_oid: textSchema('Tree of the commit, "" when it is not known'),
    branch: textSchema('Branch that was tested, "" when it is not known'),
    recorded_at: timestampSchema,
    status: v.pipe(
      v.picklist(["processing", "processed", "failed"]),
      v.description("processing until its results are counted, then processed or failed"),
    ),
    test_result_count: countSchema("Results: every attempt of every test, skipped ones included"),
  }),
  v.title("Submission"),
);

/** `GET /api/repos/{owner}/{name}/submissions`: the CI runs of the window, newest first. */
export const submissions = defineJsonRoute({
  path: "/api/repos/:owner/:name/submissions",
  operationId: "listSubmissions",
  tag: "Repositories",
  summary: "Submissions of a repository",
  description:
    "CI runs that uploaded test results in the last 14 days, newest first. A shard that uploads " +
    "separately is a submission of its own.",
  parameters: {
    path: repositoryPathParameters,
    query: v.object({
      limit: limitParameter(DEFAULT_LIMIT),
      after: keysetCursorParameter,
      branch: branchParameter,
    }),
  },
  response: {
    description: "A page of submissions",
    schema: pageSchema("SubmissionPage", "Submissions of the last 14 days, on all pages", {
      submissions: v.array(submissionSchema),
    }),
    example: examples.submissions,
    exampleQuery: { limit: "2" },
  },
  resource: "repository in path",
  async handler(request, { sql }) {
    const { limit, after, branch } = request.query;
    const repository = selectedRepository(request);
    const { version, count, submissions } = await loadSubmissionsPage(sql, {
      repositoryId: repository.repositoryId,
      windowStart: request.windowStart,
      branches: branch,
      after,
      limit: limit + 1,
    });
    checkVersion(repository, version);
    const { shown, metadata } = keysetPage(
      submissions,
      limit,
      ({ submissionId }) => encodeKeysetCursor(submissionId),
    );
    return { count, submissions: shown.map(submissionView), metadata };
  },
});

function submissionView(submission: SubmissionRow) {
  return {
    id: submission.submissionId,
    key: submission.key,
    build_url: submission.buildUrl,
    commit_oid: submission.commitOid,
    tree_oid: submission.treeOid,
    branch: submission.branch,
    recorded_at: formatTimestamp(submission.recordedAt),
    status: submission.status,
    test_result_count: submission.testResultCount,
  };
}
