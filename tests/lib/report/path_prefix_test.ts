import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import {
  findPathPrefix,
  formatPathPrefixes,
  parsePathPrefixes,
  prefixOf,
  readPathPrefix,
  withPrefix,
} from "../../../lib/report/path_prefix.ts";

describe("the folder that the paths of a report begin at", () => {
  let top: string;

  before(async () => {
    top = await Deno.makeTempDir({ prefix: "test-analytics-prefix-" });
    const write = async (path: string, text = "") => {
      await Deno.mkdir(join(top, path, ".."), { recursive: true });
      await Deno.writeTextFile(join(top, path), text);
    };
    const report = (...files: string[]) =>
      `<testsuite>${
        files.map((file) => `<testcase name="a" file="${file}"/>`).join("")
      }</testsuite>`;
    await write("src/both.test.ts");
    await write("packages/app/src/app.test.ts");
    await write("packages/app/src/both.test.ts");
    await write("packages/app/reports/junit.xml", report("src/gone.ts", ".\\src\\app.test.ts"));
    await write("packages/app/reports/both.xml", report("src/both.test.ts", "src/app.test.ts"));
    await write("packages/app/reports/absolute.xml", report("/src/app.test.ts"));
    await write("reports/junit.xml", report("src/app.test.ts"));
  });
  after(() => Deno.remove(top, { recursive: true }));

  it("is the one above it that has its files", async () => {
    const found = (path: string) => findPathPrefix(join(top, path), top);
    assert.equal(await found("packages/app/reports/junit.xml"), "packages/app");
    // The first that exists anywhere decides.
    assert.equal(await found("packages/app/reports/both.xml"), "");
    assert.equal(await found("packages/app/reports/absolute.xml"), "");
    assert.equal(await found("reports/junit.xml"), "");
    assert.equal(await found("reports/none.xml"), "");
    assert.equal(await findPathPrefix(join(top, "packages/app/reports/junit.xml"), ""), "");
    const other = join(top, "packages/app/src");
    assert.equal(await findPathPrefix(join(top, "packages/app/reports/junit.xml"), other), "");
  });

  it("is put in front of relative paths, once", () => {
    assert.equal(withPrefix("src/a.ts", "packages/app"), "packages/app/src/a.ts");
    assert.equal(withPrefix("packages/app/src/a.ts", "packages/app"), "packages/app/src/a.ts");
    for (const file of ["", "/src/a.ts", "C:\\a.ts", "../a.ts"]) {
      assert.equal(withPrefix(file, "packages/app"), file);
    }
  });

  it("lies in the checkout", () => {
    assert.equal(readPathPrefix(" ./packages\\app// "), "packages/app");
    assert.equal(readPathPrefix("."), "");
    for (const wrong of ["/etc", "C:/a", "a/../../b", "a\nb", "a".repeat(501)]) {
      assert.throws(() => readPathPrefix(wrong), /expected/);
    }
  });

  it("is that of the deepest folder of the archive", () => {
    const text = formatPathPrefixes([
      { folder: "test-results/packages/app", prefix: "packages/app" },
      { folder: "test-results/packages/app/web", prefix: "" },
    ]);
    const prefixes = parsePathPrefixes(`${text}x\t/etc\nnonsense\na\tb\tc\n`);
    assert.equal(prefixes.length, 2);
    assert.equal(prefixOf("test-results/packages/app/a.xml", prefixes), "packages/app");
    assert.equal(prefixOf("test-results/packages/app/web/a.xml", prefixes), "");
    assert.equal(prefixOf("test-results/packages/application/a.xml", prefixes), "");
    assert.equal(prefixOf("test-results/a.xml", [{ folder: "", prefix: "web" }]), "web");
  });
});
