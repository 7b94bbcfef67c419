/** `junit/dialects.ts` and `native/`, with the reports of the laboratory. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { describe, it } from "@std/testing/bdd";
import type { TestResult } from "../../../lib/report/result.ts";
import { inChunks, readBytes } from "./reading.ts";

const DIALECTS = new URL("../../../fixtures/junit/dialects/", import.meta.url);
const CHECKOUT = "/srv/shop";
const OTHER_CHECKOUT = "/home/ci/7/shop";

const tools = readdirSync(DIALECTS, { withFileTypes: true })
  .filter((entry) => entry.isDirectory()).map(({ name }) => name).sort();

function reportsOf(tool: string): string[] {
  const files = readdirSync(new URL(`${tool}/`, DIALECTS));
  return files.filter((file) => file.endsWith(".xml")).sort();
}

async function read(
  tool: string,
  file: string,
  checkoutFolder: string,
): Promise<TestResult[]> {
  const bytes = await readFile(new URL(`${tool}/${file}`, DIALECTS));
  return await readBytes(inChunks(bytes, 64 * 1024), { file, checkoutFolder });
}

const identities = (results: TestResult[]): string[] =>
  results.map(({ suite, class: className, name, file }) =>
    JSON.stringify([suite, className, name, file])
  );

/** The names in a report as they are written. */
async function writtenNames(tool: string, file: string): Promise<string[]> {
  const text = await readFile(new URL(`${tool}/${file}`, DIALECTS), "utf8");
  return [...text.matchAll(/ (?:name|classname|file)="([^"]*)"/g)].map(([, name]) => name!).sort();
}

/** What each attempt of one test ended with, in the order of the report. */
const conclusions = (results: TestResult[], name: string): string[] =>
  results.filter((result) => result.name === name).map(({ conclusion }) => conclusion);

describe("reports as tools write them", () => {
  for (const tool of tools) {
    for (const file of reportsOf(tool).filter((file) => file.endsWith("_again.xml"))) {
      it(`${tool}/${file}, run again in another folder, has the same tests`, async () => {
        const first = await read(tool, file.replace("_again", ""), CHECKOUT);
        const again = await read(tool, file, OTHER_CHECKOUT);
        assert.deepEqual(identities(again).sort(), identities(first).sort());
        assert.notDeepEqual(
          await writtenNames(tool, file),
          await writtenNames(tool, file.replace("_again", "")),
          "nothing in these reports changes from run to run: no need to keep both",
        );
      });
    }
  }

  const retries: [string, string, string, string[]][] = [
    ["gotestsum", "report_rerun_fails.xml", "TestFlaky", ["failure", "passing"]],
    ["gotestsum", "report_rerun_fails.xml", "TestFailure", ["failure", "failure", "failure"]],
    ["gradle", "report.xml", "flaps()", ["failure", "passing"]],
    ["gradle", "report_merge_reruns.xml", "flaps()", ["failure", "passing"]],
    ["nextest", "report.xml", "tests::flaps", ["failure", "passing"]],
    ["nextest", "report.xml", "tests::never_works", ["failure", "failure"]],
    ["playwright", "report_include_retries.xml", "[one] cart › flaps", ["failure", "passing"]],
    ["surefire", "report.xml", "flaps", ["failure", "passing"]],
    ["surefire", "report.xml", "flapsWithError", ["error", "passing"]],
    ["failsafe", "report.xml", "pays", ["error", "passing"]],
    // These report only the final outcome.
    ["playwright", "report.xml", "[one] cart › flaps", ["passing"]],
    ["pytest", "report.xml", "test_flaky", ["passing"]],
    ["jest", "report.xml", "cart flaps", ["passing"]],
    ["vitest", "report.xml", "cart > flaps", ["passing"]],
    ["vitest", "report.xml", "cart > never works", ["failure"]],
    ["mocha", "report.xml", "cart flaps", ["passing"]],
    ["cypress", "report.xml", "cart flaps", ["passing"]],
    ["rspec", "report.xml", "Cart flaps", ["passing"]],
    ["ctest", "report.xml", "cart.flaps", ["passing"]],
  ];
  for (const [tool, file, name, expected] of retries) {
    it(`${tool}/${file} reads ${name} as ${expected.join(", ")}`, async () => {
      const results = await read(tool, file, CHECKOUT);
      assert.deepEqual(conclusions(results, name), expected);
    });
  }

  it("bazel's attempts, each in a file of its own, are attempts of one test", async () => {
    const first = await read("bazel", "report_attempt_1.xml", CHECKOUT);
    const last = await read("bazel", "report.xml", CHECKOUT);
    assert.deepEqual(identities(first), identities(last));
    assert.deepEqual(
      [...first, ...last].map(({ conclusion }) => conclusion),
      ["error", "passing"],
    );
  });

  it("are described, each tool in one line, and no other", async () => {
    const readme = await readFile(new URL("README.md", DIALECTS), "utf8");
    const reference = await readFile(
      new URL("../../../docs/reference/junit.md", import.meta.url),
      "utf8",
    );
    for (const text of [readme, reference]) {
      const table = text.slice(text.lastIndexOf("| tool "));
      const rows = [...table.matchAll(/^\| `([a-z0-9_]+)` +\|/gm)].map(([, tool]) => tool!);
      assert.deepEqual([...new Set(rows)].sort(), tools);
    }
  });
});
