import { before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { ATTEMPT_MUTANTS } from "./attempt_mutants.ts";
import { EXAMPLES, history } from "./history.ts";
import { MUTANTS } from "./mutants.ts";
import { inMemoryOrganization } from "./in_memory_model.ts";
import { Oracle } from "./oracle.ts";
import { runHistory } from "./run_history.ts";
import type { Organization } from "./service.ts";

/** Few mistakes need more than 30, the rarest about 50. */
const HISTORIES = 150;

const SEED = 20260315;

const ALL = { ...MUTANTS, ...ATTEMPT_MUTANTS };

describe("random histories", () => {
  /** The mistakes that no response has revealed so far. */
  const unnoticed = new Map(Object.entries(ALL));

  // All mistakes at once: the histories and the right responses are the same for each of them.
  before(async () => {
    for (const sample of [...EXAMPLES, ...fc.sample(history, { seed: SEED, numRuns: HISTORIES })]) {
      const organization = inMemoryOrganization("acme");
      const ask: Organization["ask"] = (question, asking) => {
        const right = organization.askWith(Oracle, question, asking);
        for (const [mistake, Definitions] of unnoticed) {
          const wrong = organization.askWith(Definitions, question, asking);
          if (!isDeepStrictEqual(wrong, right)) unnoticed.delete(mistake);
        }
        return Promise.resolve(right);
      };
      await runHistory(sample, { organization: { ...organization, ask }, name: "acme" });
      if (unnoticed.size === 0) return;
    }
  });

  for (const mistake of Object.keys(ALL)) {
    it(`reveal that ${mistake}`, () => {
      assert.ok(!unnoticed.has(mistake), `${HISTORIES} histories did not reveal the mistake`);
    });
  }
});
