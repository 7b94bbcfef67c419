/** The databases that are measured: one large repository and 200 smaller ones. */
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import type { Organization } from "../../../db/admin/organizations.ts";
import { findRepository } from "../../../db/admin/repositories.ts";
import { testId } from "../../../lib/base/identity.ts";
import { WINDOW_SECONDS } from "../../../lib/base/time.ts";
import { quarantine } from "../../../tests/routes/fixture.ts";
import { createCaller } from "./callers.ts";
import { runJobs } from "./fill.ts";
import type { Job } from "./fill_worker.ts";
import type { HistoryShape } from "./generate.ts";

/** A filled database and how to ask for what is in it. */
export interface Scenario {
  databaseUrl: string;
  organization: Organization;
  token: string;
  /** One path for each data endpoint, by name. */
  endpoints: Record<string, string>;
  /** Results of all repositories together. */
  resultCount: number;
  /** Second at which the window ended when it was filled, since 1970. */
  filledAt: number;
}

/** The repository that is measured, and its window: the same however large the database is. */
export const MEASURED = {
  owner: "acme",
  name: "shop",
  testCount: 20_000,
  buildCount: 1_000,
  disruptiveTestCount: 2_000,
  disruptionCount: 50_000,
};
/** The repositories next to it. */
export const SMALL_REPOSITORY_NAMES: readonly string[] = Array.from(
  { length: 200 },
  (_, number) => `service-${number}`,
);
const QUARANTINED_TESTS = 50;
const SECONDS_PER_DAY = 86_400;
const WINDOW_DAYS = WINDOW_SECONDS / SECONDS_PER_DAY;
// Older than the window by a day, so that nothing of the history is ever counted.
const HISTORY_ENDS_DAYS_AGO = WINDOW_DAYS + 1;
const HISTORY_DAYS = 180;
const RESULTS_OF_OTHER = 2_500_000;
// The oldest build stays inside the window for about the time that a run takes.
const MARGIN_SECONDS = 3_600;

/** Fills an empty database with about `resultCount` results of the window. */
export async function fillWindow(
  databaseUrl: string,
  { resultCount, report }: { resultCount: number; report: (line: string) => void },
): Promise<Scenario> {
  const database = await openDatabase({ databaseUrl, dataDir: "" });
  const { sql } = database;
  try {
    await migrate(sql);
    const filledAt = Math.floor(Date.now() / 1000);
    const { organization, token } = await createCaller(sql, { name: "bench", createdAt: filledAt });
    const from = filledAt - WINDOW_SECONDS + MARGIN_SECONDS;
    const jobs = windowJobs(resultCount, { from, until: filledAt })
      .map((job) => ({ ...job, databaseUrl, organization }));
    const stored = await withoutWaiting(
      sql,
      () => runJobs(jobs, { expected: resultCount, report }),
    );
    const { owner, name } = MEASURED;
    const { organizationId } = organization;
    const repository = await findRepository(sql, { organizationId, owner, name });
    const test = await quarantineSome(sql, repository!.repositoryId, filledAt);
    await sql`vacuum analyze`;
    return {
      databaseUrl,
      organization,
      token,
      resultCount: stored,
      filledAt,
      endpoints: endpointsOf(test),
    };
  } finally {
    await database.close();
  }
}

/**
 * What is only filled need not reach the disk commit by commit. Holds for connections that are made
 * after it.
 */
async function withoutWaiting<T>(sql: Database["sql"], fill: () => Promise<T>): Promise<T> {
  const [row] = await sql<{ name: string }[]>`select current_database() as name`;
  await sql`alter database ${sql(row!.name)} set synchronous_commit = off`;
  try {
    return await fill();
  } finally {
    await sql`alter database ${sql(row!.name)} reset synchronous_commit`;
  }
}

/** Adds history, older than the window, until the database holds about `resultCount` results. */
export async function fillHistory(
  scenario: Scenario,
  { databaseUrl, resultCount, report }: {
    databaseUrl: string;
    resultCount: number;
    report: (line: string) => void;
  },
): Promise<Scenario> {
  const missing = resultCount - scenario.resultCount;
  const jobs = historyJobs(missing, scenario.filledAt)
    .map((job) => ({ ...job, databaseUrl, organization: scenario.organization }));
  const database = await openDatabase({ databaseUrl, dataDir: "" });
  try {
    const stored = await withoutWaiting(
      database.sql,
      () => runJobs(jobs, { expected: missing, report }),
    );
    await database.sql`vacuum analyze`;
    return { ...scenario, databaseUrl, resultCount: scenario.resultCount + stored };
  } finally {
    await database.close();
  }
}

