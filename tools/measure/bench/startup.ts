/** How soon `serve` gives its first answer where the data exists. */
import { openDatabase } from "../../../db/connection/connect.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { createOrganization } from "../../../db/admin/organizations.ts";
import { commitSubmission } from "../../../tests/commit_submission.ts";
import { createRepository } from "../../../db/admin/repositories.ts";
import { Columns } from "./columns.ts";
import { builds, identities } from "./generate.ts";
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

/** Makes an embedded database with some builds of 20,000 tests. */
export async function fillEmbedded(dataDir: string): Promise<void> {
  const database = await openDatabase({ dataDir });
  try {
    const { sql } = database;
    await migrate(sql);
    const now = Math.floor(Date.now() / 1000);
    const shape = {
      seed: 3,
      testCount: 20_000,
      buildCount: 5,
      shardCount: 1,
      disruptiveTestCount: 2_000,
      disruptionCount: 250,
      from: now - 3600,
      until: now,
    };
    const organization = await createOrganization(sql, {
      name: "bench",
      purchaseUnitCount: 0,
      createdAt: now,
    });
    const repository = await createRepository(sql, {
      organization: organization!,
      owner: "acme",
      name: "shop",
      createdAt: now,
    });
    const columns = new Columns(identities(shape.testCount));
    for (const build of builds(shape)) {
      await commitSubmission(sql, {
        repositoryId: repository.repositoryId,
        commitOid: build.commitOid,
        treeOid: build.treeOid,
        branch: "main",
        buildUrl: `https://ci.example.com/runs/${build.number}`,
        tags: [],
        recordedAt: build.recordedAt,
        uploadedAt: build.recordedAt,
        reportDigest: build.commitOid,
        content: columns.of(build.shard, build.attempts),
        coverage: null,
      });
    }
  } finally {
    await database.close();
  }
}
