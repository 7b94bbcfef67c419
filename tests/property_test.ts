import { it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { describeWithDatabases } from "./database.ts";
import { tryHistories } from "./oracle/property.ts";

/** Always the same ones, so that the gate says the same twice; `deno task prove` tries others. */
const SEED = 1;

describeWithDatabases("random histories", (database) => {
  it("give the answers that the definitions give", async () => {
    const { failure, comparisons } = await tryHistories(database(), { count: 60, seed: SEED });
    assert.equal(failure, null, failure ?? "");
    assert.ok(comparisons > 1_000, `only ${comparisons} answers were compared`);
  });
});
