import * as v from "valibot";
import { loadSubmissionTests } from "../db/read/submission_tests.ts";
import { recordedAtOf } from "../lib/base/identity.ts";
import { formatTimestamp } from "../lib/base/time.ts";
import {
  attemptStatusParameter,
  limitParameter,
  offsetCursorParameter,
  submissionPathParameters,
} from "../lib/http/request/parameters.ts";
import { defineJsonRoute, selectedSubmission } from "../lib/http/request/route.ts";
import { checkVersion } from "../lib/http/request/stale_version.ts";
import examples from "./examples.json" with { type: "json" };
import {
  attemptEntries,
  attemptView,
  baseEntries,
  baseView,
  objectIdSchema,
  offsetMetadata,
  pageSchema,
  timestampSchema,
} from "./schemas.ts";

const DEFAULT_LIMIT = 25;

const submissionTestSchema = v.pipe(
  v.strictObject({
    ...baseEntries,
    id: v.pipe(objectIdSchema, v.description("Id of the attempt; of its event for a disruption")),
    test_case_id: v.pipe(objectIdSchema, v.description("Id of the test")),
    ...attemptEntries,
    ran_at: v.pipe(timestampSchema, v.description("recorded_at of the submission")),
  }),
  v.title("SubmissionTest"),
);

export const submissionTests = defineJsonRoute({
  path: "/api/repos/:owner/:name/submissions/:id/tests",
  operationId: "listSubmissionTests",
  tag: "Repositories",
  summary: "Test results of a submission",
  description:
    "Every attempt of every test in one CI run: failures and errors first, then by suite, class, " +
    "name, file and attempt. A submission older than 14 days is found as long as it is stored.",
  parameters: {
    path: submissionPathParameters,
    query: v.object({
      status: attemptStatusParameter("status"),
      limit: limitParameter(DEFAULT_LIMIT),
      after: offsetCursorParameter,
    }),
  },
  response: {
    description: "A page of attempts",
    schema: pageSchema("SubmissionTestPage", "Attempts with the status, on all pages", {
      tests: v.array(submissionTestSchema),
    }),
    example: examples.submissionTests,
    exampleQuery: { status: "failed" },
  },
  resource: "submission in path",
  async handler(request, { sql }) {
    const submission = selectedSubmission(request);
    const { repositoryId, submissionId } = submission;
    const page = await loadSubmissionTests(sql, { repositoryId, submissionId, ...request.query });
    checkVersion(submission, page.version);
    const ranAt = formatTimestamp(recordedAtOf(submissionId));
    return {
      count: page.count,
      tests: page.attempts.map((attempt) => ({
        ...baseView(attempt),
        test_case_id: attempt.testId,
        ...attemptView(attempt),
        ran_at: ranAt,
      })),
      metadata: offsetMetadata(request.query, page.count),
    };
  },
});
