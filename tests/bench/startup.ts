/** How soon `serve` gives its first answer where the data exists. */
import { startContestant } from "./processes.ts";
import { median } from "./slices.ts";

const RUNS = 7;

/**
 * Milliseconds from the start of the process to its first answer out of the database, which comes
 * after the schema was checked: the median of some runs, the first of which is not counted.
 *
 * @param program what Deno runs: the program's source, or its single-file bundle
 */
export async function measureStartup(
  program: string,
  environment: Record<string, string>,
): Promise<number> {
  const runs: number[] = [];
  for (let run = -1; run < RUNS; run++) {
    const started = performance.now();
    const contestant = await startContestant(
      Deno.execPath(),
      ["run", "-A", program, "serve", "--port", "0"],
      environment,
    );
    // An invalid token is looked up in the database, and refused.
    const response = await fetch(`${contestant.url}/api`, {
      headers: { authorization: `Bearer tk_${"0".repeat(64)}` },
    });
    await response.arrayBuffer();
    if (response.status !== 401) throw new Error(`expected 401, not ${response.status}`);
    if (run >= 0) runs.push(performance.now() - started);
    await contestant.stop();
  }
  return median(runs);
}
