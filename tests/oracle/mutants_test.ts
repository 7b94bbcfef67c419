import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import fc from "fast-check";
import { history } from "./history.ts";
import { MUTANTS } from "./mutants.ts";
import { type OracleClass, paperOrganization } from "./in_memory_model.ts";
import { runHistory } from "./run_history.ts";
import { Disagreement } from "./differential_runner.ts";

/** Enough for the least likely of the mistakes, at a few milliseconds each. */
const HISTORIES = 400;

const SEED = 20260315;

/** How many histories it took until the mistake was seen, `null` when none showed it. */
async function historiesUntilSeen(Definitions: OracleClass): Promise<number | null> {
  let number = 0;
  for (const sample of fc.sample(history, { seed: SEED, numRuns: HISTORIES })) {
    number++;
    try {
      const organization = paperOrganization("paper", Definitions);
      await runHistory(sample, { organization, name: "paper" });
    } catch (error) {
      if (error instanceof Disagreement) return number;
      throw error;
    }
  }
  return null;
}

describe("random histories", () => {
  it("agree with the oracle where the definitions are right", async () => {
    for (const sample of fc.sample(history, { seed: SEED, numRuns: 50 })) {
      const organization = paperOrganization("paper");
      assert.ok(await runHistory(sample, { organization, name: "paper" }) > 0);
    }
  });

  for (const [mistake, Definitions] of Object.entries(MUTANTS)) {
    it(`notice that ${mistake}`, async () => {
      const histories = await historiesUntilSeen(Definitions);
      assert.notEqual(histories, null, `${HISTORIES} histories did not show the mistake`);
    });
  }
});
