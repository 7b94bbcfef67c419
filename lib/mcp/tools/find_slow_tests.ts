import * as v from "valibot";
import { SLOW_ORDERS } from "../../analysis/slow_downs.ts";
import {
  defineTool,
  described,
  integer,
  narrowingArgument,
  nextCursor,
  page,
  pageArguments,
  repositoryPath,
  testEntries,
  unknownRepository,
} from "./tool.ts";

const tests = v.array(v.object({
  id: v.string(),
  ...testEntries,
  median_us: integer("Median run, microseconds"),
  total_us: integer("All runs"),
  share: v.number(),
  slower: described(
    v.nullable(v.object({
      before_us: v.number(),
      after_us: v.number(),
      since: v.string(),
      last_fast_commit_oid: v.string(),
      first_slow_commit_oid: v.string(),
    })),
    "null: did not",
  ),
}));

export const findSlowTests = defineTool({
  name: "find_slow_tests",
  description:
    "Tests that take the most time in CI, or became slower, and between which commits. Next: get_test_details",
  input: {
    repository: repositoryPath,
    sort: v.optional(
      described(
        v.picklist(SLOW_ORDERS),
        "slower: only those",
      ),
      SLOW_ORDERS[0],
    ),
    branch: narrowingArgument("branch", "main,release/*"),
    ...pageArguments(25),
  },
  output: { count: integer(""), tests, next_cursor: nextCursor },
  page: ({ repository: { owner, name } }) => ["repos", owner, name, "slow-tests"],
  pageQuery: ({ sort, branch }) => ({ sort, branch }),
  run: ({ repository: { owner, name }, ...query }, get) =>
    get(
      {
        path: ["api", "repos", owner, name, "slow-tests"],
        query,
        notFound: unknownRepository(`${owner}/${name}`),
      },
      page({ tests }),
    ),
});
