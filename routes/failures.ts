import * as v from "valibot";
import { loadFailures, type ShownGroup } from "../db/read/failures.ts";
import { formatTimestamp } from "../lib/base/time.ts";
import {
  branchParameter,
  repositoryPathParameters,
  testPathParameters,
} from "../lib/http/request/parameters.ts";
import { defineJsonRoute, selectedRepository, selectedTest } from "../lib/http/request/route.ts";
import { checkVersion } from "../lib/http/request/stale_version.ts";
import examples from "./examples.json" with { type: "json" };
import { countSchema, objectIdSchema, textSchema, timestampSchema } from "./schemas.ts";

const groupEntries = {
  fingerprint: v.pipe(
    v.string(),
    v.regex(/^[0-9a-f]{16}$/),
    v.description("Name of the cause, the same in every repository; 16 lower-case hex digits"),
  ),
  message: textSchema("First line of the latest failure"),
  body: textSchema('Whole text of the latest failure, "" when the report has none'),
  count: countSchema("Failures and errors of the last 14 days"),
  disruption_count: countSchema("Those at code versions where the test also passed"),
  first_recorded_at: v.pipe(timestampSchema, v.description("The first of the last 14 days")),
  last_recorded_at: v.pipe(timestampSchema, v.description("The latest")),
  branches: v.pipe(
    v.array(v.string()),
    v.description("Branches on which it happened, sorted, without unknown ones"),
  ),
  latest_build_url: textSchema('URL of the CI run of the latest, "" when it is not known'),
  latest_commit_oid: textSchema("Commit of the latest"),
};

const groupSchema = v.pipe(v.strictObject(groupEntries), v.title("FailureGroup"));

const repositoryGroupSchema = v.pipe(
  v.strictObject({
    ...groupEntries,
    test_count: countSchema("Tests that failed for this cause"),
    tests: v.pipe(
      v.array(objectIdSchema),
      v.description("Ids of the tests that failed most often, at most 20"),
    ),
  }),
  v.title("RepositoryFailureGroup"),
);

function groupsSchema<Group extends v.GenericSchema>(title: string, group: Group) {
  return v.pipe(
    v.strictObject({
      count: countSchema("All groups; at most 50 are listed"),
      failures: v.array(group),
    }),
    v.title(title),
  );
}

export const testFailures = defineJsonRoute({
  path: "/api/tests/:id/failures",
  operationId: "listTestFailures",
  tag: "Tests",
  summary: "Causes of the failures of one test",
  description:
    "Failures and errors of the test in the last 14 days in groups of one cause, the largest first. " +
    "Two failures have one cause when their messages differ only in numbers, times, ids and the like.",
  parameters: { path: testPathParameters, query: v.object({ branch: branchParameter }) },
  response: {
    description: "The largest groups",
    schema: groupsSchema("FailureGroups", groupSchema),
    example: examples.testFailures,
  },
  resource: "test in path",
  async handler(request, { sql }) {
    const test = selectedTest(request);
    const { version, count, groups } = await loadFailures(sql, {
      ...test,
      windowStart: request.windowStart,
      branches: request.query.branch,
    });
    checkVersion(test, version);
    return { count, failures: groups.map(groupView) };
  },
});

export const repositoryFailures = defineJsonRoute({
  path: "/api/repos/:owner/:name/failures",
  operationId: "listRepositoryFailures",
  tag: "Repositories",
  summary: "Causes of the failures of a repository",
  description:
    "Failures and errors of all tests in the last 14 days in groups of one cause, the largest " +
    "first: a broken service behind forty tests is one group.",
  parameters: { path: repositoryPathParameters, query: v.object({ branch: branchParameter }) },
  response: {
    description: "The largest groups",
    schema: groupsSchema("RepositoryFailureGroups", repositoryGroupSchema),
    example: examples.repositoryFailures,
  },
  resource: "repository in path",
  async handler(request, { sql }) {
    const repository = selectedRepository(request);
    const { version, count, groups } = await loadFailures(sql, {
      repositoryId: repository.repositoryId,
      testNo: null,
      windowStart: request.windowStart,
      branches: request.query.branch,
    });
    checkVersion(repository, version);
    const failures = groups.map((group) => ({
      ...groupView(group),
      test_count: group.testCount,
      tests: group.tests,
    }));
    return { count, failures };
  },
});

function groupView(group: ShownGroup) {
  return {
    fingerprint: group.fingerprint,
    message: group.text.message,
    body: group.text.body,
    count: group.count,
    disruption_count: group.disruptionCount,
    first_recorded_at: formatTimestamp(group.firstRecordedAt),
    last_recorded_at: formatTimestamp(group.lastRecordedAt),
    branches: group.branches,
    latest_build_url: group.buildUrl,
    latest_commit_oid: group.commitOid,
  };
}
