/**
 * The data of databases of earlier schema versions, and what the API said about it, as files.
 * `deno run -A --config tests/deno.json tests/db/schema/earlier_databases.ts` adds those of the present
 * version after a migration that changes data. Files that exist stay as they are.
 */
import type postgres from "postgres";
import { SCHEMA_VERSION } from "../../../db/schema/migrate.ts";
import { everyAnswer } from "../../answers.ts";
import { openTestEmbedded } from "../../database.ts";
import { createFullOrganization } from "../../full_organization.ts";
import { createFixture } from "../../routes/fixture.ts";

const FOLDER = new URL("../../../fixtures/databases/", import.meta.url);

/** A database of an earlier version. */
interface EarlierDatabase {
  version: number;
  /** Inserts its rows into the empty schema of its version, one statement a line. */
  rows: string;
  /** The responses to the organization "Acme & Söhne", by path. */
  answers: Record<string, unknown>;
}

/** All that are stored, oldest first. */
export async function earlierDatabases(): Promise<EarlierDatabase[]> {
  const versions = [...Deno.readDirSync(FOLDER)]
    .flatMap(({ name }) => /^version_(\d+)\.sql$/.exec(name)?.[1] ?? []).map(Number)
    .sort((a, b) => a - b);
  return await Promise.all(versions.map(async (version) => ({
    version,
    rows: await Deno.readTextFile(new URL(`version_${version}.sql`, FOLDER)),
    answers: JSON.parse(await Deno.readTextFile(new URL(`version_${version}.json`, FOLDER))),
  })));
}

/** All rows of a database as `insert` statements, one a line. */
async function dumpRows(sql: postgres.Sql): Promise<string> {
  const columns = await sql<{ table: string; columns: string[] }[]>`
    select c.relname as "table", json_agg(a.attname order by a.attnum) as columns
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
      and c.relname <> 'schema_migration' and a.attgenerated = ''
    group by 1
    -- Others refer to organizations.
    order by c.relname <> 'organization', c.relname`;
  const statements = [];
  for (const { table, columns: names } of columns) {
    const list = names.map((name) => `"${name}"`).join(", ");
    const values = names.map((name) => `quote_nullable("${name}"::text)`).join(" || ', ' || ");
    const rows = await sql.unsafe<{ values: string }[]>(
      `select ${values} as values from "${table}" order by 1`,
    );
    for (const row of rows) {
      // `E'...'` is a text with escapes: those with a backslash are quoted so already.
      const line = row.values.replaceAll(
        /E?'(?:[^']|'')*'/g,
        (text) => text.includes("\n") ? `E${text.replace(/^E/, "").replaceAll("\n", "\\n")}` : text,
      );
      statements.push(
        `insert into "${table}" (${list}) overriding system value values (${line});\n`,
      );
    }
  }
  const sequences = await sql<{ name: string; last: string }[]>`
    select sequencename as name, last_value::text as last from pg_sequences
    where schemaname = 'public' and last_value is not null order by 1`;
  for (const { name, last } of sequences) {
    statements.push(`select setval('${name}', ${last});\n`);
  }
  return statements.join("");
}

async function main(): Promise<void> {
  const database = await openTestEmbedded();
  const name = `version_${Number(Deno.args[0] ?? SCHEMA_VERSION)}`;
  await createFixture(database, { name: "other" });
  const fixture = await createFullOrganization(database);
  const answers = await everyAnswer((path) => fixture.get(path));
  const lines = Object.entries(answers).map((entry) => entry.map((it) => JSON.stringify(it)));
  const json = `{\n${lines.map((entry) => entry.join(": ")).join(",\n")}\n}\n`;
  const files = { sql: await dumpRows(database.sql), json };
  for (const [suffix, text] of Object.entries(files)) {
    await Deno.writeTextFile(new URL(`${name}.${suffix}`, FOLDER), text, { createNew: true });
  }
  await database.close();
}

if (import.meta.main) await main();
