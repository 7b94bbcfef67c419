/** All statements that the program sends, as far as Citus restricts them. */
import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { repositoryTables } from "../../../db/schema/distribute.ts";
import { describeWithDatabase } from "../../database.ts";
import { exerciseCommands, exerciseRoutes } from "./exercise.ts";
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
const UNRESTRICTED = [
  'select count(*)::integer as "repositoryCount"',
  // Notes of all repositories, for doctor as well.
  "select distinct on (r.repository_id, b.beginning)",
  // Once after an upgrade.
  'select repository_id::float8 as "repositoryId" from repository_state where rules <',
];

const recorder = new StatementRecorder();

/** A statement without comments and quoted values. */
function codeOf(text: string): string {
  return text.replaceAll(/--.*$/gm, "").replaceAll(/'(?:''|[^'])*'/g, "''");
}

/** The distributed tables that a statement reads or changes, each as often as it does. */
function tablesOf(text: string, distributed: readonly string[]): string[] {
  return [
    ...codeOf(text).matchAll(/(?:\b(?:from|join|into|update)|,)\s+(?:(?:only|lateral)\s+)?(\w+)/g),
  ]
    .map(([, name = ""]) => name).filter((name) => distributed.includes(name));
}

const IS_GIVEN = [
  /\brepository_id\s*=\s*(?:\$\d|any\b)/,
  /\$\d+(?:::\w+)*\s*=\s*(?:\w+\.)?repository_id\b/,
  /\binsert into \w+ (?:as \w+ )?\[[^\]]*\brepository_id\b/,
];

/**
 * What Citus plans one by one: the sub-selects of a statement, and the branches of a `union`. Other groups
 * are left out, or in brackets where they name the repository.
 */
function queriesOf(code: string): string[] {
  const queries: string[] = [];
  let rest = code;
  for (;;) {
    const [group, inner = ""] = /\(([^()]*)\)/.exec(rest) ?? [];
    if (group === undefined) break;
    const isQuery = /^\s*(?:select|with|insert|update|delete)\b/.test(inner);
    if (isQuery) queries.push(inner);
    const isKept = !isQuery && /\brepository_id\b/.test(inner);
    rest = rest.replace(group, () => isKept ? `[${inner}]` : " ");
  }
  return [...queries, rest].flatMap((query) => query.split(/\b(?:union|except|intersect)\b/));
}

/**
 * Whether every query of a statement names the repository of its distributed tables, as far as its text
 * shows: the column is compared with a parameter or inserted, as often as there are tables, and not combined
 * with an `or`; and whether every query selects something, as Citus requires.
 */
function suitsCitus(text: string, distributed: readonly string[]): boolean {
  const code = codeOf(text);
  // The cast hides the values.
  if (/\brepository_id = any\(\$\d+::text/.test(code)) return false;
  return queriesOf(code).every((query) => {
    const tables = tablesOf(query, distributed);
    const columns = query.match(/\brepository_id\b/g) ?? [];
    return tables.length === 0 ||
      columns.length >= tables.length && IS_GIVEN.some((pattern) => pattern.test(query)) &&
        !/\bor\b|\bselect from\b/.test(query);
  });
}

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

describeWithDatabase("the statements that the program sends", (database) => {
  let sent: string[];
  let distributed: string[];

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
    distributed = await repositoryTables(database().sql);
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

  it("name the repository in every query of a distributed table", () => {
    const about = sent.filter((text) => tablesOf(text, distributed).length > 0);
    assert.ok(about.length > 60, `${about.length} statements are about distributed tables`);
    assert.deepEqual(
      about.filter((text) =>
        !suitsCitus(text, distributed) &&
        !UNRESTRICTED.some((beginning) => text.startsWith(beginning))
      ),
      [],
    );
  });

  it("are checked: a repository that is not named everywhere is noticed", () => {
    const given = "repository_id = $1";
    for (
      const wrong of [
        `select * from test where test_no = $1 -- ${given}`,
        `select * from test t, submission s where t.${given}`,
        "select * from test where repository_id = any($1::text::bigint[])",
        `select * from test where ${given} or test_no = $2`,
        `select * from test where (${given} or test_no = $2) and name = $3`,
        `select * from test where ${given} union all select * from test where test_no = $2`,
        `select (select max(test_no) from test t where t.repository_id = s.repository_id)
          from submission s where s.${given}`,
        `select 1 from test t where ${given} and exists (select from test u where u.${given})`,
      ]
    ) assert.ok(!suitsCitus(wrong, distributed), wrong);
    const right = `select * from test t join submission s on s.repository_id = t.repository_id
      where t.${given} and (name = $2 or name = $3)
        and exists (select 1 from test u where u.${given})`;
    assert.ok(suitsCitus(right, distributed));
  });

  it("write no volatile values", () => {
    const about = sent.filter((text) => tablesOf(text, distributed).length > 0);
    // Citus refuses such functions in writes, or evaluates them on each node.
    const changes = about.filter((text) => /\b(insert|update|delete)\b/.test(text));
    assert.ok(changes.length > 20, `${changes.length} statements change distributed rows`);
    assert.deepEqual(
      changes.filter((text) => VOLATILE.test(text) && !FIRST_VERSION.test(text)),
      [],
    );
  });
}, { onStatement: recorder.onStatement });
