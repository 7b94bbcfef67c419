/** How long the pages for browsers take, and how large they are. */
import { gzipSync } from "node:zlib";
import { ask, target } from "./responses.ts";
import { startProgram } from "./processes.ts";
import { MEASURED, type Scenario } from "./scenario.ts";
import { median } from "./slices.ts";

const PROCESSES = 5;
const REPEATS = 21;

/** One page. */
export interface PageRow {
  page: string;
  /** The first request for it in a process with an open connection, in the middle of some. */
  cold_ms: number;
  /** Requests after that. */
  again_ms: number;
  /** Compressed, style included. */
  kb: number;
}

/** The pages of the measured repository, its most disruptive test and its latest build. */
export async function measurePages(
  scenario: Scenario,
  { report }: { report: (line: string) => void },
): Promise<PageRow[]> {
  const { owner, name } = MEASURED;
  const repository = `${owner}/${name}`;
  const times = new Map<string, { cold: number[]; again: number[]; kb: number }>();
  for (let process = 0; process < PROCESSES; process++) {
    const program = await startProgram(scenario.databaseUrl);
    try {
      const first = async (
        path: string,
      ) => (await (await ask(target(scenario, program, path))).json());
      const { submissions } = await first(`/api/repos/${repository}/submissions?limit=1`);
      const disruptive = process === 0
        ? (await first(`/api/repos/${repository}/tests?limit=1`)).tests[0].id
        : [...times.keys()].find((path) => path.startsWith("/tests/"))!.slice("/tests/".length);
      const paths = [
        "/repos",
        `/repos/${repository}`,
        `/flaky-tests?repository=${repository}&quarantine=false`,
        `/tests/${disruptive}`,
        `/repos/${repository}/builds/${submissions[0].id}`,
      ];
      for (const path of paths) {
        const page = target(scenario, program, path);
        const read = async () => {
          const started = performance.now();
          const body = await (await ask(page)).text();
          return { ms: performance.now() - started, body };
        };
        const cold = await read();
        const row = times.get(path) ??
          { cold: [], again: [], kb: gzipSync(cold.body).length / 1000 };
        times.set(path, row);
        // In the first process a list of tests was loaded before.
        if (process > 0) row.cold.push(cold.ms);
        for (let repeat = 0; repeat < REPEATS; repeat++) row.again.push((await read()).ms);
      }
    } finally {
      await program.stop();
    }
  }
  return [...times].map(([page, { cold, again, kb }]) => {
    const row = { page, cold_ms: median(cold), again_ms: median(again), kb };
    report(JSON.stringify(row));
    return row;
  });
}
