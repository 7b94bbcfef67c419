/** The cost of a day of results: rows, bytes and write-ahead log. */
import type { Database } from "../../../db/connection/connect.ts";
import { createOrganization } from "../../../db/admin/organizations.ts";
import { runJobs } from "./fill.ts";
import { median } from "./slices.ts";

/** Figures of some submissions. */
interface DayFigures {
  submissions: number;
  results: number;
  disruptions: number;
  test_lists: number;
  bytes_per_result: number;
  /** Of a submission without its tests and lists, which do not grow with the days. */
  bytes_per_submission: number;
  /** What is written ahead, and sent to replicas, while no checkpoint comes. */
  log_bytes_per_result: number;
  /** The same of a submission that is the first to change its pages since a checkpoint. */
  log_bytes_after_checkpoint: number;
  /** Of what is remembered of an archive that a watcher took in. */
  bytes_per_archive: number;
  /** All tables that grow with the tests and lists, not with the days. */
  bytes_per_test: number;
}

const TESTS = 1_000;
const BUILDS = 1_000;
const ARCHIVES = 100_000;
const CHECKPOINTS = 9;

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
  const shape = {
    seed: 3,
    testCount: TESTS,
    buildCount: BUILDS,
    shardCount: 1,
    disruptiveTestCount: 50,
    disruptionCount: BUILDS,
    from: until - 86_400,
    until,
  };
  const job = { databaseUrl, organization: organization!, owner: "acme", name: "shop" };
  const resultCount = await runJobs([{ ...job, part: "day", shape }], {
    expected: TESTS * BUILDS,
    report: () => {},
  });
  const after = await position();
  await sql`vacuum full analyze`;
  const sizes = await sql<{ name: string; rows: number; bytes: number }[]>`
    select relname as name, reltuples::float8 as rows,
      pg_total_relation_size(oid)::float8 as bytes
    from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`;
  const bytesOf = (...names: string[]) =>
    sizes.filter(({ name }) => names.includes(name)).reduce((sum, { bytes }) => sum + bytes, 0);
  const archiveBytes = await weighArchives(sql);
  const firstLog: number[] = [];
  for (let seed = 10; seed < 10 + CHECKPOINTS; seed++) {
    await sql`checkpoint`;
    const start = await position();
    const one = { ...shape, seed, buildCount: 1, disruptionCount: 1 };
    await runJobs([{ ...job, part: `after-${seed}`, shape: one }], {
      expected: TESTS,
      report: () => {},
    });
    firstLog.push(await position() - start);
  }
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
    log_bytes_after_checkpoint: median(firstLog),
    bytes_per_archive: archiveBytes,
    bytes_per_test: bytesOf(...sizes.map(({ name }) => name).filter((n) => /^test/.test(n))) /
      TESTS,
  };
}

/** Archives with keys as CI jobs make them; they are removed afterwards. */
async function weighArchives(sql: Database["sql"]): Promise<number> {
  await sql`
    insert into archive (source, key, version, status, attempt_count, repository_id, found_at,
      finished_at)
    select 's3://ci-reports', 'acme/service-' || n % 50 || '/' || gen_random_uuid() || '.gz',
      md5(n::text), 'processed', 1, n % 50, now(), now()
    from generate_series(1, ${ARCHIVES}::int) as n`;
  const [row] = await sql<{ bytes: number }[]>`
    select pg_total_relation_size('archive')::float8 as bytes`;
  await sql`truncate archive`;
  return row!.bytes / ARCHIVES;
}
