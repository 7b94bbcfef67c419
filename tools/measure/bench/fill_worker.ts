/// <reference lib="webworker" />
/** Puts histories through the program's own processing, in a thread of its own. */
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import { commitSubmission } from "../../../tests/commit_submission.ts";
import { findOrCreateRepository } from "../../../db/admin/repositories.ts";
import { Columns } from "./columns.ts";
import { builds, type HistoryShape, identities } from "./generate.ts";

/** One repository's history, or a part of it. */
export interface Job {
  databaseUrl: string;
  organization: { organizationId: number; name: string };
  owner: string;
  name: string;
  /** Goes into the URLs of the builds: two parts of one history need two of them. */
  part: string;
  /** Of its builds, in turn; `main` unless given. */
  branches?: readonly string[];
  shape: HistoryShape;
}

/** How far a worker has come: results since it said so the last time. */
export type Said = { results: number; done: boolean } | { failed: string };

const SAY_AFTER_RESULTS = 50_000;
const COVERED_EVERY = 10;

let open: { url: string; database: Database } | null = null;

self.onmessage = async ({ data }: MessageEvent<Job | null>) => {
  try {
    if (data === null) {
      await open?.database.close();
      return self.close();
    }
    await run(data);
  } catch (error) {
    self.postMessage({ failed: String((error as Error).stack ?? error) } satisfies Said);
  }
};

async function run(job: Job): Promise<void> {
  const { databaseUrl, organization, owner, name, shape, branches = ["main"] } = job;
  if (open?.url !== databaseUrl) {
    await open?.database.close();
    const database = await openDatabase({ databaseUrl, dataDir: "", maxConnections: 1 });
    open = { url: databaseUrl, database };
  }
  const { sql } = open.database;
  const creation = { organization, owner, name, createdAt: shape.from };
  // Workers fill the parts of a repository at the same time.
  const repository = await sql.begin((tx) => findOrCreateRepository(tx, creation));
  const columns = new Columns(identities(shape.testCount));
  let results = 0;
  for (const build of builds(shape)) {
    const { testResultCount } = await commitSubmission(sql, {
      repositoryId: repository.repositoryId,
      commitOid: build.commitOid,
      treeOid: build.treeOid,
      branch: branches[build.number % branches.length]!,
      buildUrl: `https://ci.example.com/${owner}/${name}/${job.part}/${build.number}`,
      tags: [],
      recordedAt: build.recordedAt,
      uploadedAt: build.recordedAt,
      reportDigest: build.commitOid,
      content: columns.of(build.shard, build.attempts),
      coverage: build.number % COVERED_EVERY === 0
        ? { coveredLineCount: 8_412, lineCount: 10_000 }
        : null,
    });
    results += testResultCount;
    if (results >= SAY_AFTER_RESULTS) {
      self.postMessage({ results, done: false } satisfies Said);
      results = 0;
    }
  }
  self.postMessage({ results, done: true } satisfies Said);
}
