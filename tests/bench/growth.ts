/** Whether a page stays fast when the history is a hundred times larger. */
import { saturate, type Target } from "./load.ts";
import { type Contestant, startProgram } from "./processes.ts";
import type { Scenario } from "./scenario.ts";
import { medianRatio, takeTurns } from "./slices.ts";
import type { Effort } from "./api.ts";

/** One endpoint on a small and on a large database. */
export interface GrowthRow {
  endpoint: string;
  small_results: number;
  large_results: number;
  /** Of the median times of a request. */
  ratio: number;
}

/** Measures every endpoint on two databases that hold the same repository. */
export async function measureGrowth(
  small: Scenario,
  large: Scenario,
  { effort, report }: { effort: Effort; report: (line: string) => void },
): Promise<GrowthRow[]> {
  const rows: GrowthRow[] = [];
  const [one, other] = [
    await startProgram(small.databaseUrl),
    await startProgram(large.databaseUrl),
  ];
  try {
    for (const endpoint of Object.keys(small.endpoints)) {
      const turns = await takeTurns({
        small: () => saturate(target(small, one, endpoint), effort.seconds),
        large: () => saturate(target(large, other, endpoint), effort.seconds),
      }, effort.rounds);
      rows.push({
        endpoint,
        small_results: small.resultCount,
        large_results: large.resultCount,
        ratio: medianRatio(turns.large, turns.small, ({ p50Ms }) => p50Ms),
      });
      report(`${endpoint.padEnd(20)} ${rows.at(-1)!.ratio.toFixed(2)}`);
    }
    return rows;
  } finally {
    await Promise.all([one.stop(), other.stop()]);
  }
}

function target(scenario: Scenario, contestant: Contestant, endpoint: string): Target {
  return {
    url: `${contestant.url}${scenario.endpoints[endpoint]}`,
    headers: { authorization: `Bearer ${scenario.token}` },
  };
}
