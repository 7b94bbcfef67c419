import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { tableLines, wrapLine } from "../../../lib/cli/table.ts";

const COLUMNS = [
  { title: "N", align: "right" as const },
  { title: "NAME", cut: "end" as const },
  { title: "FILE", cut: "start" as const },
];

describe("a table", () => {
  it("is as wide as its cells, without blanks at the end of lines", () => {
    assert.deepEqual(tableLines(COLUMNS, [["12", "adds", "a.ts"], ["3", "b", ""]], 80), [
      " N  NAME  FILE",
      "12  adds  a.ts",
      " 3  b",
    ]);
  });

  it("cuts names at the end and paths at the start, to the width of the terminal", () => {
    const rows = [["1", "n".repeat(50), "folder/".repeat(9) + "z.ts"], ["2", "short", "a.ts"]];
    const lines = tableLines(COLUMNS, rows, 40);
    assert.equal(lines[1]!.length, 40);
    assert.match(lines[1]!, /^1 {2}n+… {2}….*\/z\.ts$/);
    assert.match(lines[2]!, /^2 {2}short {13} a\.ts$/);
  });

  it("leaves the width that a narrow column does not need to the other", () => {
    const [, line] = tableLines(COLUMNS, [["1", "n".repeat(60), "a.ts"]], 40);
    assert.equal(line, `1  ${"n".repeat(30)}…  a.ts`);
  });

  it("counts two columns for East Asian characters and emoji, and splits none", () => {
    const lines = tableLines(COLUMNS, [["1", "注文を確定する", "x"], ["2", "👩‍💻 ok", "y"]], 20);
    assert.deepEqual(lines.slice(1), ["1  注文を確定…  x", "2  👩‍💻 ok        y"]);
  });
});

describe("a line that is too long", () => {
  const wrap = (text: string) => wrapLine(text, { width: 12, indent: "  " });

  it("is broken at spaces, and goes on indented", () => {
    assert.deepEqual(wrap("short enough"), ["short enough"]);
    assert.deepEqual(wrap("- one two three four"), ["- one two", "  three four"]);
    assert.deepEqual(wrap("new  a.test  12 %"), ["new  a.test", "  12 %"]);
  });

  it("keeps words whole, whatever their width", () => {
    assert.deepEqual(wrap("a https://ci.example.org/1 b"), [
      "a",
      "  https://ci.example.org/1",
      "  b",
    ]);
  });
});
