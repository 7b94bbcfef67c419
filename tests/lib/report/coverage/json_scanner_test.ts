import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { JsonScanner } from "../../../../lib/report/coverage/json_scanner.ts";

const LIMITS = { depth: 20, tokenCharacters: 1_000 };

/** Puts the document together again from what the scanner tells of it. */
function rebuild(text: string, pieceLength: number): string[] {
  const told: string[] = [];
  const scanner = new JsonScanner({
    key: (path) => told.push(`key ${JSON.stringify(path)}`),
    scalar: (path, value) => told.push(`${JSON.stringify(path)} = ${JSON.stringify(value)}`),
    close: (path) => told.push(`close ${JSON.stringify(path)}`),
  }, LIMITS);
  for (let at = 0; at < text.length; at += pieceLength) {
    scanner.write(text.slice(at, at + pieceLength));
  }
  scanner.end();
  return told;
}

/** The same from the platform's parser. */
function tell(value: unknown, path: (string | number)[] = []): string[] {
  const at = JSON.stringify(path);
  if (Array.isArray(value)) {
    return [...value.flatMap((member, index) => tell(member, [...path, index])), `close ${at}`];
  }
  if (typeof value !== "object" || value === null) return [`${at} = ${JSON.stringify(value)}`];
  const members = Object.entries(value).flatMap(([name, member]) => {
    const below = [...path, name];
    return [`key ${JSON.stringify(below)}`, ...tell(member, below)];
  });
  return [...members, `close ${at}`];
}

const VALID = [
  `{}`,
  `[]`,
  `"x"`,
  `-0.5e+10`,
  ` [ 1 , [ ] , { "a" : [ true , false , null ] , "" : { } } ] `,
  `{"a\\"\\\\\\u00e9\\n":"\\ud83d\\ude00","b":[[1],[2,[3]]],"c":{"d":{"e":1}}}`,
  `[{"a":1},{"b":2}]`,
];

const INVALID = [
  `[1${"0".repeat(1_000)}]`,
  ``,
  `{`,
  `[`,
  `"`,
  `{"a"}`,
  `{"a":}`,
  `{"a":1,}`,
  `[1,]`,
  `[1 2]`,
  `{"a":1 "b":2}`,
  `{1:2}`,
  `[}`,
  `{]`,
  `]`,
  `01`,
  `1.`,
  `.5`,
  `+1`,
  `tru`,
  `nul`,
  `NaN`,
  `'a'`,
  `[1]]`,
  `{} {}`,
  `"\\x"`,
  `"a\nb"`,
  `{"a":1}x`,
  `,`,
  `:`,
  `[,]`,
  `{,}`,
  `"\u0001\\n"`,
]; // deno-fmt-ignore-line

describe("JsonScanner", () => {
  for (const text of VALID) {
    it(`tells the parts of ${text}`, () => {
      for (const length of [1, 2, 3, 1_000]) {
        assert.deepEqual(rebuild(text, length), tell(JSON.parse(text)));
      }
    });
  }
  for (const text of INVALID) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      for (const length of [1, 2, 1_000]) {
        assert.throws(() => rebuild(text, length), { name: "Refusal" });
      }
    });
  }
  it("tells nothing of a string beyond the limit but that it is there", () => {
    assert.deepEqual(rebuild(`["${"x".repeat(1_001)}",1]`, 10), ["[0] = undefined", "[1] = 1", "close []"]);
  });
  it("knows line and column", () => {
    const ignore = () => {};
    const scanner = new JsonScanner({ key: ignore, scalar: ignore, close: ignore }, LIMITS);
    scanner.write(`{\n  "a": 1,\n`);
    assert.throws(() => scanner.write(`  "b" x`), { name: "Refusal" });
    assert.deepEqual([scanner.line, scanner.column], [3, 7]);
  });
});
