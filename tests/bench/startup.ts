/** How soon `serve` gives its first answer where the data exists. */
import { startContestant } from "./processes.ts";
import { median } from "./slices.ts";

const RUNS = 5;

/** Milliseconds from the start of the process to its first answer: the median of some runs. */
export async function measureStartup(environment: Record<string, string>): Promise<number> {
  const main = new URL("../../main.ts", import.meta.url).pathname;
  const runs: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const started = performance.now();
    const program = await startContestant(
      Deno.execPath(),
      ["run", "-A", main, "serve", "--port", "0"],
      environment,
    );
    await (await fetch(`${program.url}/health`)).arrayBuffer();
    runs.push(performance.now() - started);
    await program.stop();
  }
  return median(runs);
}
