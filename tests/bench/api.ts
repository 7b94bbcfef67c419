/** How many requests are answered, against the limit. */
import { checkSameBytes, checkSizes, storeAnswers, target } from "./answers.ts";
import { atRate, type Measured, saturate, type Target } from "./load.ts";
import { newQueries } from "./new_queries.ts";
import { type Contestant, startDeno, startProgram } from "./processes.ts";
import type { Scenario } from "./scenario.ts";
import { median, medianRatio, takeTurns } from "./slices.ts";

/** How long and how often is measured. */
export interface Effort {
  rounds: number;
  seconds: number;
}

/** One endpoint against the limit. */
export interface ApiRow {
  endpoint: string;
  /** Requests per second, as fast as it goes. */
  rps: number;
  limit_rps: number;
  /** Median of the ratios of neighbouring slices. */
  ratio: number;
  /** At half of `rps`, for both. */
  p50_ms: number;
  p99_ms: number;
  limit_p99_ms: number;
  /** Median of the ratios of neighbouring slices. */
  p99_ratio: number;
}

// Queries that the limit answers in turn: what an unknown query finds on average.
const LIMIT_QUERIES = 100;
// More than any program here answers: each is asked once.
const QUERIES_PER_SECOND = 40_000;

/** Measures every endpoint as fast as it goes, and at half of that. */
export async function measureApi(
  scenario: Scenario,
  { effort, report }: { effort: Effort; report: (line: string) => void },
): Promise<ApiRow[]> {
  const rows: ApiRow[] = [];
  const add = (row: ApiRow) => {
    rows.push(row);
    report(formatRow(row));
  };
  for (const [endpoint, path] of Object.entries(scenario.endpoints)) {
    add(
      await withContestants(scenario, async ({ program, limit }) => {
        await storeAnswers(scenario, program, [path]);
        await checkSameBytes(scenario, { one: program, other: limit, path });
        const fixed = {
          program: target(scenario, program, path),
          limit: target(scenario, limit, path),
        };
        return await compare(endpoint, {
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

interface Contestants {
  program: Contestant;
  limit: Contestant;
}

/** Each endpoint has processes of its own: nothing of one weighs on the next. */
async function withContestants<T>(
  scenario: Scenario,
  act: (both: Contestants) => Promise<T>,
): Promise<T> {
  const program = await startProgram(scenario.databaseUrl);
  try {
    // What it looks its answers up in.
    await storeAnswers(scenario, program, []);
    const limit = await startDeno("limit.ts", scenario.databaseUrl);
    try {
      return await act({ program, limit });
    } finally {
      await limit.stop();
    }
  } finally {
    await program.stop();
  }
}

/** Every slice asks for its target anew, because no query may come twice. */
async function compare(
  endpoint: string,
  targets: { program: () => Target; limit: () => Target },
  { effort, isSame }: { effort: Effort; isSame: boolean },
): Promise<ApiRow> {
  const full = await takeTurns({
    program: () => saturate(targets.program(), effort.seconds),
    limit: () => saturate(targets.limit(), effort.seconds),
  }, effort.rounds);
  // Half of what the program can do, for both: what a request waits for when nothing is crowded.
  const rate = median(full.program.map(({ rps }) => rps)) / 2;
  const half = await takeTurns(
    {
      program: () => atRate(targets.program(), { rate, seconds: effort.seconds }),
      limit: () => atRate(targets.limit(), { rate, seconds: effort.seconds }),
    },
    effort.rounds,
    { isWarm: true },
  );
  if (isSame) {
    await checkSizes(targets.program(), [...full.program, ...half.program]);
    await checkSizes(targets.limit(), [...full.limit, ...half.limit]);
  }
  const middle = (slices: Measured[], figure: keyof Measured) =>
    median(slices.map((slice) => slice[figure]));
  return {
    endpoint,
    rps: middle(full.program, "rps"),
    limit_rps: middle(full.limit, "rps"),
    ratio: medianRatio(full.program, full.limit, ({ rps }) => rps),
    p50_ms: middle(half.program, "p50Ms"),
    p99_ms: middle(half.program, "p99Ms"),
    limit_p99_ms: middle(half.limit, "p99Ms"),
    p99_ratio: medianRatio(half.program, half.limit, ({ p99Ms }) => p99Ms),
  };
}

/**
 * No query was ever asked before, so that nothing kept from earlier answers is of use. The limit
 * hands out the pages of the first hundred, whose bytes are the same as the program's.
 */
async function compareNewQueries(
  endpoint: string,
  { scenario, program, limit, effort }: {
    scenario: Scenario;
    program: Contestant;
    limit: Contestant;
    effort: Effort;
  },
): Promise<ApiRow> {
  const path = scenario.endpoints[endpoint]!;
  const queries = newQueries();
  const take = (count: number) =>
    Array.from({ length: count }, () => {
      const q = encodeURIComponent(queries.next().value);
      return `${path}${path.includes("?") ? "&" : "?"}q=${q}`;
    });
  const stored = take(LIMIT_QUERIES);
  await storeAnswers(scenario, program, stored);
  for (const path of stored) await checkSameBytes(scenario, { one: program, other: limit, path });
  return await compare(`${endpoint} with new q`, {
    program: () => ({
      ...target(scenario, program, path),
      paths: take(QUERIES_PER_SECOND * effort.seconds),
    }),
    limit: () => ({ ...target(scenario, limit, path), paths: stored, repeatsPaths: true }),
  }, { effort, isSame: false });
}

function formatRow(row: ApiRow): string {
  return `${row.endpoint.padEnd(20)} ${row.rps.toFixed(0).padStart(7)} of ${
    row.limit_rps.toFixed(0).padStart(6)
  } requests/s, ratio ${row.ratio.toFixed(2)}, p99 ${row.p99_ms.toFixed(2)} ms (limit ${
    row.limit_p99_ms.toFixed(2)
  }, ratio ${row.p99_ratio.toFixed(2)})`;
}
