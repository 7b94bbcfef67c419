/** The two lists of tests: the disruptive ones of a repository, and the inventory. */
import * as v from "valibot";
import type { TrackedTest } from "../lib/analysis/tracked_test.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import { defineJsonRoute } from "../lib/http/request/route.ts";
import type { IsListed } from "../lib/http/test_cache/collection.ts";
import * as schemas from "./schemas.ts";
import {
  disruptiveSchemas,
  disruptiveTestView,
  include,
  INCLUDE_NAMES,
  includedSchemas,
  needTime,
  testView,
} from "./test_fields.ts";
import * as views from "./response_parts.ts";

const disruptiveTestSchema = schemas.object("DisruptiveTest", {
  ...schemas.test,
  ...disruptiveSchemas,
});

export const disruptiveTests = defineJsonRoute({
  path: "/api/repos/:owner/:name/tests",
  operationId: "listDisruptiveTests",
  tag: "Repositories",
  summary: "Flaky tests of a repository",
  description:
    "Tests that both passed and failed at the same code version, with such a failure in the last " +
    "14 days. Quarantined tests are listed too.",
  query: {
    limit: parameters.limit(10),
    after: parameters.offsetCursor,
    sort: parameters.sort,
    q: parameters.search,
    ...parameters.submissionFilter,
  },
  list: { field: "tests" },
  schema: schemas.page("DisruptiveTestPage", "Tests that match, on all pages", {
    tests: v.array(disruptiveTestSchema),
  }),
  resource: "repository in path",
  tests: (query) => ({ filter: parameters.filterOf(query) }),
  async handler({ loadTests, query }) {
    const tests = await loadTests({ filter: parameters.filterOf(query) });
    const { count, tests: shown } = tests.list({ ...query, isListed: isDisruptive });
    const metadata = views.offsetMetadata(query, count);
    return { count, tests: shown.map(disruptiveTestView), metadata };
  },
});

/** Whether the list of a repository shows a test. */
export const isDisruptive = ({ disruptionCount }: TrackedTest) => disruptionCount > 0;

/** Parameters that select and sort the tests of the inventory, here and on its page. */
export const inventoryParameters = {
  repository: parameters.repository,
  repository_id: parameters.repositoryId,
  limit: parameters.limit(25),
  after: parameters.offsetCursor,
  sort: parameters.sort,
  q: parameters.search,
  ...parameters.submissionFilter,
  quarantine: parameters.text(
    "false: tests that are not quarantined; any other value, or none: quarantined tests",
    { jsonSchema: { type: "string", default: "true" }, example: "false" },
  ),
  quarantined: parameters.text(
    "Alias of quarantine, which takes precedence when both are given",
    { jsonSchema: { type: "string" }, example: "false" },
  ),
};

const flakyTestSchema = schemas.object("FlakyTest", {
  ...schemas.test,
  ...v.partial(v.object(includedSchemas)).entries,
});

export const flakyTests = defineJsonRoute({
  path: "/api/v1/flaky/tests",
  operationId: "listFlakyTests",
  tag: "Tests",
  summary: "Flaky tests across repositories",
  description:
    "The quarantined tests, or the tests that are not quarantined and had a disruption in the last " +
    "14 days. A quarantined test stays listed however long ago its last disruption was.",
  query: { ...inventoryParameters, include },
  list: {
    field: "tests",
    hasField: ({ include: names }, field) =>
      field in schemas.test || names.some((name) => name === field),
  },
  schema: schemas.page("FlakyTestPage", "Tests that match, on all pages", {
    tests: v.array(flakyTestSchema),
  }),
  exampleQuery: { repository: "acme/shop", include: INCLUDE_NAMES.join(",") },
  resource: "repositories in query",
  tests: listedTests,
  async handler({ loadTests, query: { include: names, ...query } }) {
    const tests = await loadTests(listedTests({ ...query, include: names }));
    const { count, tests: shown } = tests.list({ ...query, isListed: isListedBy(query) });
    return {
      count,
      tests: shown.map((test) => testView(test, names)),
      metadata: views.offsetMetadata(query, count),
    };
  },
});

/** What the inventory lists. */
function listedTests(
  { include, ...query }: Parameters<typeof parameters.filterOf>[0] & {
    include: Parameters<typeof needTime>[0];
  },
) {
  return { withTime: needTime(include), filter: parameters.filterOf(query) };
}

/** Whether the inventory lists flaky tests: any value except "false" means quarantined tests. */
export function listsFlaky(
  { quarantine, quarantined }: {
    quarantine?: string | undefined;
    quarantined?: string | undefined;
  },
): boolean {
  return (quarantine ?? quarantined) === "false";
}

/** Whether the inventory lists a test. */
export function isListedBy(query: Parameters<typeof listsFlaky>[0]): IsListed {
  return listsFlaky(query) ? isFlakyNotQuarantined : isQuarantined;
}

const isQuarantined = ({ quarantine }: TrackedTest) => quarantine !== null;

/** Whether the list of flaky tests shows a test: the list of quarantined ones has the others. */
export const isFlakyNotQuarantined = ({ quarantine, disruptionCount }: TrackedTest) =>
  quarantine === null && disruptionCount > 0;
