import * as v from "valibot";
import { loadTestRuns } from "../db/read/test_runs.ts";
import { encodeRunCursor } from "../lib/base/cursor.ts";
import { recordedAtOf } from "../lib/base/identity.ts";
import { formatTimestamp } from "../lib/base/time.ts";
import {
  attemptStatusParameter,
  branchParameter,
  limitParameter,
  runCursorParameter,
  testPathParameters,
} from "../lib/http/request/parameters.ts";
import { defineJsonRoute, selectedTest } from "../lib/http/request/route.ts";
import { checkVersion } from "../lib/http/request/stale_version.ts";
import examples from "./examples.json" with { type: "json" };
import {
  attemptEntries,
  attemptView,
  keysetPage,
  metadataSchema,
  objectIdSchema,
  textSchema,
  timestampSchema,
} from "./schemas.ts";

const DEFAULT_LIMIT = 25;

const runSchema = v.pipe(
  v.strictObject({
    submission_id: v.pipe(objectIdSchema, v.description("Id of the submission")),
    recorded_at: timestampSchema,
    build_url: textSchema('URL of the CI run, "" when it is not known'),
    commit_oid: textSchema("Commit that was tested"),
    tree_oid: textSchema('Tree that was tested, "" when it is not known'),
    branch: textSchema('Branch that was tested, "" when it is not known'),
    ...attemptEntries,
  }),
  v.title("TestRun"),
);

export const testRuns = defineJsonRoute({
  path: "/api/tests/:id/runs",
  operationId: "listTestRuns",
  tag: "Tests",
  summary: "Runs of one test",
  description:
    "Every attempt of the test in the last 14 days, newest first, passes included. Of one " +
    "submission the latest attempt comes first.",
  parameters: {
    path: testPathParameters,
    query: v.object({
      conclusion: attemptStatusParameter("conclusion"),
      branch: branchParameter,
      limit: limitParameter(DEFAULT_LIMIT),
      after: runCursorParameter,
    }),
  },
  response: {
    description: "A page of attempts",
    schema: v.pipe(
      v.strictObject({ runs: v.array(runSchema), metadata: metadataSchema }),
      v.title("TestRunPage"),
    ),
    example: examples.testRuns,
    exampleQuery: { limit: "2" },
  },
  resource: "test in path",
  async handler(request, { sql }) {
    const test = selectedTest(request);
    const { conclusion, branch, limit, after } = request.query;
    const { version, runs } = await loadTestRuns(sql, {
      ...test,
      windowStart: request.windowStart,
      branches: branch,
      status: conclusion,
      after,
      limit: limit + 1,
    });
    checkVersion(test, version);
    const { shown, metadata } = keysetPage(runs, limit, encodeRunCursor);
    return {
      runs: shown.map((run) => ({
        submission_id: run.submissionId,
        recorded_at: formatTimestamp(recordedAtOf(run.submissionId)),
        build_url: run.buildUrl,
        commit_oid: run.commitOid,
        tree_oid: run.treeOid ?? "",
        branch: run.branch ?? "",
        ...attemptView(run),
      })),
      metadata,
    };
  },
});
