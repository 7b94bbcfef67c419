import * as v from "valibot";
import { ApiError } from "../../api_client/client.ts";
import { TEST_ORDERS } from "../../analysis/order.ts";
import { parseDay } from "../../base/time.ts";
import {
  defineTool,
  described,
  integer,
  nextCursor,
  page,
  pageArguments,
  pageOfRepository,
  repositoryArgument,
  testEntries,
  timestamp,
  unknownRepository,
} from "./tool.ts";

/** Fields that a test has by the parameter `include`. */
const expansions = {
  tags: v.array(v.string()),
  disruptiveness_ratio: described(v.number(), "0 to 1"),
  nondeterministic_negative_result_count: integer("disruptions"),
  nondeterminism_first_recorded_at: described(v.nullable(v.string()), "First ever"),
  recent_nondeterministic_negative_result: described(
    v.nullable(v.object({ recorded_at: timestamp, build_url: v.string(), message: v.string() })),
    "Latest disruption",
  ),
};

/** Fields that only quarantined tests have, by the same parameter. */
const quarantineExpansions = { quarantine_environment: v.optional(v.nullable(v.string())) };

const tests = v.array(v.object({
  id: v.string(),
  ...testEntries,
  ...expansions,
  ...quarantineExpansions,
}));

const failingRuns = v.nullable(v.record(v.string(), v.unknown()));

/** Tests with `without_reruns`. */
const testsInState = v.array(v.object({
  id: v.string(),
  ...testEntries,
  state: v.string(),
  rate: v.nullable(v.number()),
  failing_runs: failingRuns,
}));

/** Tests of both kinds. */
const shownTests = v.array(v.object({
  id: v.string(),
  ...testEntries,
  ...v.partial(v.object(expansions)).entries,
  ...quarantineExpansions,
  state: v.optional(v.string()),
  rate: v.optional(v.nullable(v.number())),
  failing_runs: v.optional(failingRuns),
}));

const tag = v.pipe(
  v.string(),
  v.regex(
    /^[^\s,]+$/,
    ({ received }) => `invalid tag ${received}: expected no white space or comma`,
  ),
);

const invalidDay = ({ received }: v.BaseIssue<unknown>) =>
  `invalid day ${received}: expected YYYY-MM-DD`;

export const findFlakyTests = defineTool({
  name: "find_flaky_tests",
  description:
    "Flaky tests, worst first: they failed and passed on the same code, a disruption. Others probably " +
    "fail for a reason, or are quarantined: ask with quarantined true. " +
    "Next: get_test_details",
  input: {
    repository: v.optional(
      repositoryArgument("owner/name; none: all"),
    ),
    tags: v.optional(described(v.array(tag), "Any of these"), []),
    search: v.optional(
      described(
        v.string(),
        "Words of suite, name, file, class; first-seen:<2026-01-31, last-seen:>=2026-01-31, tags:a,b",
      ),
      "",
    ),
    since: v.optional(
      v.pipe(
        v.string(),
        v.isoDate(invalidDay),
        v.description("Disrupted since"),
        // A transformation ends what the JSON Schema says.
        v.transform((day) => day),
        v.check((day) => parseDay(day) !== null, invalidDay),
      ),
    ),
    sort: v.optional(v.picklist(TEST_ORDERS), TEST_ORDERS[0]),
    without_reruns: v.optional(
      described(v.boolean(), "Broken or flaky by history; needs repository"),
      false,
    ),
    quarantined: v.optional(
      v.boolean(),
      false,
    ),
    ...pageArguments(25),
  },
  output: {
    count: integer(""),
    tests: shownTests,
    next_cursor: nextCursor,
  },
  page: ({ repository, without_reruns }) =>
    without_reruns && repository !== undefined ? pageOfRepository(repository) : ["flaky-tests"],
  pageQuery: ({ repository, without_reruns, quarantined, sort, ...filter }) =>
    without_reruns
      ? {}
      : { quarantine: String(quarantined), repository, q: searchQuery(filter), sort },
  async run({ repository, quarantined, without_reruns, search, tags, since, ...query }, get) {
    if (without_reruns) {
      if (repository === undefined) {
        throw new ApiError(
          "without_reruns needs repository as owner/name: list_repositories has them.",
        );
      }
      const { sort: _, ...range } = query;
      return await get({
        path: ["api", ...pageOfRepository(repository), "states"],
        query: { ...range, without_reruns },
        notFound: unknownRepository(repository),
      }, page({ tests: testsInState }));
    }
    return await get({
      path: ["api", "v1", "flaky", "tests"],
      query: {
        ...query,
        repository,
        q: searchQuery({ search, tags, since }),
        quarantine: quarantined,
        include: Object.keys({ ...expansions, ...quarantined && quarantineExpansions }).join(","),
      },
      notFound: unknownRepository(repository ?? ""),
    }, page({ tests }));
  },
});

/** The arguments that filter, as the `q` of the API and the page. */
function searchQuery(
  { search, tags, since }: { search: string; tags: string[]; since?: string | undefined },
): string | undefined {
  const terms = [
    search.trim(),
    tags.length === 0 ? "" : `tags:${tags.join(",")}`,
    since === undefined ? "" : `last-seen:>=${since}`,
  ];
  return terms.filter((term) => term !== "").join(" ") || undefined;
}
