/** How fast the reader of reports is. */
import { builds, identities } from "./generate.ts";
import { writeReport } from "./junit_file.ts";
import { denoRun } from "./processes.ts";
import { median } from "./slices.ts";

const RESULTS = 100_000;

interface Reading {
  seconds: number;
  cases: number;
}

/**
 * MB per second of one report of 100,000 results, each time read in a process of its own; its start
 * is not counted.
 */
export async function measureReader(rounds: number): Promise<number> {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/report.xml`;
    const expected = await writeOneReport(path);
    const megabytes = (await Deno.stat(path)).size / 1e6;
    const speeds: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const { seconds, cases } = await denoRun("own_reader.ts", path) as Reading;
      if (cases !== expected) throw new Error(`found ${cases} cases, expected ${expected}`);
      speeds.push(megabytes / seconds);
    }
    return median(speeds);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** @returns how many cases are in it */
async function writeOneReport(path: string): Promise<number> {
  const shape = {
    seed: 11,
    testCount: RESULTS,
    buildCount: 1,
    shardCount: 1,
    disruptiveTestCount: 1_000,
    disruptionCount: 100,
    from: 1_790_000_000,
    until: 1_790_000_000,
  };
  let cases = 0;
  for (const build of builds(shape)) {
    await writeReport(path, {
      build,
      tests: identities(RESULTS),
      onAttempt: () => cases++,
    });
  }
  return cases;
}
