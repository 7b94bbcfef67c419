/** Distributes the data over several PostgreSQL servers with Citus. */
import type postgres from "postgres";
import type { Queryable } from "../connection/sql.ts";

/** Whether the data is distributed. */
export async function isDistributed(sql: Queryable): Promise<boolean> {
  if (!await hasCitus(sql)) return false;
  const [state] = await sql`
    select 1 from pg_dist_partition where logicalrelid = to_regclass('repository_state')`;
  return state !== undefined;
}

/**
 * Distributes a migrated database. Uploads and requests wait until it is done. Repeating it is harmless.
 *
 * @returns the tables that were distributed now
 * @throws {Error} when the extension or the workers are missing
 */
export async function distributeDatabase(sql: postgres.Sql): Promise<string[]> {
  return await sql.begin(async (tx) => {
    await tx`set local statement_timeout = 0`;
    if (!await hasCitus(tx)) {
      throw new Error(
        "the database does not have the extension citus: expected the coordinator of a cluster",
      );
    }
    const [worker] = await tx`
      select 1 from pg_dist_node where shouldhaveshards and isactive and noderole = 'primary'`;
    if (!worker) {
      throw new Error(
        "the coordinator has no workers: expected some, added by `select citus_add_node('HOST', PORT)`",
      );
    }
    // Waits for transactions that write, as a migration does.
    await tx`lock table schema_migration in access exclusive mode`;
    return await distribute(tx);
  });
}

/**
 * Distributes the tables of repositories, so that the rows of a repository are on one server, and so is
 * every statement about it. All other tables are on the coordinator. Tables that are distributed stay
 * as they are.
 *
 * @param tx of a migration, so that nothing else writes
 */
export async function distribute(tx: Queryable): Promise<string[]> {
  // An SQL function becomes part of the statement that calls it, and Citus does not notice what it
  // reads. In PL/pgSQL it sends a statement of its own.
  await tx`
    do $do$
    declare
      found record;
    begin
      for found in
        select pg_get_functiondef(p.oid) as definition, p.prosrc as body
        from pg_proc p join pg_language l on l.oid = p.prolang
        where p.pronamespace = 'public'::regnamespace and l.lanname = 'sql'
      loop
        execute replace(
          replace(found.definition, ' LANGUAGE sql', ' LANGUAGE plpgsql'),
          found.body,
          E'\\n#variable_conflict use_column\\nbegin return query ' || found.body || E';\\nend\\n');
      end loop;
    end
    $do$`;
  const present = await tx<{ name: string }[]>`
    select logicalrelid::text as name from pg_dist_partition`;
  const names = (await repositoryTables(tx))
    .filter((name) => !present.some((table) => table.name === name));
  for (const name of names) {
    const colocation = name === "repository_state" ? "none" : "repository_state";
    await tx`select create_distributed_table(${name}, 'repository_id', colocate_with => ${colocation})`;
    // Its rows were copied.
    await tx`select truncate_local_data_after_distributing_table(${name})`;
  }
  return names;
}

export interface Worker {
  /** Host and port. */
  name: string;
  isReachable: boolean;
  /** Parts of each table. */
  shardCount: number;
  bytes: number;
}

/** The workers of the cluster, by name; `[]` when the data is not distributed. */
export async function loadWorkers(sql: Queryable): Promise<Worker[]> {
  if (!await isDistributed(sql)) return [];
  return await sql<Worker[]>`
    select n.nodename || ':' || n.nodeport as name,
      -- Of a worker that does not answer, no size is known.
      bool_and(s.shardid is null or s.shard_size is not null) as "isReachable",
      (count(*) filter (where s.table_name = 'repository_state'::regclass))::int as "shardCount",
      coalesce(sum(s.shard_size), 0)::float8 as bytes
    from pg_dist_node n
    left join citus_shards s on s.nodename = n.nodename and s.nodeport = n.nodeport
    where n.groupid <> 0 and n.noderole = 'primary'
    group by 1 order by 1`;
}

/** The tables whose primary key begins with `repository_id`, `repository_state` first. */
export async function repositoryTables(sql: Queryable): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    select t.relname as name
    from pg_index k
    join pg_class t on t.oid = k.indrelid
    join pg_attribute a on a.attrelid = t.oid and a.attnum = k.indkey[0]
    where k.indisprimary and a.attname = 'repository_id' and t.relnamespace = 'public'::regnamespace
    order by t.relname <> 'repository_state', t.relname`;
  return tables.map(({ name }) => name);
}

async function hasCitus(sql: Queryable): Promise<boolean> {
  const rows = await sql`select 1 from pg_extension where extname = 'citus'`;
  return rows.length > 0;
}
