import * as v from "valibot";
import { loadRepositoryDetails } from "../db/read/repositories.ts";
import { loadTestDetails } from "../db/read/test_details.ts";
import { checkVersion, StaleVersionError } from "../lib/http/request/stale_version.ts";
import { testPathParameters } from "../lib/http/request/parameters.ts";
import { defineJsonRoute, selectedTest } from "../lib/http/request/route.ts";
import examples from "./examples.json" with { type: "json" };
import { EXPANSION_NAMES, expansionEntries, expansionsView } from "./expansions.ts";
import { baseEntries, baseView, ordinalSchema, textSchema } from "./schemas.ts";

/** `GET /api/tests/{id}`: one test with all expansions, disruptive or not. */
export const testDetails = defineJsonRoute({
  path: "/api/tests/:id",
  operationId: "getTest",
  tag: "Tests",
  summary: "One test",
  description:
    "A test with its repository and every field that `include` adds in the inventory. A test without " +
    "any disruption is known here, too.",
  parameters: { path: testPathParameters },
  response: {
    description: "The test",
    schema: v.pipe(
      v.strictObject({
        ...baseEntries,
        repository: textSchema("Repository as owner/name"),
        repository_id: ordinalSchema("Numeric identifier of the repository"),
        is_quarantined: v.pipe(v.boolean(), v.description("Whether it is quarantined now")),
        ...expansionEntries,
      }),
      v.title("TestDetails"),
    ),
    example: examples.testDetails,
  },
  resource: "test in path",
  async handler(request, { sql }) {
    const { testNo, ...repository } = selectedTest(request);
    const { repositoryId, repositoryNumber } = repository;
    const { now, windowStart } = request;
    const [details, [names], { runs }] = await Promise.all([
      loadTestDetails(sql, { repositoryId, testNo, now, windowStart }),
      loadRepositoryDetails(sql, [repositoryId]),
      request.loadTests({ withTime: true }),
    ]);
    if (!details || !names) throw new StaleVersionError();
    checkVersion(repository, details.version);
    checkVersion(repository, names);
    // One repository always has them.
    const test = { ...details.test, ...runs!.of(testNo) };
    return {
      ...baseView(test),
      repository: `${names.owner}/${names.name}`,
      repository_id: repositoryNumber,
      is_quarantined: test.quarantine !== null,
      ...expansionsView(test, EXPANSION_NAMES),
    };
  },
});
