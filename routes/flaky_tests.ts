import * as v from "valibot";
import type { TrackedTest } from "../lib/analysis/tracked_test.ts";
import { JSON_MEDIA_TYPE } from "../lib/http/request/json.ts";
import {
  branchParameter,
  limitParameter,
  offsetCursorParameter,
  optionalParameter,
  repositoryIdParameter,
  repositoryParameter,
  searchParameter,
  sortParameter,
  textParameter,
} from "../lib/http/request/parameters.ts";
import { defineRoute } from "../lib/http/request/route.ts";
import type { IsListed } from "../lib/http/request/test_collection.ts";
import examples from "./examples.json" with { type: "json" };
import {
  EXPANSION_NAMES,
  expansionEntries,
  expansionsView,
  needTime,
  parseExpansions,
} from "./expansions.ts";
import { testPage } from "./test_page.ts";
import { baseEntries, baseView, pageSchema } from "./schemas.ts";

const DEFAULT_LIMIT = 25;

const includeParameter = optionalParameter(
  parseExpansions,
  `Comma-separated fields to add to each test: ${EXPANSION_NAMES.join(", ")}. ` +
    "Unknown names are ignored",
  {
    jsonSchema: { type: "array", items: { type: "string", enum: EXPANSION_NAMES } },
    example: "disruptiveness_ratio,tags",
  },
);

const flakyTestSchema = v.pipe(
  v.strictObject({ ...baseEntries, ...v.partial(v.object(expansionEntries)).entries }),
  v.title("FlakyTest"),
);

/** Parameters that select and sort the tests of the inventory, here and on its page. */
export const inventoryParameters = v.object({
  repository: repositoryParameter,
  repository_id: repositoryIdParameter,
  limit: limitParameter(DEFAULT_LIMIT),
  after: offsetCursorParameter,
  sort: sortParameter,
  q: searchParameter,
  branch: branchParameter,
  quarantine: textParameter(
    "false: tests that are not quarantined; any other value, or none: quarantined tests",
    { jsonSchema: { type: "string", default: "true" }, example: "false" },
  ),
  quarantined: textParameter(
    "Alias of quarantine, which wins when both are given",
    { jsonSchema: { type: "string" }, example: "false" },
  ),
});

/** `GET /api/v1/flaky/tests`: the inventory, across repositories. */
export const flakyTests = defineRoute({
  path: "/api/v1/flaky/tests",
  operationId: "listFlakyTests",
  tag: "Tests",
  summary: "Flaky tests across repositories",
  description:
    "The quarantined tests, or the tests that are not quarantined and had a disruption in the last " +
    "14 days. A quarantined test stays listed however long ago its last disruption was.",
  parameters: {
    query: v.object({ ...inventoryParameters.entries, include: includeParameter }),
  },
  response: {
    status: 200,
    description: "A page of tests",
    mediaType: JSON_MEDIA_TYPE,
    schema: pageSchema("FlakyTestPage", "Tests that match, on all pages", {
      tests: v.array(flakyTestSchema),
    }),
    example: examples.flakyTests,
    exampleQuery: { repository: "acme/shop", include: EXPANSION_NAMES.join(",") },
  },
  resource: "repositories in query",
  async handler(request) {
    const { include, branch, ...page } = request.query;
    const tests = await request.loadTests({
      withTime: needTime(include),
      branches: branch,
    });
    return testPage(tests, { ...page, isListed: isListedBy(page) }, (test) => ({
      ...baseView(test),
      ...expansionsView(test, include),
    }));
  },
});

/** Whether the inventory lists a test: any value except "false" means quarantined tests. */
export function isListedBy(
  { quarantine, quarantined }: { quarantine?: string; quarantined?: string },
): IsListed {
  return (quarantine ?? quarantined) === "false" ? isNotQuarantined : isQuarantined;
}

const isQuarantined = ({ quarantine }: TrackedTest) => quarantine !== null;

const isNotQuarantined = ({ quarantine, disruptionCount }: TrackedTest) =>
  quarantine === null && disruptionCount > 0;
