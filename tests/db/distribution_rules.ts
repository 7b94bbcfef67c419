/** What Citus asks of the tables that it distributes, checked over the catalogue of a database. */
import type { Queryable } from "../../db/connection/sql.ts";

/** Where each table of the schema is. */
export interface Distribution {
  /** Distributed by `repository_id`. */
  distributed: ReadonlySet<string>;
  /** Ordinary tables of the coordinator. */
  coordinator: ReadonlySet<string>;
}

/** A foreign key, with its pairs of columns. */
export interface ForeignKey {
  name: string;
  from: string;
  to: string;
  columns: { own: string; theirs: string }[];
}

const COLUMN = "repository_id";

/** What the rules are about. */
export interface Catalogue {
  tables: string[];
  columns: {
    table: string;
    column: string;
    type: string;
    notNull: boolean;
    /** Of a default or a generated column. */
    expression: string | null;
    isGenerated: boolean;
    isIdentity: boolean;
  }[];
  /** Primary keys too. An expression in place of a column is `null`. */
  uniqueIndexes: { table: string; name: string; columns: (string | null)[] }[];
  foreignKeys: ForeignKey[];
  triggers: { table: string; name: string }[];
}

/** Loads all of it. */
export async function loadCatalogue(sql: Queryable): Promise<Catalogue> {
  const tables = await sql<{ table: string }[]>`
    select relname as "table" from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'f', 'm', 'v')`;
  const columns = await sql<Catalogue["columns"]>`
    select c.relname as "table", a.attname as "column", format_type(a.atttypid, a.atttypmod) as type,
      a.attnotnull as "notNull", pg_get_expr(d.adbin, d.adrelid) as expression,
      a.attgenerated <> '' as "isGenerated", a.attidentity <> '' as "isIdentity"
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
      and a.attnum > 0 and not a.attisdropped`;
  const uniqueIndexes = await sql<Catalogue["uniqueIndexes"]>`
    select t.relname as "table", i.relname as name, array_to_json(array(
        select a.attname from unnest(x.indkey[:x.indnkeyatts - 1]) with ordinality as k(attnum, position)
        left join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.attnum
        order by k.position)) as columns
    from pg_index x
    join pg_class i on i.oid = x.indexrelid
    join pg_class t on t.oid = x.indrelid
    where t.relnamespace = 'public'::regnamespace and x.indisunique`;
  const foreignKeys = await sql<ForeignKey[]>`
    select c.conname as name, f.relname as "from", t.relname as "to", (
        select json_agg(json_build_object('own', o.attname, 'theirs', a.attname))
        from unnest(c.conkey, c.confkey) as k(own, theirs)
        join pg_attribute o on o.attrelid = c.conrelid and o.attnum = k.own
        join pg_attribute a on a.attrelid = c.confrelid and a.attnum = k.theirs) as columns
    from pg_constraint c
    join pg_class f on f.oid = c.conrelid
    join pg_class t on t.oid = c.confrelid
    where c.contype = 'f' and f.relnamespace = 'public'::regnamespace`;
  const triggers = await sql<Catalogue["triggers"]>`
    select c.relname as "table", t.tgname as name
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where not t.tgisinternal and c.relnamespace = 'public'::regnamespace`;
  return {
    tables: tables.map(({ table }) => table),
    columns: [...columns],
    uniqueIndexes: [...uniqueIndexes],
    foreignKeys: [...foreignKeys],
    triggers: [...triggers],
  };
}

/** All that Citus would refuse, in words; nothing when the schema can be distributed so. */
export function refusals(catalogue: Catalogue, distribution: Distribution): string[] {
  const { distributed } = distribution;
  const found: string[] = [];
  for (const { table, name, columns } of catalogue.uniqueIndexes) {
    if (distributed.has(table) && !columns.includes(COLUMN)) {
      found.push(`unique index ${name} of ${table} has no ${COLUMN}: no server sees all rows`);
    }
  }
  for (const key of catalogue.foreignKeys) {
    const refusal = refusalOfForeignKey(key, distribution);
    if (refusal) found.push(`foreign key ${key.name} ${refusal}`);
  }
  for (const { table, name } of catalogue.triggers) {
    if (distributed.has(table)) {
      found.push(`trigger ${name} of ${table} would not run where the rows are`);
    }
  }
  for (const { table, column, type, expression, isGenerated, isIdentity } of catalogue.columns) {
    if (!distributed.has(table)) continue;
    if (isIdentity && type !== "bigint") {
      found.push(`identity ${table}.${column} is ${type}, expected bigint`);
    }
    if (expression !== null && !isGenerated && !isConstant(expression)) {
      found.push(`default of ${table}.${column} is not a constant: ${expression}`);
    }
    if (column === COLUMN && (isIdentity || expression !== null)) {
      found.push(`${table} is distributed by a column that the database makes: ${column}`);
    }
  }
  return found;
}

function refusalOfForeignKey(
  { from, to, columns }: ForeignKey,
  { distributed, coordinator }: Distribution,
): string | null {
  if (coordinator.has(from) && coordinator.has(to)) return null;
  if (!distributed.has(from) || !distributed.has(to)) return `leads from ${from} to ${to}`;
  return columns.some(({ own, theirs }) => own === COLUMN && theirs === COLUMN)
    ? null
    : `leads to rows on other servers: expected ${COLUMN} in it`;
}

/** A literal, perhaps with a type; anything else may differ from server to server. */
function isConstant(expression: string): boolean {
  return /^('[^']*'|\d+|true|false)(::[\w ]+(\[\])?)?$/.test(expression);
}
