/**
 * Many callers of many repositories: every request has another token, repository and page, in random
 * order. Shared look-ups and one hot page do not help here.
 */
import { openDatabase } from "../../../db/connection/connect.ts";
import { quarantine } from "../../../tests/routes/fixture.ts";
import {
  compareWithLimit,
  type Effort,
  formatLimitRow,
  type LimitRow,
  withContestants,
} from "./against_limit.ts";
import { ask, checkSameBytes, storeResponses, target } from "./responses.ts";
import { createToken } from "./callers.ts";
import type { PlannedRequest } from "./load.ts";
import { type Contestant, startProgram } from "./processes.ts";
import { Random } from "./random.ts";
import { type Scenario, SMALL_REPOSITORY_NAMES } from "./scenario.ts";

const TOKENS = 64;
// Drawn once and repeated: far more than distinct pages, too many for a processor cache.
const REQUESTS = 20_000;
const PAGES_OF_A_LIST = 3;
const CHECKED_PAGES = 50;
const SEED = 64_200;

/** Paths of one endpoint: for each repository the pages that it has. */
type Pages = Record<string, string[][]>;

/** Measures every endpoint for itself, and all of them mixed. */
export async function measureCrowd(
  scenario: Scenario,
  { effort, report }: { effort: Effort; report: (line: string) => void },
): Promise<LimitRow[]> {
  const tokens = await createTokens(scenario);
  const pages = await prepare(scenario);
  const rows: LimitRow[] = [];
  for (const endpoint of [...Object.keys(pages), "mixed"]) {
    const repositories = endpoint === "mixed" ? Object.values(pages).flat() : pages[endpoint]!;
    const requests = randomRequests(repositories, tokens);
    const row = await withContestants(scenario, async (both) => {
      for (const { path } of requests.slice(0, CHECKED_PAGES)) {
        await checkSameBytes(scenario, { one: both.program, other: both.limit, path });
      }
      const all = (contestant: Contestant) => () => ({
        ...target(scenario, contestant, requests[0]!.path),
        requests,
        repeats: true,
      });
      const targets = { program: all(both.program), limit: all(both.limit) };
      return await compareWithLimit(endpoint, targets, { effort, isSame: false });
    });
    rows.push(row);
    report(formatLimitRow(row));
  }
  return rows;
}

/** A random sequence: first the repository is drawn, then one of its pages, and a token. */
function randomRequests(
  repositories: readonly (readonly string[])[],
  tokens: readonly string[],
): PlannedRequest[] {
  const random = new Random(SEED);
  const pick = <T>(list: readonly T[]): T => list[random.below(list.length)]!;
  return Array.from({ length: REQUESTS }, () => ({
    path: pick(pick(repositories)),
    token: pick(tokens),
  }));
}

async function createTokens({ databaseUrl, organization, filledAt }: Scenario): Promise<string[]> {
  const { sql, close } = await openDatabase({ databaseUrl, dataDir: "" });
  try {
    const tokens: string[] = [];
    while (tokens.length < TOKENS) tokens.push(await createToken(sql, organization, filledAt));
    return tokens;
  } finally {
    await close();
  }
}

/** Quarantines one test of each repository, and stores the program's responses for the limit. */
async function prepare(scenario: Scenario): Promise<Pages> {
  const { databaseUrl, filledAt } = scenario;
  const { sql, close } = await openDatabase({ databaseUrl, dataDir: "" });
  const program = await startProgram(databaseUrl);
  try {
    const pages: Pages = {};
    const add = (endpoint: string, paths: string[]) => (pages[endpoint] ??= []).push(paths);
    for (const name of SMALL_REPOSITORY_NAMES) {
      const list = `/api/repos/acme/${name}`;
      const inventory = `/api/v1/flaky/tests?repository=acme/${name}`;
      const { tests } = await (await ask(target(scenario, program, `${list}/tests`))).json();
      const ids = tests.map(({ id }: { id: string }) => id) as string[];
      await quarantine({ sql }, ids[0]!, { quarantinedAt: filledAt });
      const listed = (path: string) => pagesOf(scenario, program, path);
      add("submissions", await listed(`${list}/submissions`));
      add("tests", await listed(`${list}/tests`));
      add("results", ids.map((id) => `/api/tests/${id}/results`));
      add("inventory", await listed(`${inventory}&quarantine=false`));
      add("quarantined", await listed(`${inventory}&include=disruptiveness_ratio,tags`));
      add("flakiness_badge", [`/api/v1/flaky/badges?repository=acme/${name}`]);
      add("coverage_badge", [`/api/v1/coverage/badges?repository=acme/${name}`]);
    }
    await storeResponses(scenario, program, [...new Set(Object.values(pages).flat(2))]);
    return pages;
  } finally {
    await program.stop();
    await close();
  }
}

/** The whole list, and its first pages of two. */
async function pagesOf(scenario: Scenario, program: Contestant, path: string): Promise<string[]> {
  const small = `${path}${path.includes("?") ? "&" : "?"}limit=2`;
  const paths = [path];
  let after: string | null = null;
  while (paths.length <= PAGES_OF_A_LIST) {
    const page: string = after === null ? small : `${small}&after=${encodeURIComponent(after)}`;
    paths.push(page);
    const { metadata } = await (await ask(target(scenario, program, page))).json();
    after = metadata.after;
    if (after === null) break;
  }
  return paths;
}
