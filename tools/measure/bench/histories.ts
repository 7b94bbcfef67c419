/** How long what rests on the history of tests takes: pages and responses, and an upload to a long history. */
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import type { Organization } from "../../../db/admin/organizations.ts";
import { findOrCreateRepository, findRepository } from "../../../db/admin/repositories.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { testId } from "../../../lib/base/identity.ts";
import { commitSubmission } from "../../../tests/commit_submission.ts";
import { createCaller } from "./callers.ts";
import { Columns } from "./columns.ts";
import { runJobs } from "./fill.ts";
import { builds, type HistoryShape, identities } from "./generate.ts";
import { type Contestant, startProgram } from "./processes.ts";
import { ask } from "./responses.ts";
import { median } from "./slices.ts";

const SECONDS_PER_DAY = 86_400;

/** The base branch is looked for among builds of 90 days. */
const HISTORY_DAYS = 85;

const TEST_COUNT = 20_000;
const FAILING_TEST_COUNT = 2_000;

/** Each of the failing tests fails in this share of its runs. */
const FAILURE_RATE = 0.01;

const PROCESSES = 3;
const REPEATS = 7;
const UPLOADS = 5;

/** One page or response. */
interface HistoryPageRow {
  page: string;
  /** The first request of a process, which also loads code, for an organization that is nearly empty. */
  code_ms: number;
  /** The first request for the repository after that. */
  cold_ms: number;
  /** The first request for the repository that is also the first one of a process. */
  first_ms: number;
  /** The first one after an upload to the repository. */
  after_upload_ms: number;
  /** Others. */
  again_ms: number;
}

/** What was measured of a repository with a long history. */
export interface HistoryFigures {
  /** Of each test. */
  runs: number;
  pages: HistoryPageRow[];
  /** Milliseconds of an upload to the repository, and to one of the same tests with two runs. */
  upload_ms: number;
  upload_without_history_ms: number;
}

/** In each of two organizations. */
const REPOSITORY = { owner: "acme", name: "shop" };

interface Place {
  organization: Organization;
  token: string;
  testId: string;
}

/** What was filled. */
interface FilledHistories {
  /** Of each test. */
  runs: number;
  /** The repository that is measured, and a small one of another organization. */
  large: Place;
  small: Place;
}

/**
 * Fills an empty database with a repository of 20,000 tests, of which 2,000 failed in 1 % of their runs.
 *
 * @param options.runs of each test, all on the base branch
 */
export async function fillHistories(
  databaseUrl: string,
  { runs, report }: { runs: number; report: (line: string) => void },
): Promise<FilledHistories> {
  const { sql, close } = await openDatabase({ databaseUrl, dataDir: "" });
  try {
    await migrate(sql);
    const until = Math.floor(Date.now() / 1000);
    const large = await createCaller(sql, { name: "large", createdAt: until });
    const small = await createCaller(sql, { name: "small", createdAt: until });
    const from = until - HISTORY_DAYS * SECONDS_PER_DAY;
    const middle = Math.floor((from + until) / 2);
    const halfOf = (part: string, seed: number, time: { from: number; until: number }) => ({
      databaseUrl,
      organization: large.organization,
      ...REPOSITORY,
      part,
      shape: shapeOf({ seed, runs: runs / 2, ...time }),
    });
    const smallShape = { testCount: 20, disruptiveTestCount: 5, disruptionCount: 20 };
    await runJobs([
      halfOf("old", 1, { from, until: middle }),
      halfOf("new", 2, { from: middle, until }),
      {
        ...halfOf("all", 3, { from, until }),
        organization: small.organization,
        shape: { ...smallShape, seed: 3, buildCount: 50, shardCount: 1, from, until },
      },
    ], { expected: runs * TEST_COUNT, report });
    await sql`vacuum analyze`;
    return { runs, large: await placeOf(sql, large), small: await placeOf(sql, small) };
  } finally {
    await close();
  }
}

/** The filled repository of an organization, and one of its tests that failed. */
async function placeOf(
  sql: Database["sql"],
  { organization, token }: { organization: Organization; token: string },
): Promise<Place> {
  const { organizationId } = organization;
  const repository = await findRepository(sql, { organizationId, ...REPOSITORY });
  const [test] = await sql<{ prefix: number; hash: number }[]>`
    select r.id_prefix::float8 as prefix, t.test_hash::float8 as hash
    from disruptive_test d join test t using (repository_id, test_no)
    join repository r using (repository_id)
    where repository_id = ${repository!.repositoryId} order by test_hash limit 1`;
  return { organization, token, testId: testId(test!.prefix, test!.hash) };
}

