import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { isMadeFrom, templatesOf } from "./templates.ts";

describe("the SQL of a source", () => {
  it("is found in its templates, nested ones included", () => {
    const source = [
      "// not `select this`",
      "/** nor `delete this` */",
      'const text = "nor `update this`";',
      "sql`select a",
      "  from b where c = ${d({ e: 1 })} and ${f ? sql`g` : sql``}`;",
      "tx<{ h: number }[]>`delete from i`;",
    ].join("\n");
    assert.deepEqual(templatesOf(source).map(({ pieces }) => pieces), [
      ["g"],
      [""],
      ["select a\n  from b where c = ", " and ", ""],
      ["delete from i"],
    ]);
  });

  it("is recognised by the text that was sent", () => {
    const template = { place: "", pieces: ["select a from b where c =", "and d = any("] };
    assert.ok(isMadeFrom("select a from b where c = $1 and d = any($2)", template));
    assert.ok(!isMadeFrom("select a from b where c = $1", template));
    assert.ok(!isMadeFrom("select a from b and d = any($2) where c = $1", template));
    assert.ok(!isMadeFrom("with x as ( select a from b where c = $1 and d = any($2)", template));
  });
});
