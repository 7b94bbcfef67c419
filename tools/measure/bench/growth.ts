/** Whether a page stays fast when the history is a hundred times larger. */
import { ask, target } from "./responses.ts";
import type { Effort } from "./against_limit.ts";
import { atRate, saturate } from "./load.ts";
import { startProgram } from "./processes.ts";
import type { Scenario } from "./scenario.ts";
import { median, medianRatio, takeTurns } from "./slices.ts";

/** One endpoint on a small and on a large database. */
export interface GrowthRow {
  endpoint: string;
  small_results: number;
  large_results: number;
  /** Of the median times of a request, at the same rate. */
  ratio: number;
  small_p50_ms: number;
  large_p50_ms: number;
}

// Half of what the program does at most, so that nothing waits in line.
const SHARE_OF_SATURATION = 0.5;

/** Measures endpoints on two databases that hold the same repository, and loading without a cache. */
export async function measureGrowth(
  { small, large }: Record<"small" | "large", Scenario>,
  { endpoints, effort, report }: {
    /** Names of endpoints. */
    endpoints: string[];
    effort: Effort;
    report: (line: string) => void;
  },
): Promise<GrowthRow[]> {
  const rows: GrowthRow[] = [];
  const add = (endpoint: string, times: Record<"small" | "large", number[]>) => {
    const row: GrowthRow = {
      endpoint,
      small_results: small.resultCount,
      large_results: large.resultCount,
      ratio: medianRatio(times.large, times.small, (ms) => ms),
      small_p50_ms: median(times.small),
      large_p50_ms: median(times.large),
    };
    rows.push(row);
    report(
      `${endpoint.padEnd(20)} ${row.small_p50_ms.toFixed(2)} ms -> ${
        row.large_p50_ms.toFixed(2)
      } ms, ratio ${row.ratio.toFixed(2)}`,
    );
  };
  const one = await startProgram(small.databaseUrl);
  const other = await startProgram(large.databaseUrl);
  try {
    for (const endpoint of endpoints) {
      const path = small.endpoints[endpoint]!;
      const targets = {
        small: target(small, one, path),
        large: target(large, other, path),
      };
      const { rps } = await saturate(targets.small, 1);
      await saturate(targets.large, 1);
      const run = { rate: rps * SHARE_OF_SATURATION, seconds: effort.seconds };
      const turns = await takeTurns(
        {
          small: async () => (await atRate(targets.small, run)).p50Ms,
          large: async () => (await atRate(targets.large, run)).p50Ms,
        },
        effort.rounds,
        { isWarm: true },
      );
      add(endpoint, turns);
    }
  } finally {
    await Promise.all([one.stop(), other.stop()]);
  }
  add("tests, cold", await measureCold(small, large, effort));
  return rows;
}

/** The first page that a new process answers: it has to load all tests of the repository. */
async function measureCold(small: Scenario, large: Scenario, { rounds }: Effort) {
  const firstPage = async (scenario: Scenario) => {
    const program = await startProgram(scenario.databaseUrl);
    try {
      const page = target(scenario, program, scenario.endpoints.tests!);
      // The connection to the database, the token, and code that every request needs.
      await (await ask({ ...page, url: `${program.url}/api` })).body?.cancel();
      const started = performance.now();
      await (await ask(page)).arrayBuffer();
      return performance.now() - started;
    } finally {
      await program.stop();
    }
  };
  return await takeTurns({ small: () => firstPage(small), large: () => firstPage(large) }, rounds);
}
