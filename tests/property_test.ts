import { it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { describeWithDatabases } from "./database.ts";
import { assertNothingLeftOver, assertWhole } from "./db/write/prune_fixture.ts";
import { tryHistories } from "./oracle/property.ts";

/** Fixed, so that the gate is reproducible; `deno task prove` draws others. */
const SEED = 1;

describeWithDatabases("random histories", (database) => {
  it("agree with the definitions", async () => {
    const { failure, comparisons } = await tryHistories(database(), { count: 25, seed: SEED });
    assert.equal(failure, null, failure ?? "");
    assert.ok(comparisons > 1_000, `only ${comparisons} answers were compared`);
    await assertWhole(database());
    await assertNothingLeftOver(database());
  });
});
