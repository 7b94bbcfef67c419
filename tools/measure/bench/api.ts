/** Requests per second of every endpoint, against the limit. */
import {
  compareWithLimit,
  type Contestants,
  type Effort,
  formatLimitRow,
  type LimitRow,
  withContestants,
} from "./against_limit.ts";
import { checkSameBytes, storeResponses, target } from "./responses.ts";
import { newQueries } from "./new_queries.ts";
import type { Scenario } from "./scenario.ts";

// The limit repeats this many queries: their pages are as large as those of new ones on average.
const LIMIT_QUERIES = 100;
// More than the program answers: each query is sent once.
const QUERIES_PER_SECOND = 40_000;

/** Measures every endpoint on one hot page, and queries that are new in every request. */
export async function measureApi(
  scenario: Scenario,
  { effort, report }: { effort: Effort; report: (line: string) => void },
): Promise<LimitRow[]> {
  const rows: LimitRow[] = [];
  const add = (row: LimitRow) => {
    rows.push(row);
    report(formatLimitRow(row));
  };
  for (const [endpoint, path] of Object.entries(scenario.endpoints)) {
    add(
      await withContestants(scenario, async ({ program, limit }) => {
        await storeResponses(scenario, program, [path]);
        await checkSameBytes(scenario, { one: program, other: limit, path });
        const fixed = {
          program: target(scenario, program, path),
          limit: target(scenario, limit, path),
        };
        return await compareWithLimit(endpoint, {
          program: () => fixed.program,
          limit: () => fixed.limit,
        }, { effort, isSame: true });
      }),
    );
  }
  for (const endpoint of ["tests", "inventory"]) {
    add(
      await withContestants(
        scenario,
        (both) => compareNewQueries(endpoint, { scenario, ...both, effort }),
      ),
    );
  }
  return rows;
}

/**
 * Every query is sent once, so that no cached response is of use. The limit returns the pages of the
 * first hundred queries.
 */
async function compareNewQueries(
  endpoint: string,
  { scenario, program, limit, effort }: Contestants & { scenario: Scenario; effort: Effort },
): Promise<LimitRow> {
  const path = scenario.endpoints[endpoint]!;
  const queries = newQueries();
  const take = (count: number) =>
    Array.from({ length: count }, () => {
      const q = encodeURIComponent(queries.next().value);
      return { path: `${path}${path.includes("?") ? "&" : "?"}q=${q}` };
    });
  const stored = take(LIMIT_QUERIES);
  await storeResponses(scenario, program, stored.map(({ path }) => path));
  for (const { path } of stored) {
    await checkSameBytes(scenario, { one: program, other: limit, path });
  }
  return await compareWithLimit(`${endpoint} with new q`, {
    program: () => ({
      ...target(scenario, program, path),
      requests: take(QUERIES_PER_SECOND * effort.seconds),
    }),
    limit: () => ({ ...target(scenario, limit, path), requests: stored, repeats: true }),
  }, { effort, isSame: false });
}
