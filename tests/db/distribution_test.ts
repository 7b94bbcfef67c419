/** The tables that Citus distributes, and whether it accepts them. */
import assert from "node:assert/strict";
import { before, describe, it } from "@std/testing/bdd";
import { repositoryTables } from "../../db/schema/distribute.ts";
import { describeWithDatabases } from "../database.ts";
import {
  type Catalogue,
  type Distribution,
  type ForeignKey,
  loadCatalogue,
  refusals,
} from "./distribution_rules.ts";

/** Tables about repositories on the coordinator: they are read before the repository is known. */
const LOOKED_UP = [
  "api_token",
  "archive",
  "repository",
  "trusted_issuer",
  "webhook",
  "webhook_delivery",
];

describeWithDatabases("the tables that Citus distributes", (database) => {
  let distribution: Distribution;
  let catalogue: Catalogue;

  before(async () => {
    catalogue = await loadCatalogue(database().sql);
    const distributed = new Set(await repositoryTables(database().sql));
    const coordinator = new Set(catalogue.tables).difference(distributed);
    distribution = { distributed, coordinator };
  });

  it("are all that have the column, except those that lead to it", () => {
    const having = catalogue.columns.filter(({ column }) => column === "repository_id");
    assert.deepEqual(
      [...distribution.distributed, ...LOOKED_UP].sort(),
      having.map(({ table }) => table).sort(),
    );
    for (const { table, type, notNull } of having) {
      if (distribution.distributed.has(table)) assert.deepEqual([type, notNull], ["bigint", true]);
    }
  });

  it("have keys, defaults, foreign keys and triggers that Citus accepts", () => {
    assert.ok(catalogue.uniqueIndexes.length > distribution.distributed.size);
    assert.deepEqual(refusals(catalogue, distribution), []);
  });

  it("are found by the first column of their primary key, as those of an organization are", () => {
    const others = ["archive", "schema_migration"];
    for (const { table, name, columns: [first] } of catalogue.uniqueIndexes) {
      if (!name.endsWith("_pkey") || others.includes(table)) continue;
      assert.match(first ?? "", /^(repository|organization)_id$/, name);
    }
  });
});

describe("the rules of distribution", () => {
  const distribution: Distribution = {
    distributed: new Set(["a", "b"]),
    coordinator: new Set(["l"]),
  };
  const empty: Catalogue = {
    tables: [],
    columns: [],
    uniqueIndexes: [],
    foreignKeys: [],
    triggers: [],
  };
  const key = (from: string, to: string, columns: [string, string][]): ForeignKey => ({
    name: `${from}_${to}`,
    from,
    to,
    columns: columns.map(([own, theirs]) => ({ own, theirs })),
  });
  const column = (more: Partial<Catalogue["columns"][number]>): Catalogue["columns"][number] => ({
    table: "a",
    column: "c",
    type: "text",
    notNull: true,
    expression: null,
    isGenerated: false,
    isIdentity: false,
    ...more,
  });
  const colocated: [string, string][] = [["repository_id", "repository_id"], ["x", "x"]];

  const cases: [string, Partial<Catalogue>, RegExp | null][] = [
    [
      "a unique index with the column",
      { uniqueIndexes: [{ table: "a", name: "i", columns: ["x", "repository_id"] }] },
      null,
    ],
    [
      "a unique index without it",
      { uniqueIndexes: [{ table: "a", name: "i", columns: ["x"] }] },
      /^unique index i of a has no repository_id/,
    ],
    [
      "a unique index of the coordinator",
      { uniqueIndexes: [{ table: "l", name: "i", columns: ["x"] }] },
      null,
    ],
    ["a key to a colocated row", { foreignKeys: [key("b", "a", colocated)] }, null],
    [
      "a key to a row elsewhere",
      { foreignKeys: [key("b", "a", [["x", "x"], ["repository_id", "y"]])] },
      /^foreign key b_a/,
    ],
    ["a key to the coordinator", { foreignKeys: [key("b", "l", colocated)] }, /^foreign key b_l/],
    ["a key from the coordinator", { foreignKeys: [key("l", "a", colocated)] }, /^foreign key l_a/],
    ["a key within the coordinator", { foreignKeys: [key("l", "l", colocated)] }, null],
    ["a trigger", { triggers: [{ table: "a", name: "t" }] }, /^trigger t of a/],
    ["a constant default", { columns: [column({ expression: "'{}'::text[]" })] }, null],
    ["a default of a sequence", {
      columns: [column({ expression: "nextval('s'::regclass)" })],
    }, /^default of a\.c/],
    ["a default that varies", { columns: [column({ expression: "now()" })] }, /^default of a\.c/],
    [
      "a generated column",
      { columns: [column({ expression: "lower(x)", isGenerated: true })] },
      null,
    ],
    ["a small identity", {
      columns: [column({ type: "integer", isIdentity: true })],
    }, /^identity a\.c is integer/],
    ["a large identity", { columns: [column({ type: "bigint", isIdentity: true })] }, null],
    [
      "a generated distribution column",
      { columns: [column({ column: "repository_id", type: "bigint", isIdentity: true })] },
      /^a is distributed by a column that the database makes/,
    ],
  ];
  for (const [name, part, expected] of cases) {
    it(`${expected ? "refuse" : "allow"} ${name}`, () => {
      const found = refusals({ ...empty, ...part }, distribution);
      if (expected) assert.match(found.join("\n"), expected);
      else assert.deepEqual(found, []);
    });
  }
});
