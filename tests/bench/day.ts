/** What a day of results costs: rows, bytes and the log that is written for them. */
import type { Database } from "../../db/connect.ts";
import { createOrganization } from "../../db/organizations.ts";
import { runJobs } from "./fill.ts";

/** Figures of some submissions. */
export interface DayFigures {
  submissions: number;
  results: number;
  disruptions: number;
  test_lists: number;
  bytes_per_result: number;
  /** Of a submission without its tests and lists, which do not grow with the days. */
  bytes_per_submission: number;
  /** What a replica is sent. */
  log_bytes_per_result: number;
  /** All tables that grow with the tests and lists, not with the days. */
  bytes_per_test: number;
}

const TESTS = 1_000;
const BUILDS = 1_000;

/** A repository of 1,000 tests whose CI runs them 1,000 times: a million results. */
export async function weighDay(
  sql: Database["sql"],
  databaseUrl: string,
): Promise<DayFigures> {
  const until = Math.floor(Date.now() / 1000);
  const organization = await createOrganization(sql, {
    name: "day",
    purchaseUnitCount: 0,
    createdAt: until,
  });
  const position = async () => {
    const [row] = await sql<{ at: number }[]>`
      select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as at`;
    return row!.at;
  };
  await sql`checkpoint`;
  const before = await position();
  const resultCount = await runJobs([{
    databaseUrl,
    organization: organization!,
    owner: "acme",
    name: "shop",
    part: "day",
    shape: {
      seed: 3,
      testCount: TESTS,
      buildCount: BUILDS,
      shardCount: 1,
      disruptiveTestCount: 50,
      disruptionCount: BUILDS,
      from: until - 86_400,
      until,
    },
  }], { expected: TESTS * BUILDS, report: () => {} });
  const after = await position();
  await sql`vacuum full analyze`;
  const sizes = await sql<{ name: string; rows: number; bytes: number }[]>`
    select relname as name, reltuples::float8 as rows,
      pg_total_relation_size(oid)::float8 as bytes
    from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`;
  const bytesOf = (...names: string[]) =>
    sizes.filter(({ name }) => names.includes(name)).reduce((sum, { bytes }) => sum + bytes, 0);
  const rowsOf = (table: string) => sizes.find(({ name }) => name === table)?.rows ?? 0;
  const daily = sizes.map(({ name }) => name).filter((name) => !/^test/.test(name));
  return {
    submissions: rowsOf("submission"),
    results: resultCount,
    disruptions: rowsOf("negative_result"),
    test_lists: rowsOf("test_list"),
    bytes_per_result: sizes.reduce((sum, { bytes }) => sum + bytes, 0) / resultCount,
    bytes_per_submission: bytesOf(...daily) / BUILDS,
    log_bytes_per_result: (after - before) / resultCount,
    bytes_per_test: bytesOf(...sizes.map(({ name }) => name).filter((n) => /^test/.test(n))) /
      TESTS,
  };
}
