/** The same results as rows: one table, one index, as a service without columns would keep them. */
import type postgres from "postgres";
import type { Attempt, Build } from "./generate.ts";

/** Creates the table `bench_row`, which has no names: tests are numbers in it. */
export async function createRowTable(sql: postgres.Sql): Promise<void> {
  await sql`drop table if exists bench_row`;
  await sql`
    create table bench_row (repository_id bigint not null, submission_id bytea not null,
      test_no integer not null, conclusion smallint not null, duration_us integer not null,
      recorded_at timestamptz not null)`;
  await sql`create index on bench_row (repository_id, test_no, recorded_at)`;
}

const CONCLUSIONS = ["passing", "failure", "error", "skipped", "unknown"];

/** One line for COPY into `bench_row`. */
export function rowLine({ commitOid, recordedAt }: Build, attempt: Attempt): string {
  return [
    1,
    `\\\\x${commitOid.slice(0, 24)}`,
    attempt.test,
    CONCLUSIONS.indexOf(attempt.conclusion),
    attempt.durationMicroseconds,
    new Date(recordedAt * 1000).toISOString(),
  ].join("\t") + "\n";
}