type JobShape = Pick<Job, "owner" | "name" | "part" | "shape">;

function windowJobs(
  resultCount: number,
  time: Pick<HistoryShape, "from" | "until">,
): JobShape[] {
  const { owner, name, ...counts } = MEASURED;
  const perBuild = (resultCount * 0.9 - counts.disruptionCount) / counts.buildCount;
  const shop: JobShape = {
    owner,
    name,
    part: "window",
    shape: {
      seed: 1,
      ...counts,
      ...time,
      shardCount: Math.max(1, Math.round(counts.testCount / perBuild)),
    },
  };
  // More builds rather than more tests: as with any repository, a test runs again and again.
  const perRepository = (resultCount * 0.1) / SMALL_REPOSITORY_NAMES.length;
  const testCount = Math.min(100, Math.max(20, Math.round(perRepository / 10)));
  const buildCount = Math.round(perRepository / testCount);
  const others = SMALL_REPOSITORY_NAMES.map((name, number): JobShape => ({
    owner,
    name,
    part: "window",
    shape: {
      ...time,
      seed: number + 2,
      testCount,
      buildCount,
      shardCount: 1,
      disruptiveTestCount: 5,
      disruptionCount: 10,
    },
  }));
  return [shop, ...others];
}

/** Half of it is the measured repository's own, the rest that of others as large. */
function historyJobs(resultCount: number, until: number): JobShape[] {
  const others = Math.max(1, Math.round(resultCount / 2 / RESULTS_OF_OTHER));
  const { owner, name, testCount, disruptiveTestCount } = MEASURED;
  const shape = (seed: number, results: number): HistoryShape => {
    const buildCount = Math.max(1, Math.round(results / testCount));
    return {
      seed,
      testCount,
      buildCount,
      shardCount: 1,
      disruptiveTestCount,
      disruptionCount: buildCount * 20,
      from: until - HISTORY_DAYS * SECONDS_PER_DAY,
      until: until - HISTORY_ENDS_DAYS_AGO * SECONDS_PER_DAY,
    };
  };
  const job = (name: string, seed: number, results: number): JobShape => ({
    owner,
    name,
    part: "history",
    shape: shape(seed, results),
  });
  return [
    job(name, 1_000, resultCount / 2),
    ...Array.from(
      { length: others },
      (_, number) => job(`platform-${number}`, 1_001 + number, resultCount / 2 / others),
    ),
  ];
}

/** @returns the id of a test that is not quarantined */
async function quarantineSome(
  sql: Database["sql"],
  repositoryId: number,
  now: number,
): Promise<string> {
  const rows = await sql<{ prefix: number; hash: number }[]>`
    select r.id_prefix::float8 as prefix, t.test_hash::float8 as hash
    from disruptive_test d join test t using (repository_id, test_no)
    join repository r using (repository_id)
    where repository_id = ${repositoryId}`;
  const ids = rows.map(({ prefix, hash }) => testId(prefix, hash)).sort();
  if (ids.length !== MEASURED.disruptiveTestCount) {
    throw new Error(`${ids.length} tests are disruptive, not ${MEASURED.disruptiveTestCount}`);
  }
  for (const id of ids.slice(0, QUARANTINED_TESTS)) {
    await quarantine({ sql }, id, { quarantinedAt: now });
  }
  return ids.at(-1)!;
}

function endpointsOf(testId: string): Record<string, string> {
  return {
    submissions: "/api/repos/acme/shop/submissions",
    tests: "/api/repos/acme/shop/tests",
    results: `/api/tests/${testId}/results`,
    inventory: "/api/v1/flaky/tests?repository=acme/shop&quarantine=false",
    quarantined: "/api/v1/flaky/tests?repository=acme/shop&include=disruptiveness_ratio,tags",
    flakiness_badge: "/api/v1/flaky/badges?repository=acme/shop",
    coverage_badge: "/api/v1/coverage/badges?repository=acme/shop",
  };
}
