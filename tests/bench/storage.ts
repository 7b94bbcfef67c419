/** What a stored result costs, all tables, indexes and TOAST included. */
import postgres from "postgres";

/** Bytes of a result as the program stores it, and as a row with one index. */
export interface StorageFigures {
  results: number;
  bytes_per_result: number;
  row_store_bytes_per_result: number;
}

// Enough rows for a steady figure, few enough to take seconds.
const SAMPLE_ROWS = 500_000;

/** Weighs a filled database, and a table of rows of the same results beside it. */
export async function measureStorage(
  databaseUrl: string,
  results: number,
): Promise<StorageFigures> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    await sql`drop table if exists bench_answer`;
    // As autovacuum would leave it after a while: dead rows are no part of what a result costs.
    await sql`vacuum full analyze`;
    const [stored] = await sql<{ bytes: number }[]>`
      select sum(pg_total_relation_size(oid))::float8 as bytes from pg_class
      where relkind = 'r' and relnamespace = 'public'::regnamespace`;
    await sql`create table bench_row (submission_id bytea, test_no integer, conclusion smallint,
      duration_us integer, recorded_at timestamptz)`;
    await sql`
      insert into bench_row
      select decode(lpad(to_hex(n / 1000), 24, '0'), 'hex'), n % 20000, 0, n % 100000, now()
      from generate_series(1, ${SAMPLE_ROWS}::int) as n`;
    await sql`create index on bench_row (test_no, recorded_at)`;
    const [rows] = await sql<{ bytes: number }[]>`
      select pg_total_relation_size('bench_row')::float8 as bytes`;
    await sql`drop table bench_row`;
    return {
      results,
      bytes_per_result: stored!.bytes / results,
      row_store_bytes_per_result: rows!.bytes / SAMPLE_ROWS,
    };
  } finally {
    await sql.end();
  }
}
