/** `coverage_map.ts`: several reports of one upload, in any format. */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { read } from "./reading.ts";

const section = (path: string, ...lines: string[]) =>
  `TN:\nSF:${path}\n${lines.map((line) => `DA:${line}\n`).join("")}end_of_record\n`;

describe("several coverage reports of one upload", () => {
  it("covers a line that any of them covers", async () => {
    const first = section("a.c", "1,1", "2,0", "3,0");
    const second = section("a.c", "2,4", "3,0", "4,0");
    assert.equal(await read(first, second), "2/4");
    assert.equal(await read(second, first), "2/4");
  });

  it("merges a file that is listed twice in one report", async () => {
    const report = section("a.c", "1,0", "2,1") + section("a.c", "1,1", "2,0");
    assert.equal(await read(report), "2/2");
  });

  it("merges a file across formats", async () => {
    const go = "mode: set\nshop/a.go:1.1,2.5 1 1\n";
    assert.equal(await read(section("shop/a.go", "2,0", "3,0"), go), "2/3");
  });

  it("adds totals of reports without lines", async () => {
    const totals = `{"total":{"lines":{"total":10,"covered":5,"skipped":0,"pct":50}}}`;
    assert.equal(await read(section("a.c", "1,1"), totals, totals), "11/21");
    assert.equal(await read("SF:a.c\nLF:4\nLH:3\nend_of_record\n"), "3/4");
  });

  for (
    const [one, other] of [
      ["./a.c", "a.c"],
      ["lib/../a.c", "a.c"],
      ["src\\a.cs", "src/a.cs"],
      ["c:\\src\\a.cs", "C:/src/a.cs"],
      ["file:///src/a.ts", "/src/a.ts"],
      ["src//a.c", "src/./a.c"],
    ] as const
  ) {
    it(`takes ${one} and ${other} for one file`, async () => {
      assert.equal(await read(section(one, "1,0") + section(other, "1,1")), "1/1");
    });
  }

  for (
    const [one, other] of [
      ["/src/a.c", "src/a.c"],
      ["a/index.js", "b/index.js"],
      ["../a.c", "a.c"],
      ["A.c", "a.c"],
      ["index.js", "src/index.js"],
    ] as const
  ) {
    it(`takes ${one} and ${other} for two files`, async () => {
      assert.equal(await read(section(one, "1,0") + section(other, "1,1")), "1/2");
    });
  }

  for (const name of ["__proto__", "constructor", "toString"]) {
    it(`takes a file called ${name} as any other`, async () => {
      const json = `{"${name}":{"path":"x","statementMap":{"__proto__":{"start":{"line":3}}},` +
        `"s":{"__proto__":1}}}`;
      assert.equal(await read(section(name, "1,1", "2,0")), "1/2");
      assert.equal(await read(json), "1/1");
    });
  }
});
