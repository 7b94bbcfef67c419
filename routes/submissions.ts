/** The routes about submissions: the list of a repository, and the test results of one. */
import * as v from "valibot";
import { loadBuildOutcome } from "../db/read/build_outcome.ts";
import { loadConclusionsOfTests } from "../db/read/conclusions.ts";
import { loadSubmissionTests } from "../db/read/submission_tests.ts";
import { loadSubmissionsPage, type SubmissionRow } from "../db/read/submissions.ts";
import { encodeKeysetCursor } from "../lib/base/cursor.ts";
import { jsonRecord } from "../lib/base/json_record.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import { defineJsonRoute } from "../lib/http/request/route.ts";
import * as schemas from "./schemas.ts";
import * as views from "./response_parts.ts";

const submissionSchema = schemas.object("Submission", {
  id: schemas.described(schemas.objectId, "Its first 8 digits are the seconds of recorded_at"),
  key: schemas.text("Object-storage key of the uploaded archive; never changes"),
  build_url: schemas.buildUrl,
  commit_oid: schemas.commit,
  tree_oid: schemas.text('Tree of the commit, "" when it is not known'),
  branch: schemas.branch,
  environment: schemas.environment,
  job: schemas.job,
  shard: schemas.text('Shard of the job as the CI service names it, "" when it is not known'),
  attempt: schemas.text('Attempt of the job in its build, "" when it is not known'),
  runner: schemas.text('Machine that ran the tests, "" when it is not known'),
  pull_number: schemas.described(
    v.nullable(v.number()),
    "Number of the pull request, null when there is none or it is not known",
  ),
  pull_title: schemas.text('Title of the pull request, "" when it is not known'),
  author: schemas.text('Name of the author of the commit, "" when it is not known'),
  recorded_at: schemas.timestamp,
  status: schemas.described(
    v.picklist(["processing", "processed", "failed"]),
    "processing until its results are counted, then processed or failed",
  ),
  test_result_count: schemas.count("Results: every attempt of every test, skipped ones included"),
  ran_test_count: schemas.described(
    v.nullable(schemas.count("Tests")),
    "Tests that passed or failed at least once, null when it is not known",
  ),
  skipped_test_count: schemas.described(
    v.nullable(schemas.count("Tests")),
    "Tests that were only skipped, null when it is not known",
  ),
  exit_code: schemas.nullable(
    schemas.count("0 to 255"),
    "How the command that ran the tests ended, where the client says so",
  ),
  failed_without_test: schemas.described(
    v.boolean(),
    "Whether that command failed, although no test did: its log says why",
  ),
  notes: schemas.described(
    v.array(v.string()),
    "What was repaired, ignored or left out of the upload, such as a report that was cut off",
  ),
});

export const submissions = defineJsonRoute({
  path: "/api/repos/:owner/:name/submissions",
  operationId: "listSubmissions",
  tag: "Repositories",
  summary: "Submissions of a repository",
  description:
    "CI runs that uploaded test results in the last 14 days, newest first. A shard that uploads " +
    "separately is a submission of its own.",
  query: {
    limit: parameters.limit(10),
    after: parameters.keysetCursor,
    ...parameters.submissionFilter,
  },
  list: { field: "submissions" },
  schema: schemas.page("SubmissionPage", "Submissions of the last 14 days, on all pages", {
    submissions: v.array(submissionSchema),
  }),
  exampleQuery: { limit: "2" },
  resource: "repository in path",
  async handler({ load, query: { limit, after, ...query } }) {
    const { count, submissions } = await load(loadSubmissionsPage, {
      filter: parameters.filterOf(query),
      after,
      limit: limit + 1,
    });
    const { shown, metadata } = views.keysetPage(
      submissions,
      limit,
      ({ submissionId }) => encodeKeysetCursor(submissionId),
    );
    return {
      count,
      submissions: shown.map(submissionJson),
      metadata,
    };
  },
});

function submissionJson({ submissionId: id, workflow: _, hasGaps: __, ...row }: SubmissionRow) {
  return { id, ...jsonRecord(row) };
}

const testIds = v.array(schemas.described(schemas.objectId, "Id of a test"));

