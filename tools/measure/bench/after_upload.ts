/** How long the first page takes right after an upload, when what was kept holds no more. */
import { openDatabase } from "../../../db/connection/connect.ts";
import { commitSubmission } from "../../../tests/commit_submission.ts";
import { findRepository } from "../../../db/admin/repositories.ts";
import { ask, target } from "./responses.ts";
import { Columns } from "./columns.ts";
import { builds, identities } from "./generate.ts";
import { startProgram } from "./processes.ts";
import { MEASURED, type Scenario } from "./scenario.ts";
import { median } from "./slices.ts";

const UPLOADS = 9;

// Those that have any have the same ones again and again: from the second upload on, a list has them.
const TAGS = ["nightly", "linux"];

/** Milliseconds of the first page after an upload, in the middle of some. */
export interface AfterUploadFigures {
  after_upload_ms: number;
  /** Of tests that may have other tags now, all that lists show has to be looked up again. */
  after_tagged_upload_ms: number;
}

const DISRUPTIONS_PER_BUILD = MEASURED.disruptionCount / MEASURED.buildCount;

/**
 * The first page of disruptive tests after uploads of 20,000 results, with and without tags in turn,
 * in a process that has answered that page before.
 */
export async function measureAfterUpload(
  scenario: Scenario,
  { report }: { report: (line: string) => void },
): Promise<AfterUploadFigures> {
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
    const times = { untagged: [] as number[], tagged: [] as number[] };
    let kind: keyof typeof times = "tagged";
    for (
      const build of builds({
        seed: 99,
        testCount,
        buildCount: 2 * UPLOADS,
        shardCount: 1,
        disruptiveTestCount,
        disruptionCount: 2 * UPLOADS * DISRUPTIONS_PER_BUILD,
        from: now,
        until: now,
      })
    ) {
      kind = kind === "tagged" ? "untagged" : "tagged";
      await commitSubmission(database.sql, {
        repositoryId: repository!.repositoryId,
        commitOid: build.commitOid,
        treeOid: build.treeOid,
        branch: null,
        buildUrl: `https://ci.example.com/after/${build.commitOid}`,
        tags: kind === "tagged" ? TAGS : [],
        recordedAt: now,
        uploadedAt: now,
        reportDigest: build.commitOid,
        content: columns.of(build.shard, build.attempts),
        coverage: null,
      });
      const { ms, tag } = await read();
      if (tag === last) throw new Error("the page did not change with an upload");
      last = tag;
      times[kind].push(ms);
    }
    for (const [name, all] of Object.entries(times)) {
      report(`first pages, ${name}: ${all.map((ms) => ms.toFixed(1)).join(", ")} ms`);
    }
    return {
      after_upload_ms: median(times.untagged),
      after_tagged_upload_ms: median(times.tagged),
    };
  } finally {
    await program.stop();
    await database.close();
  }
}
