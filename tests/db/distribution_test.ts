import assert from "node:assert/strict";
import { before, describe, it } from "@std/testing/bdd";
import { describeWithDatabases } from "../database.ts";
import {
  type Distribution,
  DISTRIBUTION_SCRIPT,
  parseDistribution,
  readDistribution,
} from "./distribution.ts";
import { type Catalogue, type ForeignKey, loadCatalogue, refusals } from "./distribution_rules.ts";

describeWithDatabases("the schema, as deploy/citus.sql distributes it", (database) => {
  let distribution: Distribution;
  let catalogue: Catalogue;

  before(async () => {
    distribution = await readDistribution();
    catalogue = await loadCatalogue(database().sql);
  });

  it("has every table in the script exactly once", () => {
    const { columns, reference, coordinator } = distribution;
    assert.deepEqual(
      [...columns.keys(), ...reference, ...coordinator].sort(),
      catalogue.tables.toSorted(),
    );
  });

  it("puts all distributed tables beside the first, by the same column and type", () => {
    const { columns, besides } = distribution;
    const [first, ...others] = besides.keys();
    assert.deepEqual([besides.get(first!), ...new Set(others.map((it) => besides.get(it)))], [
      "none",
      first,
    ]);
    const types = [...columns].map(([table, column]) =>
      catalogue.columns.find((it) => it.table === table && it.column === column)
    );
    assert.deepEqual([...new Set(types.map((it) => `${it?.column} ${it?.type} ${it?.notNull}`))], [
      "repository_id bigint true",
    ]);
  });

  it("has keys, defaults, foreign keys and triggers that Citus takes", () => {
    assert.ok(catalogue.uniqueIndexes.length > distribution.columns.size);
    assert.deepEqual(refusals(catalogue, distribution), []);
  });

  it("is distributed by a script that runs", async () => {
    const script = await Deno.readTextFile(DISTRIBUTION_SCRIPT);
    // Of Citus there is only the signature of the one function that the script calls.
    const rehearsal = `
      create function create_distributed_table(table_name regclass, distribution_column text,
        distribution_type text default 'hash', colocate_with text default 'default')
        returns bigint language sql as 'select 1 / count(*) from pg_attribute
          where attrelid = table_name and attname = distribution_column';
      ${script.replace(/^create extension.*$/m, "")}
      drop function create_distributed_table;`;
    await database().sql.unsafe(rehearsal);
  });

  it("has repository_id in every table that belongs to a repository, and distributes it", () => {
    const belonging = catalogue.columns.filter(({ column }) => column === "repository_id")
      .map(({ table }) => table);
    assert.deepEqual(
      [...distribution.columns.keys(), "api_token", "archive", "repository"].sort(),
      belonging.sort(),
    );
  });
});

describe("the rules of distribution", () => {
  const distribution: Distribution = {
    columns: new Map([["a", "repository_id"], ["b", "repository_id"]]),
    besides: new Map([["a", "none"], ["b", "a"]]),
    reference: ["r"],
    coordinator: ["l"],
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
  const beside: [string, string][] = [["repository_id", "repository_id"], ["x", "x"]];

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
    ["a key to what lies beside", { foreignKeys: [key("b", "a", beside)] }, null],
    [
      "a key to what lies elsewhere",
      { foreignKeys: [key("b", "a", [["x", "x"], ["repository_id", "y"]])] },
      /^foreign key b_a/,
    ],
    ["a key to a reference table", { foreignKeys: [key("b", "r", [["x", "x"]])] }, null],
    ["a key to the coordinator", { foreignKeys: [key("b", "l", beside)] }, /^foreign key b_l/],
    ["a key from the coordinator", { foreignKeys: [key("l", "a", beside)] }, /^foreign key l_a/],
    ["a key within the coordinator", { foreignKeys: [key("l", "l", beside)] }, null],
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

  it("are read from a script that names each table once", () => {
    assert.deepEqual(
      parseDistribution(
        "-- why\n\nselect create_distributed_table('a', 'x', colocate_with => 'none');\n" +
          "select create_reference_table('r');\n-- on the coordinator: l\n",
      ),
      {
        columns: new Map([["a", "x"]]),
        besides: new Map([["a", "none"]]),
        reference: ["r"],
        coordinator: ["l"],
      },
    );
    assert.throws(
      () => parseDistribution("select create_reference_table('r');\n-- on the coordinator: r"),
      /r stands there twice/,
    );
    assert.throws(() => parseDistribution("drop table r;"), /is not understood/);
  });
});
