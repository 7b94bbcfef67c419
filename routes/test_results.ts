import * as v from "valibot";
import { loadDisruptionEvents } from "../db/read/disruption_events.ts";
import { checkVersion } from "../lib/http/request/stale_version.ts";
import { testPathParameters } from "../lib/http/request/parameters.ts";
import { defineJsonRoute, selectedTest } from "../lib/http/request/route.ts";
import { eventId, recordedAtOf } from "../lib/base/identity.ts";
import { formatTimestamp } from "../lib/base/time.ts";
import examples from "./examples.json" with { type: "json" };
import { objectIdSchema, textSchema, timestampSchema } from "./schemas.ts";

const MAX_EVENTS = 10;

const eventSchema = v.pipe(
  v.strictObject({
    id: objectIdSchema,
    build_url: textSchema('URL of the CI run, "" when it is not known'),
    commit_oid: textSchema("Commit that was tested"),
    conclusion: v.pipe(
      v.picklist(["failure", "error"]),
      v.description("failure: an assertion failed; error: anything else went wrong"),
    ),
    recorded_at: timestampSchema,
    message: textSchema("First line of the failure"),
  }),
  v.title("DisruptionEvent"),
);

/** `GET /api/tests/{id}/results`: the latest disruptions of one test. */
export const testResults = defineJsonRoute({
  path: "/api/tests/:id/results",
  operationId: "listTestResults",
  tag: "Tests",
  summary: "Disruption events of one test",
  description:
    `The ${MAX_EVENTS} latest failures of the last 14 days at code versions where the test also ` +
    "passed, newest first.",
  parameters: { path: testPathParameters },
  response: {
    description: "The latest events",
    schema: v.pipe(v.strictObject({ results: v.array(eventSchema) }), v.title("DisruptionEvents")),
    example: examples.testResults,
  },
  resource: "test in path",
  async handler(request, { sql }) {
    const test = selectedTest(request);
    const { version, events } = await loadDisruptionEvents(sql, {
      repositoryId: test.repositoryId,
      testNo: test.testNo,
      windowStart: request.windowStart,
      limit: MAX_EVENTS,
    });
    checkVersion(test, version);
    return {
      results: events.map((event) => ({
        id: eventId(event.submissionId, event.resultNo),
        build_url: event.buildUrl,
        commit_oid: event.commitOid,
        conclusion: event.conclusion,
        recorded_at: formatTimestamp(recordedAtOf(event.submissionId)),
        message: event.message,
      })),
    };
  },
});
