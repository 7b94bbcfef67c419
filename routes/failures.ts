/** The routes about the causes of failures, of a test and of a repository. */
import * as v from "valibot";
import { loadFailures } from "../db/read/failures.ts";
import { jsonRecord } from "../lib/base/json_record.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import { defineJsonRoute } from "../lib/http/request/route.ts";
import * as schemas from "./schemas.ts";

const groupEntries = {
  fingerprint: schemas.fingerprint,
  message: schemas.text("First line of the latest failure"),
  body: schemas.text('Whole text of the latest failure, "" when the report has none'),
  count: schemas.count("Failures and errors of the last 14 days"),
  disruption_count: schemas.count("Those at code versions where the test also passed"),
  first_recorded_at: schemas.described(schemas.timestamp, "The first of the last 14 days"),
  last_recorded_at: schemas.described(schemas.timestamp, "The latest"),
  branches: schemas.described(
    v.array(v.string()),
    "Branches on which it happened, sorted, without unknown ones",
  ),
  latest_build_url: schemas.text('URL of the CI run of the latest, "" when it is not known'),
  latest_commit_oid: schemas.text("Commit of the latest"),
};

const groupSchema = schemas.object("FailureGroup", groupEntries);

const repositoryGroupSchema = schemas.object("RepositoryFailureGroup", {
  ...groupEntries,
  test_count: schemas.count("Tests that failed for this cause"),
  tests: schemas.described(
    v.array(schemas.objectId),
    "Ids of the tests that failed most often, at most 20",
  ),
});

const groupCount = schemas.count("All groups; at most 50 are listed");

export const testFailures = defineJsonRoute({
  path: "/api/tests/:id/failures",
  operationId: "listTestFailures",
  tag: "Tests",
  summary: "Causes of the failures of one test",
  description:
    "Failures and errors of the test in the last 14 days in groups of one cause, the largest first. " +
    "Two failures have one cause when their messages differ only in numbers, times, ids and the like.",
  query: parameters.submissionFilter,
  list: { field: "failures" },
  schema: schemas.object("FailureGroups", { count: groupCount, failures: v.array(groupSchema) }),
  resource: "test in path",
  async handler({ load, query }) {
    const { count, groups } = await load(loadFailures, { filter: parameters.filterOf(query) });
    return {
      count,
      failures: groups.map(({ submissionId: _id, testCount: _count, tests: _tests, ...group }) =>
        jsonRecord(group)
      ),
    };
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
  query: parameters.submissionFilter,
  list: { field: "failures" },
  schema: schemas.object("RepositoryFailureGroups", {
    count: groupCount,
    failures: v.array(repositoryGroupSchema),
  }),
  resource: "repository in path",
  async handler({ load, query }) {
    const { count, groups } = await load(loadFailures, { filter: parameters.filterOf(query) });
    return {
      count,
      failures: groups.map(({ submissionId: _id, testCount, tests, ...group }) =>
        jsonRecord({ ...group, testCount, tests })
      ),
    };
  },
});
