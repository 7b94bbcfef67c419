import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { describeWithDatabases } from "../../database.ts";
import { readDistribution } from "../distribution.ts";
import { loadCatalogue } from "../distribution_rules.ts";
import { exerciseCommands, exerciseRoutes } from "./exercise.ts";
import { readMentions, type Tables } from "./restriction.ts";
import { StatementRecorder } from "./recorder.ts";
import { isMadeFrom, readTemplates } from "./templates.ts";

/** Folders of `db` whose SQL reads and changes the data of users. */
const FOLDERS = ["read", "write", "admin"];

/** Volatile functions. */
const VOLATILE =
  /\b(random|now|clock_timestamp|statement_timestamp|nextval|gen_random_uuid)\(|current_/;

/**
 * Statements that restrict the repository by a join only: the lookup of a test by its id, and the
 * counts of `doctor` over all repositories.
 */
const ONLY_JOINED = [
  'select t.organization_id as "organizationId", t.api_token_id as "tokenId", r.repository_id',
  'select (select count(*)::integer from organization) as "organizationCount"',
];

const recorder = new StatementRecorder();

describeWithDatabases("the statements that the program sends", (database) => {
  let sent: string[];
  let tables: Tables;

  before(async () => {
    recorder.take();
    await exerciseRoutes(database());
    await exerciseCommands(database());
    sent = [...new Set(recorder.take().map(({ text }) => text))];
    const distributed = new Set((await readDistribution()).columns.keys());
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
    assert.deepEqual(
      found.filter(({ mentions }) => mentions.some((it) => it.restriction === "unrestricted"))
        .map(({ text }) => text),
      [],
    );
    // By a join with `repository`, a table of the coordinator.
    for (const { text, mentions } of found) {
      if (mentions.every(({ restriction }) => restriction === "bound")) continue;
      assert.ok(ONLY_JOINED.some((beginning) => text.startsWith(beginning)), text);
    }
    const count = found.filter(({ mentions }) => mentions.length > 0).length;
    assert.ok(count > 60, `${count} statements are about distributed tables`);
  });

  it("lock rows of the coordinator only, and write no volatile values", () => {
    const about = sent.filter((text) => readMentions(text, tables).length > 0);
    assert.deepEqual(about.filter((text) => / for (no key )?(update|share)\b/.test(text)), []);
    // Citus refuses such functions in writes, or evaluates them on each node.
    const changes = about.filter((text) => /\b(insert|update|delete)\b/.test(text));
    assert.ok(changes.length > 20, `${changes.length} statements change distributed rows`);
    assert.deepEqual(changes.filter((text) => VOLATILE.test(text)), []);
  });
}, { onStatement: recorder.onStatement });
