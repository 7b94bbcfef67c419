/** Load during an outage: requests, uploads by `ingest`, archives for `watch`. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { launch, type Launched } from "../../../tests/e2e/launch.ts";
import { type Ending, run } from "../../../tests/e2e/program.ts";
import { type Prober, type Sightings, startProber } from "./prober.ts";
import type { SystemUnderTest } from "./system_under_test.ts";
import { putArchive, type Upload } from "./uploads.ts";
import { pause } from "../../../lib/base/delay.ts";

const CLIENTS = 4;
const TESTS = 300;

/** Pause between two archives. */
const ARCHIVE_PAUSE_MS = 500;

/** Result of a period of load. */
interface LoadOutcome {
  seen: Sightings;
  /** Uploads that the program acknowledged. */
  acknowledged: Upload[];
  /** Failed uploads by `ingest` with their error output. */
  refused: { upload: Upload; stderr: string }[];
  /** Archives that were not processed when the load ended. */
  waiting: Upload[];
  /** All archives. They stay in the folder, so lost ones are processed again. */
  archives: Upload[];
}

/** Load that runs until it is stopped. */
export interface Load {
  prober: Prober;
  /** Number of acknowledged uploads so far. */
  count(): number;
  stop(): Promise<LoadOutcome>;
}

/** Starts load on the service. */
export async function startLoad(system: SystemUnderTest): Promise<Load> {
  await system.service();
  system.isConcurrent = true;
  const { environment } = system.runDatabase;
  const acknowledged: Upload[] = [];
  const refused: LoadOutcome["refused"] = [];
  const archives: Upload[] = [];
  let isStopped = false;
  const prober = startProber(() => system.address(), {
    clients: CLIENTS,
    target: `/api/repos/${system.repository}/submissions`,
  });
  const watcher: Launched = launch(watchArgs(system), environment);
  const ingesting = (async () => {
    while (!isStopped) {
      const upload = system.nextUpload(TESTS);
      const ending: Ending = await run(await system.ingestArgs(upload), environment);
      if (ending.code === 0) acknowledged.push(upload);
      else refused.push({ upload, stderr: ending.stderr });
    }
  })();
  const uploading = (async () => {
    while (!isStopped) {
      const upload = system.nextUpload(TESTS);
      await putArchive(upload, system.folder);
      archives.push(upload);
      await pause(ARCHIVE_PAUSE_MS);
    }
  })();
  return {
    prober,
    count: () => acknowledged.length,
    async stop() {
      isStopped = true;
      await Promise.all([ingesting, uploading]);
      const seen = await prober.stop();
      const { code, stdout, stderr } = await watcher.stop();
      assert.equal(code, 0, `watch ended with ${code}: ${stderr}`);
      const done = new Set(
        [...stdout.matchAll(/^(\d+)\.gz\tprocessed\t/gm)].map(([, no]) => Number(no)),
      );
      acknowledged.push(...archives.filter(({ no }) => done.has(no)));
      const waiting = archives.filter(({ no }) => !done.has(no));
      return { seen, acknowledged, refused, waiting, archives };
    },
  };
}

/**
 * Checks the state after a load: acknowledged uploads must be stored, unless `mayBeLost`. Repeats the
 * others and checks again. Returns acknowledged uploads that were lost.
 */
export async function settle(
  system: SystemUnderTest,
  { acknowledged, refused, waiting, archives }: LoadOutcome,
  { mayBeLost = false }: { mayBeLost?: boolean } = {},
): Promise<Upload[]> {
  const { environment } = system.runDatabase;
  const doubtful = [...refused.map(({ upload }) => upload), ...waiting];
  let lost: Upload[] = [];
  if (mayBeLost) {
    const before = [...system.certain, ...acknowledged];
    system.certain = [];
    const { there } = await system.check(...before, ...doubtful);
    lost = before.filter((upload) => !there.includes(upload));
    system.certain = before.filter((upload) => there.includes(upload));
  } else {
    system.certain.push(...acknowledged);
    await system.check(...doubtful);
  }
  const gone = lost.filter((upload) => !archives.includes(upload));
  for (const upload of [...refused.map(({ upload }) => upload), ...gone]) {
    const { code, stderr } = await run(await system.ingestArgs(upload), environment);
    assert.equal(code, 0, stderr);
  }
  await pause(1_100);
  const { code, stderr } = await run([...watchArgs(system), "--once"], environment);
  assert.equal(code, 0, stderr);
  system.certain.push(...doubtful, ...lost);
  assert.equal((await system.check()).unprocessed, 0);
  for (const entry of Deno.readDirSync(system.folder)) {
    if (entry.name.endsWith(".gz")) await Deno.remove(join(system.folder, entry.name));
  }
  return lost;
}

function watchArgs(system: SystemUnderTest): string[] {
  return ["watch", system.folder, "--org", "acme", "--lease", "1s", "--interval", "1s"];
}
