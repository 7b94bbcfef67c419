import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { csvLine } from "../../../lib/base/csv.ts";

describe("a line of comma-separated values", () => {
  it("quotes what would end a cell, and distinguishes null from an empty text", () => {
    const values = ["plain", 'a "b", c', "two\nlines", "", null, 1.5, true, ["a,b", "c"], " x"];
    const expected = 'plain,"a ""b"", c","two\nlines","",,1.5,true,"[""a,b"",""c""]"," x"\r\n';
    assert.equal(csvLine(values), expected);
  });

  it("has no cell that a spreadsheet runs as a formula", () => {
    const cells = [
      ['=HYPERLINK("http://evil.example","x")', `'=HYPERLINK("http://evil.example","x")`],
      ["+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"],
      ["-2+3", "'-2+3"],
      ["@SUM(A1)", "'@SUM(A1)"],
      ["\uff1d1", "'\uff1d1"],
      [" =1", "' =1"],
      ["\u00a0 -1", "'\u00a0 -1"],
      ["\u200b=1", "'\u200b=1"],
      ["\ufeff=1", "'\ufeff=1"],
      ["a; \u200b=1", "a;' \u200b=1"],
      ["\t=1", "\t'=1"],
      ["\r\n=1", "\r\n'=1"],
      // Where `;` separates cells, a quote in the middle of one begins nothing.
      ["a;=1;+2\n-3", "a;'=1;'+2\n'-3"],
      // Where `;` separates cells, quotes at the beginning of one are removed.
      ['a;"=1;"', `a;"'=1;"`],
      ['a;""=1', `a;""'=1`],
      ['"=1"', `"'=1"`],
      ["a=1, -2 @web", "a=1, -2 @web"],
    ];
    for (const [text, expected] of cells) {
      const [, quoted, plain] = /^(?:"([^]*)"|([^]*))\r\n$/.exec(csvLine([text!])) ?? [];
      assert.equal(quoted?.replaceAll('""', '"') ?? plain!, expected);
    }
    assert.equal(csvLine([-1, ["=1", "a;=1"]]), `-1,"[""=1"",""a;'=1""]"\r\n`);
  });

  it("is fast for a text of line breaks or of quotes", () => {
    const start = performance.now();
    csvLine([
      "\n".repeat(1_000_000),
      " ".repeat(1_000_000),
      "; ".repeat(500_000),
      `;${'"'.repeat(1_000_000)}`,
    ]);
    assert.ok(performance.now() - start < 10_000);
  });
});
