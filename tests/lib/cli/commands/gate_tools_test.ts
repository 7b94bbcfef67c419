/** The gate and reports of real tools that stopped early or crashed, from the laboratory. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { readRunReports } from "../../../../lib/cli/gate_run/run_reports.ts";
import { answer, gateFixture, type Known } from "../gate_run/gate_fixture.ts";
import { withoutDatabase } from "../run_in_process.ts";

/** Of reports of the laboratory; other paths as they are. */
const pathsOf = (names: readonly string[]) =>
  names.map((name) =>
    fileURLToPath(new URL(name, new URL("../../../../fixtures/laboratory/", import.meta.url)))
  );

async function attemptsIn(names: readonly string[]) {
  const options = { before: null, checkoutFolder: "" };
  return (await readRunReports(pathsOf(names), options)).attempts;
}

/** A run that stopped early, and a whole one of the same tests, or their number. */
const CASES: [string, string[], string[] | number][] = [
  ["pytest --maxfail", ["pytest/maxfail.xml"], ["pytest/plain.xml"]],
  ["jest --bail", ["jest/bail.xml"], ["jest/files.xml"]],
  ["vitest --bail", ["vitest/bail.xml"], ["vitest/retries.xml"]],
  [
    "playwright --max-failures",
    ["playwright/max_failures.xml"],
    ["playwright/shards_shard_1.xml", "playwright/shards_shard_2.xml"],
  ],
  ["a panic of Go, by gotestsum", ["gotestsum/panic.xml"], 3],
];

/** A service to which every failure is known and quarantined, and the usual number of tests. */
async function gateOf(reports: readonly string[], usual: { ran: number; skipped: number } | null) {
  const { failed } = await attemptsIn(reports);
  assert.ok(failed.length > 0, "a test failed");
  const known: Known = {
    quarantined: failed.map((
      { fingerprint, otherFingerprints = [], bySubtest: _, ...test },
    ) => ({
      ...test,
      causes: [fingerprint, ...otherFingerprints],
    })),
    ...usual && {
      earlier: {
        expected_test_count: usual.ran,
        base_test_counts: [usual.ran, usual.ran, usual.ran],
        expected_skipped_count: usual.skipped,
      },
    },
  };
  const fixture = await gateFixture(known, (request) => answer(request, known));
  const gate = (...options: string[]) =>
    withoutDatabase(
      ["gate", "--repo", "acme/shop", "--exit-code", "1", ...options, ...pathsOf(reports)],
      { environment: fixture.environment },
    );
  return { gate, [Symbol.asyncDispose]: () => fixture.close() };
}

describe("gate and a tool that stopped early", () => {
  for (const [title, stopped, whole] of CASES) {
    it(`excuses nothing: ${title}`, async () => {
      const usual = typeof whole === "number"
        ? { ran: whole, skipped: 0 }
        : (await attemptsIn(whole)).counts;
      await using run = await gateOf(stopped, usual);
      const { code, stdout } = await run.gate();
      assert.equal(code, 1);
      assert.match(stdout, /\(--max-missing\)$/m);
      assert.equal((await run.gate("--max-missing", "100%")).code, 0);
    });
  }

  it("excuses nothing after a panic of Go, by go test -json, whatever is known of earlier runs", async () => {
    await using run = await gateOf(["go_test_json/panic.json"], null);
    const { code, stdout } = await run.gate("--max-missing", "100%");
    assert.equal(code, 1);
    assert.match(stdout, /package "example.com\/shop\/crash" ended before its tests were done/);
  });

  it("excuses nothing after a crash of surefire's JVM, whatever is known of earlier runs", async () => {
    // The reports of the class that crashed and of the next one are missing; Maven ends with 1 as always.
    const folder = await Deno.makeTempDir();
    try {
      const reports = `${folder}/target/surefire-reports`;
      await Deno.mkdir(reports, { recursive: true });
      const [crash] = pathsOf(["surefire/crash_TEST-StorageTest.xml"]);
      await Deno.copyFile(crash!, `${reports}/TEST-StorageTest.xml`);
      for (const [usual, reason] of [[null, "Maven and Gradle"], [6, "(--max-missing)"]] as const) {
        const { failed } = await attemptsIn([reports]);
        await using run = await gateOf([reports], usual && { ran: usual, skipped: 1 });
        assert.equal(failed.length, 1);
        const { code, stdout } = await run.gate();
        assert.equal(code, 1);
        assert.ok(stdout.includes(reason), stdout);
        assert.equal((await run.gate("--max-missing", "100%")).code, 1);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
});
