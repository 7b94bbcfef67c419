/** One endpoint of the program against the limit: a bare handler that returns the same bytes. */
import { checkSizes, storeResponses } from "./responses.ts";
import { atRate, type Measured, saturate, type Target } from "./load.ts";
import { type Contestant, startDeno, startProgram } from "./processes.ts";
import type { Scenario } from "./scenario.ts";
import { median, medianRatio, takeTurns } from "./slices.ts";

/** How long and how often is measured. */
export interface Effort {
  rounds: number;
  seconds: number;
}

/** One endpoint against the limit. */
export interface LimitRow {
  endpoint: string;
  /** Requests per second at saturation. */
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

/** The program and the limit, both running on one database. */
export interface Contestants {
  program: Contestant;
  limit: Contestant;
}

/** Runs `measure` with new processes, so that one endpoint leaves nothing behind for the next. */
export async function withContestants<T>(
  scenario: Scenario,
  measure: (contestants: Contestants) => Promise<T>,
): Promise<T> {
  const program = await startProgram(scenario.databaseUrl);
  try {
    // Creates the table that the limit reads.
    await storeResponses(scenario, program, []);
    const limit = await startDeno("limit.ts", scenario.databaseUrl);
    try {
      return await measure({ program, limit });
    } finally {
      await limit.stop();
    }
  } finally {
    await program.stop();
  }
}

/**
 * Compares in interleaved slices, at saturation and at half of the program's own rate. `targets` are
 * called for every slice: a target may be good for one slice only.
 */
export async function compareWithLimit(
  endpoint: string,
  targets: { program: () => Target; limit: () => Target },
  { effort, isSame }: {
    effort: Effort;
    /** Every request of both gets the same body. */
    isSame: boolean;
  },
): Promise<LimitRow> {
  const full = await takeTurns({
    program: () => saturate(targets.program(), effort.seconds),
    limit: () => saturate(targets.limit(), effort.seconds),
  }, effort.rounds);
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

/** One line of progress. */
export function formatLimitRow(row: LimitRow): string {
  return `${row.endpoint.padEnd(20)} ${row.rps.toFixed(0).padStart(7)} of ${
    row.limit_rps.toFixed(0).padStart(6)
  } requests/s, ratio ${row.ratio.toFixed(2)}, p99 ${row.p99_ms.toFixed(2)} ms (limit ${
    row.limit_p99_ms.toFixed(2)
  }, ratio ${row.p99_ratio.toFixed(2)})`;
}
