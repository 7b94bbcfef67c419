/** How long the first page takes right after an upload, when nothing kept is of use any more. */
import { openDatabase } from "../../db/connect.ts";
import { processSubmission } from "../../db/process_submission.ts";
import { findRepository } from "../../db/repositories.ts";
import { SubmissionBuilder } from "../../lib/analysis/submission_content.ts";
import { builds } from "./generate.ts";
import { startProgram } from "./processes.ts";
import type { Scenario } from "./scenario.ts";
import { median } from "./slices.ts";

const UPLOADS = 9;
const TESTS = 20_000;

/** Milliseconds of the first page of disruptive tests after an upload of 20,000 results. */
export async function measureAfterUpload(scenario: Scenario): Promise<number> {
  const database = await openDatabase({ databaseUrl: scenario.databaseUrl, dataDir: "" });
  const program = await startProgram(scenario.databaseUrl);
  try {
    const { organizationId } = scenario.organization;
    const repository = await findRepository(database.sql, {
      organizationId,
      owner: "acme",
      name: "shop",
    });
    const url = `${program.url}${scenario.endpoints.tests}`;
    const headers = { authorization: `Bearer ${scenario.token}` };
    const ask = async () => {
      const started = performance.now();
      const response = await fetch(url, { headers });
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${response.status}`);
      return performance.now() - started;
    };
    await ask();
    const times: number[] = [];
    const now = Math.floor(Date.now() / 1000);
    const shape = {
      seed: 99,
      testCount: TESTS,
      buildCount: UPLOADS,
      testsPerBuild: TESTS,
      disruptiveTestCount: 2_000,
      disruptionCount: UPLOADS * 50,
      until: now,
      days: 1,
    };
    for (const build of builds(shape)) {
      const content = new SubmissionBuilder();
      for (const result of build.results) content.add(result);
      await processSubmission(database.sql, {
        repositoryId: repository!.repositoryId,
        commitOid: build.commitOid,
        treeOid: build.treeOid,
        branch: null,
        buildUrl: `https://ci.example.com/after/${build.number}`,
        tags: [],
        recordedAt: now,
        uploadedAt: now,
        reportDigest: build.commitOid,
        content: content.finish(),
        coverage: null,
      });
      times.push(await ask());
    }
    return median(times);
  } finally {
    await program.stop();
    await database.close();
  }
}
