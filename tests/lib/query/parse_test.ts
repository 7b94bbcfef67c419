import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { MAX_QUERY_CHARACTERS, parseQuery, type Term } from "../../../lib/query/parse.ts";

const CORPUS = new URL("../../../fixtures/query/", import.meta.url);

/** The cases of all files of a folder of the corpus, by the name of the file. */
function corpus<Case>(folder: string): [file: string, cases: Case[]][] {
  const url = new URL(`${folder}/`, CORPUS);
  return [...Deno.readDirSync(url)].map(({ name }) => [
    name,
    JSON.parse(Deno.readTextFileSync(new URL(name, url))),
  ]);
}

describe("valid queries", () => {
  for (const [file, cases] of corpus<{ why: string; query: string; terms: Term[] }>("valid")) {
    for (const { why, query, terms } of cases) {
      it(`${file}: ${why}`, () => assert.deepEqual(parseQuery(query), { terms, errors: [] }));
    }
  }
});

describe("invalid queries", () => {
  for (const [file, cases] of corpus<{ why: string; query: string; errors: string[] }>("invalid")) {
    for (const { why, query, errors } of cases) {
      it(`${file}: ${why}`, () => assert.deepEqual(parseQuery(query).errors, errors));
    }
  }
});

describe("repeated terms", () => {
  it("counts once, in the place where it came first", () => {
    const { terms } = parseQuery("b a tags:x,Y,X,y a last-seen:2026-01-31 B last-seen:2026-01-31");
    assert.deepEqual(terms, [
      { kind: "text", text: "b" },
      { kind: "text", text: "a" },
      { kind: "tags", tags: ["x", "y"] },
      { kind: "last-seen", operator: "=", day: "2026-01-31" },
    ]);
  });
});

describe("the length of a query", () => {
  it("is counted in code points, and the greatest is allowed", () => {
    const longest = "😀".repeat(MAX_QUERY_CHARACTERS);
    assert.deepEqual(parseQuery(longest).terms, [{ kind: "text", text: longest }]);
  });

  it("is refused above the greatest, whatever the query says", () => {
    const errors = ["1001 characters, expected at most 1000"];
    assert.deepEqual(parseQuery("a".repeat(1001)), { terms: [], errors });
    assert.deepEqual(parseQuery("tags: ".padEnd(1001)), { terms: [], errors });
    assert.deepEqual(parseQuery(" ".repeat(1001)), { terms: [], errors });
  });
});
