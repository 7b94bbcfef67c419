/** Latency of uncached responses about attempts, causes and branches. */
import { openDatabase } from "../../../db/connection/connect.ts";
import { findRepository } from "../../../db/admin/repositories.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { testId } from "../../../lib/base/identity.ts";
import { WINDOW_SECONDS } from "../../../lib/base/time.ts";
import { ask } from "./responses.ts";
import { createCaller } from "./callers.ts";
import { runJobs } from "./fill.ts";
import { type Contestant, startProgram } from "./processes.ts";
import { MEASURED } from "./scenario.ts";
import { median } from "./slices.ts";

/** Responses of one kind, each computed. */
export interface UncachedRow {
  what: string;
  requests: number;
  /** In the middle, and the slowest. */
  p50_ms: number;
  max_ms: number;
}

/** A repository in whose builds every test ran, and a token for it. */
interface FilledRepository {
  token: string;
  repositoryId: number;
  /** Ids of its disruptive tests. */
  testIds: string[];
  submissionIds: string[];
}

const MARGIN_SECONDS = 3_600;
const BRANCHES = ["main", "main", "renovate/deps", "feature/search", "release/7"];
const WARM_REQUESTS = 5;
const REQUESTS = 60;
/** Of those that read the whole window. */
const REQUESTS_FOR_REPOSITORY = 15;

/**
 * Fills an empty database with the measured repository, unsharded: 20,000 results a build.
 *
 * @param options.buildCount how often every test ran
 */
export async function fillUncached(
  databaseUrl: string,
  { buildCount, report }: { buildCount: number; report: (line: string) => void },
): Promise<FilledRepository> {
  const until = Math.floor(Date.now() / 1000);
  const from = until - WINDOW_SECONDS + MARGIN_SECONDS;
  const { owner, name, testCount, disruptiveTestCount, disruptionCount } = MEASURED;
  const { sql, close } = await openDatabase({ databaseUrl, dataDir: "" });
  try {
    await migrate(sql);
    const { organization, token } = await createCaller(sql, { name: "bench", createdAt: until });
    // Two halves, one for each processor. The disruptive tests are the same.
    const middle = Math.floor((from + until) / 2);
    const job = (part: string, time: { from: number; until: number }, seed: number) => ({
      databaseUrl,
      organization,
      owner,
      name,
      part,
      branches: BRANCHES,
      shape: {
        ...time,
        seed,
        testCount,
        buildCount: buildCount / 2,
        shardCount: 1,
        disruptiveTestCount,
        disruptionCount: disruptionCount / 2,
      },
    });
    const jobs = [job("old", { from, until: middle }, 1), job("new", { from: middle, until }, 2)];
    await runJobs(jobs, { expected: buildCount * testCount, report });
    await sql`vacuum analyze`;
    const { organizationId } = organization;
    const repository = await findRepository(sql, { organizationId, owner, name });
    const { repositoryId } = repository!;
    const tests = await sql<{ prefix: number; hash: number }[]>`
      select r.id_prefix::float8 as prefix, t.test_hash::float8 as hash
      from disruptive_test d join test t using (repository_id, test_no)
      join repository r using (repository_id)
      where repository_id = ${repositoryId} order by test_hash`;
    const submissions = await sql<{ id: string }[]>`
      select encode(submission_id, 'hex') as id from submission
      where repository_id = ${repositoryId} order by submission_id desc`;
    return {
      token,
      repositoryId,
      testIds: tests.map(({ prefix, hash }) => testId(prefix, hash)),
      submissionIds: submissions.map(({ id }) => id),
    };
  } finally {
    await close();
  }
}

/** Measures every kind of response, one request at a time, each URL once. */
export async function measureUncached(
  databaseUrl: string,
  { filled, report }: { filled: FilledRepository; report: (line: string) => void },
): Promise<UncachedRow[]> {
  const { token, repositoryId, testIds, submissionIds } = filled;
  const program = await startProgram(databaseUrl);
  const { sql, close } = await openDatabase({ databaseUrl, dataDir: "" });
  const rows: UncachedRow[] = [];
  const folder = `/api/repos/${MEASURED.owner}/${MEASURED.name}`;
  const kinds: [what: string, path: (number: number) => string, requests: number][] = [
    ["runs of a test", (number) => `/api/tests/${testIds[number]}/runs`, REQUESTS],
    [
      "failed runs of a test",
      (number) => `/api/tests/${testIds[number]}/runs?conclusion=failed`,
      REQUESTS,
    ],
    ["causes of a test", (number) => `/api/tests/${testIds[number]}/failures`, REQUESTS],
    [
      "a page of a submission",
      (number) => `${folder}/submissions/${submissionIds[number]}/tests`,
      REQUESTS,
    ],
    [
      "failures of a submission",
      (number) => `${folder}/submissions/${submissionIds[number]}/tests?status=failed`,
      REQUESTS,
    ],
    ["causes of a repository", () => `${folder}/failures`, REQUESTS_FOR_REPOSITORY],
    ["causes on a branch", () => `${folder}/failures?branch=main`, REQUESTS_FOR_REPOSITORY],
    ["tests on a branch", () => `${folder}/tests?branch=main`, REQUESTS_FOR_REPOSITORY],
    [
      "inventory on a branch",
      () => "/api/v1/flaky/tests?repository=acme/shop&quarantine=false&branch=main",
      REQUESTS_FOR_REPOSITORY,
    ],
  ];
  try {
    for (const [what, path, requests] of kinds) {
      const times: number[] = [];
      for (let number = 0; number < WARM_REQUESTS + requests; number++) {
        // What was kept counts no more.
        await sql`
          update repository_state set data_version = data_version + 1
          where repository_id = ${repositoryId}`;
        times.push(await timeOf(program, path(number), token));
      }
      const counted = times.slice(WARM_REQUESTS);
      const row = { what, requests, p50_ms: median(counted), max_ms: Math.max(...counted) };
      rows.push(row);
      report(
        `${what.padEnd(26)} p50 ${row.p50_ms.toFixed(1)} ms, at most ${row.max_ms.toFixed(1)} ms`,
      );
    }
    return rows;
  } finally {
    await Promise.all([program.stop(), close()]);
  }
}

async function timeOf({ url }: Contestant, path: string, token: string): Promise<number> {
  const started = performance.now();
  const response = await ask({
    url: `${url}${path}`,
    headers: { authorization: `Bearer ${token}` },
  });
  await response.arrayBuffer();
  return performance.now() - started;
}
