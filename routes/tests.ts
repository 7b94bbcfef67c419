// Tests: tests/routes/contract_test.ts
/** The routes about one test: its fields, its latest disruptions, and its runs. */
import * as v from "valibot";
import { loadDisruptionEvents } from "../db/read/disruption_events.ts";
import { loadRepositoryDetails } from "../db/read/repositories.ts";
import { loadTestDetails } from "../db/read/details_of_test.ts";
import { loadTestRuns } from "../db/read/runs_of_test.ts";
import { encodeRunCursor } from "../lib/base/cursor.ts";
import { eventId } from "../lib/base/identity.ts";
import { formatRepositoryName } from "../lib/base/repository_name.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import { defineJsonRoute } from "../lib/http/request/route.ts";
import * as schemas from "./schemas.ts";
import { includedSchemas, testView } from "./test_fields.ts";
import * as views from "./response_parts.ts";

export const testDetails = defineJsonRoute({
  path: "/api/tests/:id",
  operationId: "getTest",
  tag: "Tests",
  summary: "One test",
  description:
    "A test with its repository and every field that `include` adds in the inventory. A test without " +
    "any disruption is known here, too.",
  schema: schemas.object("TestDetails", {
    ...schemas.test,
    ...includedSchemas,
    repository: schemas.text("Repository as owner/name"),
    repository_id: schemas.count("Numeric identifier of the repository"),
    is_quarantined: schemas.described(v.boolean(), "Whether it is quarantined now"),
  }),
  resource: "test in path",
  async handler({ load, loadTests, repositories: [selected] }) {
    const [details, [repository], { runs }] = await Promise.all([
      load(loadTestDetails, {}),
      load(loadRepositoryDetails, {}),
      loadTests({ withTime: true }),
    ]);
    // One repository always has runs.
    const test = { ...details, ...runs!.of(selected!.testNo!) };
    return {
      ...testView(test),
      repository: formatRepositoryName(repository!),
      repository_id: repository!.repositoryNumber,
      is_quarantined: test.quarantine !== null,
    };
  },
});

const MAX_EVENTS = 10;

const eventSchema = schemas.object("DisruptionEvent", {
  id: schemas.objectId,
  build_url: schemas.buildUrl,
  commit_oid: schemas.commit,
  conclusion: schemas.described(
    v.picklist(["failure", "error"]),
    "failure: an assertion failed; error: anything else went wrong",
  ),
  recorded_at: schemas.timestamp,
  message: schemas.text("First line of the failure"),
});

export const testResults = defineJsonRoute({
  path: "/api/tests/:id/results",
  operationId: "listTestResults",
  tag: "Tests",
  summary: "Disruption events of one test",
  description:
    `The ${MAX_EVENTS} latest failures of the last 14 days at code versions where the test also ` +
    "passed, newest first.",
  list: { field: "results" },
  schema: schemas.object("DisruptionEvents", { results: v.array(eventSchema) }),
  resource: "test in path",
  async handler({ load }) {
    const events = await load(loadDisruptionEvents, { limit: MAX_EVENTS });
    return {
      results: events.map((event) => ({
        id: eventId(event.submissionId, event.resultNo),
        build_url: event.buildUrl,
        commit_oid: event.commitOid,
        conclusion: event.conclusion,
        recorded_at: views.recordedAt(event.submissionId),
        message: event.message,
      })),
    };
  },
});

const runSchema = schemas.object("TestRun", {
  submission_id: schemas.described(schemas.objectId, "Id of the submission"),
  recorded_at: schemas.timestamp,
  build_url: schemas.buildUrl,
  commit_oid: schemas.commit,
  tree_oid: schemas.text('Tree that was tested, "" when it is not known'),
  branch: schemas.branch,
  environment: schemas.environment,
  ...schemas.attempt,
});

export const testRuns = defineJsonRoute({
  path: "/api/tests/:id/runs",
  operationId: "listTestRuns",
  tag: "Tests",
  summary: "Runs of one test",
  description:
    "Every attempt of the test in the last 14 days, newest first, passes included. Of one " +
    "submission the latest attempt comes first.",
  query: {
    conclusion: parameters.attemptStatus("conclusion"),
    ...parameters.submissionFilter,
    limit: parameters.limit(25),
    after: parameters.runCursor,
  },
  list: { field: "runs", batch: 500 },
  schema: schemas.object("TestRunPage", { runs: v.array(runSchema), metadata: schemas.metadata }),
  exampleQuery: { limit: "2" },
  resource: "test in path",
  async handler({ load, query: { conclusion, limit, after, ...query } }) {
    const runs = await load(loadTestRuns, {
      filter: parameters.filterOf(query),
      status: conclusion,
      after,
      limit: limit + 1,
    });
    const { shown, metadata } = views.keysetPage(runs, limit, encodeRunCursor);
    return {
      runs: shown.map((run) => ({
        submission_id: run.submissionId,
        recorded_at: views.recordedAt(run.submissionId),
        build_url: run.buildUrl,
        commit_oid: run.commitOid,
        tree_oid: run.treeOid ?? "",
        branch: run.branch ?? "",
        environment: run.environment,
        ...views.attempt(run),
      })),
      metadata,
    };
  },
});