export const buildOfSubmission = defineJsonRoute({
  path: "/api/repos/:owner/:name/submissions/:id/build",
  operationId: "getBuild",
  tag: "Repositories",
  summary: "What a build ended with",
  description:
    "The build of a submission: those that share its build_url and its commit, or its build_url within a day; " +
    "without a build_url that one alone. A later attempt of a job at the same code, environment and shard replaces " +
    "what an earlier one ended with; of uploads of one attempt, such as unnamed legs of a matrix, each failure stands.",
  query: {},
  schema: schemas.object("BuildOutcome", {
    submissions: schemas.described(v.array(submissionSchema), "Its submissions, newest first"),
    failed_test_ids: schemas.described(testIds, "Tests that failed at last"),
    failed_in: schemas.described(
      v.array(schemas.described(schemas.objectId, "Id of a submission")),
      "Of each of them the submission in which it failed; of several the one whose failure is most probably due to " +
        "the change",
    ),
    retried_test_ids: schemas.described(testIds, "Tests that failed, and not at last"),
    failed_without_test: schemas.described(
      v.boolean(),
      "Whether a command that ran its tests failed at last, although no test did",
    ),
    whole: schemas.described(
      v.nullable(v.boolean()),
      "Whether all jobs and their tests ran that usually run on the base branch, no shard is missing, their " +
        "reports hide nothing and no test has an unknown outcome; null: not known",
    ),
    not_whole: schemas.described(
      v.array(v.string()),
      "What says that it is not whole, such as: 212 of about 482 tests ran (unit), or: 1 of 3 shards has no upload: " +
        "3/3 (unit), or: 1 job without an upload: e2e",
    ),
  }),
  resource: "submission in path",
  async handler({ load }) {
    const { parts, failed, retried, red, whole, notWhole } = await load(loadBuildOutcome, {});
    return {
      submissions: parts.map(({ failedTestCount: _, isOutage: __, gaps: ___, ...row }) =>
        submissionJson(row)
      ),
      failed_test_ids: failed.map(({ testId }) => testId),
      failed_in: failed.map(({ submissionId }) => submissionId),
      retried_test_ids: retried.map(({ testId }) => testId),
      failed_without_test: red.length > 0,
      whole,
      not_whole: notWhole,
    };
  },
});

const submissionTestSchema = schemas.object("SubmissionTest", {
  ...schemas.test,
  id: schemas.described(schemas.objectId, "Id of the attempt; of its event for a disruption"),
  test_case_id: schemas.described(schemas.objectId, "Id of the test"),
  ...schemas.attempt,
  causes: schemas.described(
    v.array(schemas.fingerprint),
    "Fingerprints of its causes, that of its message first; empty for other conclusions",
  ),
  ...schemas.conclusionOfAttempt,
  ran_at: schemas.described(schemas.timestamp, "recorded_at of the submission"),
});

/** A batch of failures with texts of 16 kB takes 8 MB. */
const BATCH_OF_ATTEMPTS = 500;

export const submissionTests = defineJsonRoute({
  path: "/api/repos/:owner/:name/submissions/:id/tests",
  operationId: "listSubmissionTests",
  tag: "Repositories",
  summary: "Test results of a submission",
  description:
    "Every attempt of every test in one CI run: failures and errors first, then by suite, class, " +
    "name, file and attempt. A submission older than 14 days is found as long as it is stored.",
  query: {
    status: parameters.attemptStatus("status"),
    limit: parameters.limit(25),
    after: parameters.offsetCursor,
  },
  list: { field: "tests", batch: BATCH_OF_ATTEMPTS },
  schema: schemas.page("SubmissionTestPage", "Attempts with the status, on all pages", {
    tests: v.array(submissionTestSchema),
  }),
  exampleQuery: { status: "failed" },
  resource: "submission in path",
  async handler({ load, query, repositories: [submission] }) {
    const { count, attempts } = await load(loadSubmissionTests, query);
    const submissionId = submission!.submissionId!;
    const ranAt = views.recordedAt(submissionId);
    const testNos = attempts.filter(({ failure }) => failure).map(({ testNo }) => testNo);
    const concluded = await load(loadConclusionsOfTests, { submissionId, testNos });
    return {
      count,
      tests: attempts.map((attempt) => ({
        ...views.test(attempt),
        test_case_id: attempt.testId,
        ...views.attempt(attempt),
        causes: attempt.causes,
        ...views.conclusionOfAttempt(
          attempt.failure ? concluded.get(attempt.testNo) : undefined,
        ),
        ran_at: ranAt,
      })),
      metadata: views.offsetMetadata(query, count),
    };
  },
});
