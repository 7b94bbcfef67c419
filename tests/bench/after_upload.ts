/** How long the first page takes right after an upload, when what was kept holds no more. */
import { openDatabase } from "../../db/connect.ts";
import { processSubmission } from "../../db/process_submission.ts";
import { findRepository } from "../../db/repositories.ts";
import { ask, target } from "./answers.ts";
import { Columns } from "./columns.ts";
import { builds, identities } from "./generate.ts";
import { startProgram } from "./processes.ts";
import { MEASURED, type Scenario } from "./scenario.ts";
import { median } from "./slices.ts";

const UPLOADS = 9;
const DISRUPTIONS_PER_BUILD = MEASURED.disruptionCount / MEASURED.buildCount;

/**
 * Milliseconds of the first page of disruptive tests after an upload of 20,000 results, in a
 * process that has answered that page before.
 */
export async function measureAfterUpload(
  scenario: Scenario,
  { report }: { report: (line: string) => void },
): Promise<number> {
  const database = await openDatabase({ databaseUrl: scenario.databaseUrl, dataDir: "" });
  const program = await startProgram(scenario.databaseUrl);
  try {
    const { organizationId } = scenario.organization;
    const { owner, name, testCount, disruptiveTestCount } = MEASURED;
    const repository = await findRepository(database.sql, { organizationId, owner, name });
    const page = target(scenario, program, scenario.endpoints.tests!);
    const read = async () => {
      const started = performance.now();
      const response = await ask(page);
      await response.arrayBuffer();
      return { ms: performance.now() - started, tag: response.headers.get("etag") };
    };
    let last = (await read()).tag;
    const now = Math.floor(Date.now() / 1000);
    const columns = new Columns(identities(testCount));
    const times: number[] = [];
    for (
      const build of builds({
        seed: 99,
        testCount,
        buildCount: UPLOADS,
        shardCount: 1,
        disruptiveTestCount,
        disruptionCount: UPLOADS * DISRUPTIONS_PER_BUILD,
        from: now,
        until: now,
      })
    ) {
      await processSubmission(database.sql, {
        repositoryId: repository!.repositoryId,
        commitOid: build.commitOid,
        treeOid: build.treeOid,
        branch: null,
        buildUrl: `https://ci.example.com/after/${build.commitOid}`,
        tags: [],
        recordedAt: now,
        uploadedAt: now,
        reportDigest: build.commitOid,
        content: columns.of(build.shard, build.attempts),
        coverage: null,
      });
      const { ms, tag } = await read();
      if (tag === last) throw new Error("the page did not change with an upload");
      last = tag;
      times.push(ms);
    }
    report(`first pages: ${times.map((ms) => ms.toFixed(1)).join(", ")} ms`);
    return median(times);
  } finally {
    await program.stop();
    await database.close();
  }
}
