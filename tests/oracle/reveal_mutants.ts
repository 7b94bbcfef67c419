import { before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { ATTEMPT_MUTANTS } from "./attempt_mutants.ts";
import { EXAMPLES, history } from "./history.ts";
import { MUTANTS } from "./mutants.ts";
import { QUARANTINE_MUTANTS } from "./quarantine_mutants.ts";
import { inMemoryOrganization, type OracleClass } from "./in_memory_model.ts";
import { Oracle } from "./oracle.ts";
import { runHistory } from "./run_history.ts";
import type { Organization } from "./service.ts";

/** The examples and the first 10 or so reveal all mistakes. */
const HISTORIES = 60;

const SEED = 20260315;

const ALL = { ...MUTANTS, ...ATTEMPT_MUTANTS, ...QUARANTINE_MUTANTS };

/** Whether a result is another one; a mistake may also lead to none. */
function differs(resultOf: () => unknown, right: unknown): boolean {
  try {
    return !isDeepStrictEqual(resultOf(), right);
  } catch {
    return true;
  }
}

describe("random histories", () => {
  /** The mistakes that no response has revealed so far. */
  const unnoticed = new Map(Object.entries(ALL));

  // All mistakes at once: the histories and the right responses are the same for each of them.
  before(async () => {
    for (const sample of [...EXAMPLES, ...fc.sample(history, { seed: SEED, numRuns: HISTORIES })]) {
      const organization = inMemoryOrganization("acme");
      /** Removes the mistakes that lead to another result. */
      const compare = <T>(resultOf: (Definitions: OracleClass) => T): T => {
        const right = resultOf(Oracle);
        for (const [mistake, Definitions] of unnoticed) {
          if (differs(() => resultOf(Definitions), right)) unnoticed.delete(mistake);
        }
        return right;
      };
      const compared: Organization = {
        ...organization,
        send: (apiRequest, options) =>
          Promise.resolve(compare((one) => organization.sendWith(one, apiRequest, options))),
        applyPolicy(...action) {
          compare((Definitions) => organization.policyWith(Definitions, ...action));
          return organization.applyPolicy(...action);
        },
        quarantineLog(now) {
          compare((Definitions) =>
            organization.logWith(Definitions, now).map((event) => JSON.stringify(event)).sort()
          );
          return organization.quarantineLog(now);
        },
      };
      await runHistory(sample, { organization: compared, name: "acme" });
      if (unnoticed.size === 0) return;
    }
  });

  for (const mistake of Object.keys(ALL)) {
    it(`reveal that ${mistake}`, () => {
      assert.ok(!unnoticed.has(mistake), `${HISTORIES} histories did not reveal the mistake`);
    });
  }
});
