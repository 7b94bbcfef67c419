/** The gate and reports of real tools that stopped early, from the laboratory. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { readRunReports } from "../../../../lib/cli/gate_run/run_reports.ts";
import { answer, gateFixture, type Known } from "../gate_run/gate_fixture.ts";
import { withoutDatabase } from "../run_in_process.ts";

const pathOf = (name: string) =>
  fileURLToPath(new URL(`../../../../fixtures/laboratory/${name}`, import.meta.url));

async function attemptsIn(name: string) {
  const options = { before: null, checkoutFolder: "" };
  return (await readRunReports([pathOf(name)], options)).attempts;
}

/** A run that stopped early, and a whole one of the same tests. */
const CASES = [
  ["pytest --maxfail", "pytest/maxfail.xml", "pytest/plain.xml"],
  ["vitest --bail", "vitest/bail.xml", "vitest/retries.xml"],
] as const;

describe("gate and a tool that stopped early", () => {
  for (const [title, stopped, whole] of CASES) {
    it(`excuses nothing: ${title}`, async () => {
      const { failed } = await attemptsIn(stopped);
      assert.ok(failed.length > 0, "a test failed");
      const usual = (await attemptsIn(whole)).counts;
      // Every failure is known and quarantined: what did not run is the only obstacle.
      const known: Known = {
        quarantined: failed.map(({ fingerprint, ...test }) => ({ ...test, causes: [fingerprint] })),
        earlier: {
          expected_test_count: usual.ran,
          base_test_counts: [usual.ran, usual.ran, usual.ran],
          expected_skipped_count: usual.skipped,
        },
      };
      const fixture = await gateFixture(known, (request) => answer(request, known));
      try {
        const gate = (...options: string[]) =>
          withoutDatabase(
            ["gate", "--repo", "acme/shop", "--exit-code", "1", ...options, pathOf(stopped)],
            { environment: fixture.environment },
          );
        const { code, stdout } = await gate();
        assert.equal(code, 1);
        assert.match(stdout, /\(--max-missing\)$/m);
        assert.equal((await gate("--max-missing", "100%")).code, 0);
      } finally {
        await fixture.close();
      }
    });
  }
});