/** Measures requests, and uploads. */
export async function measureHistories(
  databaseUrl: string,
  { filled, report }: { filled: FilledHistories; report: (line: string) => void },
): Promise<HistoryFigures> {
  const { runs, large } = filled;
  const { sql, close } = await openDatabase({ databaseUrl, dataDir: "" });
  try {
    const upload = uploadTo(sql, { ...large, name: REPOSITORY.name });
    const pages = await measureRequests(databaseUrl, { ...filled, upload });
    for (const row of pages) report(JSON.stringify(row));
    return { runs, pages, ...await measureOwnTime(sql, large) };
  } finally {
    await close();
  }
}

function shapeOf(
  { runs, ...time }: { seed: number; runs: number; from: number; until: number },
): HistoryShape {
  return {
    ...time,
    testCount: TEST_COUNT,
    buildCount: runs,
    shardCount: 1,
    disruptiveTestCount: FAILING_TEST_COUNT,
    disruptionCount: Math.round(runs * FAILING_TEST_COUNT * FAILURE_RATE),
    brokenShare: 0,
  };
}

function pathsOf({ testId }: Place): string[] {
  const repository = `${REPOSITORY.owner}/${REPOSITORY.name}`;
  return [
    "/repos",
    `/repos/${repository}`,
    `/flaky-tests?repository=${repository}&quarantine=false`,
    `/tests/${testId}`,
    `/api/repos/${repository}/states`,
    `/api/tests/${testId}/evidence`,
  ];
}

async function measureRequests(
  databaseUrl: string,
  { large, small, upload }: { large: Place; small: Place; upload: () => Promise<unknown> },
): Promise<HistoryPageRow[]> {
  const smallPaths = pathsOf(small);
  const kinds = ["code", "cold", "first", "after_upload", "again"] as const;
  const times = pathsOf(large).map((path, index) => ({
    path,
    smallPath: smallPaths[index]!,
    ms: Object.fromEntries(kinds.map((kind) => [kind, [] as number[]])) as Record<
      typeof kinds[number],
      number[]
    >,
  }));
  for (const kind of ["cold", "first"] as const) {
    for (let process = 0; process < PROCESSES; process++) {
      const program = await startProgram(databaseUrl);
      try {
        for (const { path, smallPath, ms } of times) {
          if (kind === "cold") ms.code.push(await timeOf(program, small, smallPath));
          ms[kind].push(await timeOf(program, large, path));
          for (let repeat = 0; repeat < REPEATS; repeat++) {
            ms.again.push(await timeOf(program, large, path));
          }
        }
        await upload();
        for (const { path, ms } of times) ms.after_upload.push(await timeOf(program, large, path));
      } finally {
        await program.stop();
      }
    }
  }
  return times.map(({ path, ms }) => ({
    page: path.replace(large.testId, "ID"),
    code_ms: median(ms.code),
    cold_ms: median(ms.cold),
    first_ms: median(ms.first),
    after_upload_ms: median(ms.after_upload),
    again_ms: median(ms.again),
  }));
}

async function timeOf(
  { url }: Contestant,
  { token }: Pick<Place, "token">,
  path: string,
): Promise<number> {
  const started = performance.now();
  const response = await ask({
    url: `${url}${path}`,
    headers: { authorization: `Bearer ${token}` },
  });
  await response.arrayBuffer();
  return performance.now() - started;
}

/** Uploads a run of all tests each time. @returns milliseconds */
function uploadTo(
  sql: Database["sql"],
  { organization, name }: { organization: Organization; name: string },
): () => Promise<number> {
  const columns = new Columns(identities(TEST_COUNT));
  const now = Math.floor(Date.now() / 1000);
  const creation = { organization, owner: REPOSITORY.owner, name, createdAt: now };
  const seed = Number.parseInt(crypto.randomUUID().slice(0, 6), 16);
  const next = builds(shapeOf({ seed, runs: 100, from: now, until: now }));
  return async () => {
    const { repositoryId } = await findOrCreateRepository(sql, creation);
    const build = next.next().value!;
    const content = columns.of(build.shard, build.attempts);
    const started = performance.now();
    await commitSubmission(sql, {
      repositoryId,
      commitOid: build.commitOid,
      treeOid: build.treeOid,
      branch: "main",
      buildUrl: `https://ci.example.com/after/${build.commitOid}`,
      tags: [],
      recordedAt: now,
      uploadedAt: now,
      reportDigest: build.commitOid,
      content,
      coverage: null,
    });
    return performance.now() - started;
  };
}

/** Uploads in turn to the repository and to a new one of the same tests: a long history must cost nothing. */
async function measureOwnTime(sql: Database["sql"], { organization }: Place) {
  const contestants = [
    uploadTo(sql, { organization, name: REPOSITORY.name }),
    uploadTo(sql, { organization, name: "new" }),
  ];
  const times: number[][] = contestants.map(() => []);
  // The first ones make the tests known.
  for (let round = -2; round < UPLOADS; round++) {
    for (const [index, upload] of contestants.entries()) {
      const ms = await upload();
      if (round >= 0) times[index]!.push(ms);
    }
  }
  return { upload_ms: median(times[0]!), upload_without_history_ms: median(times[1]!) };
}
