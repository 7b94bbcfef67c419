import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import fc from "fast-check";
import { EXAMPLES, history } from "./history.ts";
import { MUTANTS } from "./mutants.ts";
import { inMemoryOrganization, type OracleClass } from "./in_memory_model.ts";
import { runHistory } from "./run_history.ts";
import { Disagreement } from "./differential_runner.ts";

/** The rarest of the mistakes needs 124. */
const HISTORIES = 150;

const SEED = 20260315;

/** The same histories for every mistake. */
const samples = [...EXAMPLES, ...fc.sample(history, { seed: SEED, numRuns: HISTORIES })];

/** Whether a history reveals the mistake. */
async function isNoticed(Definitions: OracleClass): Promise<boolean> {
  for (const sample of samples) {
    try {
      const organization = inMemoryOrganization("acme", Definitions);
      await runHistory(sample, { organization, name: "acme" });
    } catch (error) {
      if (error instanceof Disagreement) return true;
      throw error;
    }
  }
  return false;
}

describe("random histories", () => {
  it("agree with the oracle when the definitions are right", async () => {
    for (const sample of samples.slice(0, 50)) {
      const organization = inMemoryOrganization("acme");
      assert.ok(await runHistory(sample, { organization, name: "acme" }) > 0);
    }
  });

  for (const [mistake, Definitions] of Object.entries(MUTANTS)) {
    it(`reveal that ${mistake}`, async () => {
      assert.ok(await isNoticed(Definitions), `${HISTORIES} histories did not reveal the mistake`);
    });
  }
});
