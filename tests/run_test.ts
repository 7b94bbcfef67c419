import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { namedTests, testsOf } from "./run.ts";

const GRAPH = new Map([
  ["lib/a.ts", []],
  ["lib/b.ts", ["lib/a.ts"]],
  ["tests/lib/a_test.ts", []],
  ["tests/lib/b_test.ts", ["lib/b.ts"]],
  ["tests/other_test.ts", ["tests/helper.ts"]],
  ["tests/helper.ts", ["lib/a.ts"]],
]);

describe("deno task test --changed", () => {
  it("runs the tests that mirror or import what changed", () => {
    assert.deepEqual(testsOf(["lib/b.ts"], GRAPH), [
      "tests/architecture_test.ts",
      "tests/lib/b_test.ts",
    ]);
  });

  it("follows what tests share, and not the program", () => {
    assert.deepEqual(testsOf(["lib/a.ts"], GRAPH), [
      "tests/architecture_test.ts",
      "tests/lib/a_test.ts",
      "tests/other_test.ts",
    ]);
  });

  it("runs the tests of documents when one changed", () => {
    assert.deepEqual(testsOf(["docs/proof.md"], GRAPH), ["tests/docs", "tests/readme_test.ts"]);
  });

  it("reads the tests that the first line of a file names", () => {
    const text = "// Tests: tests/a_test.ts tests/b_test.ts\nexport const one = 1;\n";
    assert.deepEqual(namedTests(text), ["tests/a_test.ts", "tests/b_test.ts"]);
    assert.deepEqual(namedTests("export const one = 1;\n// Tests: tests/a_test.ts\n"), []);
  });
});
