import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { repositoryTables } from "../../../db/schema/distribute.ts";
import { describeWithDatabases } from "../../database.ts";
import { loadCatalogue } from "../distribution_rules.ts";
import { exerciseCommands, exerciseRoutes } from "./exercise.ts";
import { readMentions, type Tables } from "./restriction.ts";
import { StatementRecorder } from "./recorder.ts";
import { isMadeFrom, readTemplates } from "./templates.ts";

/** Folders of `db` whose SQL reads and changes the data of users. */
const FOLDERS = ["read", "write", "admin"];

/** Volatile functions, except those of a single row of values, which the coordinator evaluates. */
const VOLATILE =
  /\b(random|now|clock_timestamp|statement_timestamp|nextval|gen_random_uuid)\(|current_/;
const FIRST_VERSION =
  /^insert into repository_state \(repository_id, id_prefix, data_version\) values \(/;

/** The one statement about all repositories: the counts of `doctor`. */
const UNRESTRICTED = ['select count(*)::integer as "repositoryCount"'];

const recorder = new StatementRecorder();

/** The statements of a function in PL/pgSQL, whose variables are parameters of them. */
function statementsOf(body: string): string[] {
  const [, declarations = "", block = ""] = /^(.*?)\bbegin\b(.*)\bend\s*$/s.exec(body) ?? [];
  const variables = declarations.matchAll(/^\s*(\w+) [^;]+;/gm).map(([, name]) => name);
  const names = [...variables].filter((name) => name !== undefined).join("|");
  return block.split(";").map((text) =>
    text.trim().replace(/^if .*? then\s+/s, "").replace(/^return query\s+/, "")
      .replace(/^perform\b/, "select 1")
  ).filter((text) => /^(select|insert|update|delete)\b/.test(text)).map((text) =>
    names === "" ? text : text.replaceAll(new RegExp(`\\binto (${names})\\b`, "g"), "")
      .replaceAll(new RegExp(`\\b(${names})\\.\\w+`, "g"), () => "$1")
  );
}

describeWithDatabases("the statements that the program sends", (database) => {
  let sent: string[];
  let tables: Tables;

  before(async () => {
    recorder.take();
    await exerciseRoutes(database());
    await exerciseCommands(database());
    const functions = await database().sql<{ body: string; language: string }[]>`
      select prosrc as body, lanname as language from pg_proc p join pg_language l on l.oid = prolang
      where pronamespace = 'public'::regnamespace`;
    const texts = [
      ...recorder.take().map(({ text }) => text),
      ...functions.flatMap(({ body, language }) =>
        language === "plpgsql" ? statementsOf(body) : body
      ),
    ];
    sent = [...new Set(texts)];
    const distributed = new Set(await repositoryTables(database().sql));
    const column = "repository_id";
    const { columns } = await loadCatalogue(database().sql);
    const others = columns.filter((it) => it.column === column && !distributed.has(it.table));
    tables = { column, distributed, others: new Set(others.map(({ table }) => table)) };
  });

  it("include every statement in the sources", async () => {
    const files = FOLDERS.flatMap((folder) =>
      [...Deno.readDirSync(new URL(`../../../db/${folder}`, import.meta.url))]
        .map(({ name }) => `${folder}/${name}`)
    );
    const templates = await readTemplates(files);
    assert.ok(templates.length > 90, `found ${templates.length} templates`);
    assert.deepEqual(
      templates.filter((template) => !sent.some((text) => isMadeFrom(text, template)))
        .map(({ place, pieces }) => `${place} ${pieces[0]}`),
      [],
    );
  });

  it("restrict every distributed table to a repository", () => {
    const found = sent.map((text) => ({ text, mentions: readMentions(text, tables) }));
    for (const { text, mentions } of found) {
      if (mentions.every(({ restriction }) => restriction === "bound")) continue;
      assert.ok(UNRESTRICTED.some((beginning) => text.startsWith(beginning)), text);
    }
    const count = found.filter(({ mentions }) => mentions.length > 0).length;
    assert.ok(count > 60, `${count} statements are about distributed tables`);
  });

  it("write no volatile values", () => {
    const about = sent.filter((text) => readMentions(text, tables).length > 0);
    // Citus refuses such functions in writes, or evaluates them on each node.
    const changes = about.filter((text) => /\b(insert|update|delete)\b/.test(text));
    assert.ok(changes.length > 20, `${changes.length} statements change distributed rows`);
    assert.deepEqual(
      changes.filter((text) => VOLATILE.test(text) && !FIRST_VERSION.test(text)),
      [],
    );
  });
}, { onStatement: recorder.onStatement });
