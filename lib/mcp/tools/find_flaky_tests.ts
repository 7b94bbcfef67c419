import * as v from "valibot";
import { TEST_ORDERS } from "../../analysis/order.ts";
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
  disruptiveness_ratio: described(
    v.number(),
    "0 to 1: disruptions / results that passed or failed",
  ),
  nondeterministic_negative_result_count: integer("disruptions"),
  nondeterminism_first_recorded_at: described(v.nullable(v.string()), "First disruption ever"),
  recent_nondeterministic_negative_result: described(
    v.nullable(v.object({ recorded_at: timestamp, build_url: v.string(), message: v.string() })),
    "Latest disruption",
  ),
};

const tests = v.array(v.object({ id: v.string(), ...testEntries, ...expansions }));

const tag = v.pipe(
  v.string(),
  v.regex(
    /^[^\s,]+$/,
    ({ received }) => `invalid tag ${received}: expected no white space or comma`,
  ),
);

export const findFlakyTests = defineTool({
  name: "find_flaky_tests",
  description:
    "Lists tests that both passed and failed on the same code (flaky), worst first. A disruption " +
    "is such a failure; ratio and count are of the last 14 days. Use it to see whether a failure " +
    "is known, or what to fix first. A failing test that is not listed is probably a real failure, " +
    "or quarantined: ask again with quarantined true. Next: get_test_details with an id.",
  input: {
    repository: v.optional(
      repositoryArgument("owner/name; none: all repositories of the organization"),
    ),
    tags: v.optional(described(v.array(tag), "Tests with any of these tags"), []),
    search: v.optional(
      described(
        v.string(),
        "Words that must all occur in suite, name, file or class. Also first-seen:<2026-01-31, " +
          "last-seen:>=2026-01-31 (<, <=, >, >=), tags:a,b",
      ),
      "",
    ),
    since: v.optional(
      v.pipe(
        v.string(),
        v.isoDate(({ received }) => `invalid day ${received}: expected YYYY-MM-DD`),
        v.description("YYYY-MM-DD: disrupted on or after this day"),
      ),
    ),
    sort: v.optional(v.picklist(TEST_ORDERS), TEST_ORDERS[0]),
    quarantined: v.optional(
      described(
        v.boolean(),
        "true: the quarantined tests instead, however long ago they were disrupted",
      ),
      false,
    ),
    ...pageArguments(25),
  },
  output: {
    count: integer("All that match, not only this page"),
    tests,
    next_cursor: nextCursor,
  },
  page: ({ repository }) =>
    repository === undefined ? ["flaky-tests"] : pageOfRepository(repository),
  async run({ search, tags, since, repository, quarantined, ...query }, get) {
    const terms = [
      search.trim(),
      tags.length === 0 ? "" : `tags:${tags.join(",")}`,
      since === undefined ? "" : `last-seen:>=${since}`,
    ];
    return await get({
      path: ["api", "v1", "flaky", "tests"],
      query: {
        ...query,
        repository,
        q: terms.filter((term) => term !== "").join(" ") || undefined,
        quarantine: quarantined,
        include: Object.keys(expansions).join(","),
      },
      notFound: unknownRepository(repository ?? ""),
    }, page({ tests }));
  },
});
