import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { groupsOf, writeGroups } from "./groups.ts";
import { waitUntil } from "./wait_until.ts";
import { allGroups, namedTests, testsOf } from "./run.ts";

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
      "tests/tools/documentation/main_test.ts",
    ]);
  });

  it("follows what tests share, and not the program", () => {
    assert.deepEqual(testsOf(["lib/a.ts"], GRAPH), [
      "tests/architecture_test.ts",
      "tests/lib/a_test.ts",
      "tests/other_test.ts",
      "tests/tools/documentation/main_test.ts",
    ]);
  });

  it("runs the tests of documents when one changed", () => {
    assert.deepEqual(testsOf(["docs/proof.md"], GRAPH), [
      "tests/docs",
      "tests/readme_test.ts",
      "tests/tools/documentation/main_test.ts",
    ]);
  });

  it("reads the tests that the first line of a file names", () => {
    const text = "// Tests: tests/a_test.ts tests/b_test.ts\nexport const one = 1;\n";
    assert.deepEqual(namedTests(text), ["tests/a_test.ts", "tests/b_test.ts"]);
    assert.deepEqual(namedTests("export const one = 1;\n// Tests: tests/a_test.ts\n"), []);
  });
});

describe("deno task test", () => {
  it("leaves no folder when it is interrupted", async () => {
    const folder = await Deno.makeTempDir();
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "tests/run.ts", "--no-run"],
      cwd: fileURLToPath(new URL("..", import.meta.url)),
      env: { TMPDIR: folder },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const names = () => Array.from(Deno.readDirSync(folder), ({ name }) => name);
    await waitUntil("the tests start", () => names().length > 0);
    child.kill("SIGTERM");
    assert.notEqual((await child.status).code, 0);
    assert.deepEqual(names(), []);
    await Deno.remove(folder);
  });
});

describe("the groups of deno task test", () => {
  it("have each file of tests once", () => {
    const files = allGroups().flat();
    assert.deepEqual(files.length, new Set(files).size);
    assert.ok(files.length > 300, String(files.length));
    assert.ok(files.includes("tests/run_test.ts"));
    assert.ok(files.every((file) => existsSync(new URL(`../${file}`, import.meta.url))));
  });

  it("keep files apart that would change each other", () => {
    const texts: Record<string, string> = {
      "tests/db/a_test.ts": 'describe("a", () => {\n  before(() => {});\n});\n',
      "tests/db/b_test.ts": "",
      "tests/db/hooks_test.ts": "before(() => {});\n",
      "tests/e2e/c_test.ts": "",
      "tests/e2e/d_test.ts": "",
      "tests/lib/memory_test.ts": "process.memoryUsage();\n",
      "tests/lib/other_test.ts": "",
    };
    assert.deepEqual(groupsOf(Object.keys(texts), (file) => texts[file]!), [
      ["tests/e2e/c_test.ts", "tests/e2e/d_test.ts"],
      ["tests/db/a_test.ts", "tests/db/b_test.ts"],
      ["tests/lib/other_test.ts"],
      ["tests/db/hooks_test.ts"],
      ["tests/lib/memory_test.ts"],
    ]);
  });

  it("are modules in one folder, in which they start in this order", async () => {
    const folder = await Deno.makeTempDir({ prefix: "test-analytics-groups-test-" });
    try {
      const groups = [["tests/run_test.ts"], ["tests/e2e/a_test.ts"], [
        "tests/lib/b_test.ts",
        "tests/lib/c/d_test.ts",
      ]];
      const paths = writeGroups(groups, folder);
      assert.deepEqual(
        paths.map((path) => relative(folder, path)),
        ["0_run_test.ts", "1_e2e_a_test.ts", "2_group_of_lib_test.ts"],
      );
      const imported = (await Deno.readTextFile(paths[2]!)).match(/tests\/[\w/]+\.ts/g);
      assert.deepEqual(imported, groups[2]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });

  it("have a limited number of files", () => {
    const files = Array.from({ length: 17 }, (_, index) => `tests/db/${index}_test.ts`);
    assert.deepEqual(groupsOf(files, () => "").map(({ length }) => length), [6, 6, 5]);
  });
});
