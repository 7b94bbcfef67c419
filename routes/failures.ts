/** The routes about the causes of failures, of a test and of a repository. */
import * as v from "valibot";
import { loadGroupsOfTests } from "../db/read/failing_together.ts";
import { loadFailures } from "../db/read/failures.ts";
import { jsonRecord } from "../lib/base/json_record.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import { defineJsonRoute } from "../lib/http/request/route.ts";
import * as views from "./response_parts.ts";
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
    "Two failures have one cause when their messages differ only in numbers, times, ids and the like. " +
    "One of an unknown cause, whose texts say nothing, is a group of its own.",
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
    "first: a broken service behind forty tests is one group. Failures of an unknown cause, whose " +
    "texts say nothing, are in none.",
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

const MAX_GROUPS = 50;
const MAX_TESTS = 100;

export const testGroups = defineJsonRoute({
  path: "/api/repos/:owner/:name/groups",
  operationId: "listTestGroups",
  tag: "Repositories",
  summary: "Tests that fail together",
  description:
    "Tests that failed in the last 14 days, on all branches, in groups: their failing runs overlap by at least " +
    "half, with at least 3 common ones, or they share a cause. The group that cost most " +
    "builds comes first. A test that fails alone is a group of its own.",
  query: {},
  list: { field: "groups" },
  schema: schemas.object("TestGroups", {
    count: schemas.count(`All groups; at most ${MAX_GROUPS} are listed`),
    groups: v.array(schemas.object("TestGroup", {
      builds: schemas.count("Builds with a failure of one of its tests"),
      tests: schemas.described(
        v.array(schemas.object("GroupedTest", schemas.test)),
        `Its tests, at most ${MAX_TESTS}`,
      ),
      fingerprints: schemas.described(
        v.array(schemas.fingerprint),
        "Causes of its failures, without unknown ones",
      ),
    })),
  }),
  resource: "repository in path",
  async handler({ load }) {
    const limits = { maxGroups: MAX_GROUPS, maxTests: MAX_TESTS };
    const { count, groups } = await load(loadGroupsOfTests, limits);
    return {
      count,
      groups: groups.map(({ builds, tests, fingerprints }) => ({
        builds,
        tests: tests.map(views.test),
        fingerprints,
      })),
    };
  },
});
