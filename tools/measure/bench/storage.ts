/** What a stored result costs, all tables, indexes and TOAST included. */
import { once } from "node:events";
import postgres from "postgres";
import { builds } from "./generate.ts";
import { createRowTable, rowLine } from "./rows.ts";
import { MEASURED } from "./scenario.ts";

/** Bytes of a result as the program stores it, and as a row with one index. */
export interface StorageFigures {
  results: number;
  /** As the tables are after the upload of everything and autovacuum's work. */
  bytes_per_result: number;
  /** After `vacuum full`, which few ever run. */
  packed_bytes_per_result: number;
  row_store_bytes_per_result: number;
  /** The largest tables with their indexes, bytes per result. */
  tables: Record<string, number>;
}

// Enough rows for a steady figure, few enough to take seconds.
const SAMPLE_BUILDS = 20;
const SHOWN_TABLES = 6;

/** Measures the size of a filled database, and of a table with one row for each result. */
export async function measureStorage(
  databaseUrl: string,
  results: number,
): Promise<StorageFigures> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    // What an emptied page holds is used again, but never given back.
    await sql`vacuum analyze`;
    const tables = await tableSizes(sql);
    await sql`vacuum full analyze`;
    const packed = await tableSizes(sql);
    const rows = await weighRows(sql);
    return {
      results,
      bytes_per_result: sum(tables) / results,
      packed_bytes_per_result: sum(packed) / results,
      row_store_bytes_per_result: rows,
      tables: Object.fromEntries(
        tables.slice(0, SHOWN_TABLES).map(({ name, bytes }) => [name, bytes / results]),
      ),
    };
  } finally {
    await sql.end();
  }
}

interface TableSize {
  name: string;
  bytes: number;
}

/** The largest first. */
async function tableSizes(sql: postgres.Sql): Promise<TableSize[]> {
  return await sql<TableSize[]>`
    select relname as name, pg_total_relation_size(oid)::float8 as bytes from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace
    order by bytes desc`;
}

function sum(tables: TableSize[]): number {
  return tables.reduce((total, { bytes }) => total + bytes, 0);
}

/** @returns bytes of a row, with its part of the index */
async function weighRows(sql: postgres.Sql): Promise<number> {
  await createRowTable(sql);
  const now = Math.floor(Date.now() / 1000);
  const copy = await sql`copy bench_row from stdin`.writable();
  let count = 0;
  const shape = {
    ...MEASURED,
    seed: 5,
    buildCount: SAMPLE_BUILDS,
    shardCount: 1,
    disruptionCount: SAMPLE_BUILDS * 50,
    from: now - 86_400,
    until: now,
  };
  for (const build of builds(shape)) {
    let text = "";
    for (const attempt of build.attempts) {
      text += rowLine(build, attempt);
      count++;
    }
    if (!copy.write(text)) await once(copy, "drain");
  }
  copy.end();
  await once(copy, "finish");
  await sql`vacuum analyze bench_row`;
  const [size] = await sql<{ bytes: number }[]>`
    select pg_total_relation_size('bench_row')::float8 as bytes`;
  await sql`drop table bench_row`;
  return size!.bytes / count;
}
