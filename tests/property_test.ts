import { it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { describeWithDatabases } from "./database.ts";
import { assertNothingLeftOver, assertWhole } from "./db/write/prune_fixture.ts";
import { EXAMPLES } from "./oracle/history.ts";
import { tryHistories } from "./oracle/property.ts";

/** Fixed, so that the gate is reproducible, and not the same; `deno task prove` draws others. */
const SEEDS = { embedded: 1, server: 2 };

/** Each takes as long as five examples. */
const RANDOM_HISTORIES = 10;

describeWithDatabases("random histories", (database) => {
  it("agree with the definitions", async () => {
    const { failure, histories, comparisons } = await tryHistories(database(), {
      count: RANDOM_HISTORIES,
      seed: SEEDS[database().kind],
    });
    assert.equal(failure, null, failure ?? "");
    assert.equal(histories, EXAMPLES.length + RANDOM_HISTORIES);
    assert.ok(comparisons > 1_000, `only ${comparisons} answers were compared`);
    await assertWhole(database());
    await assertNothingLeftOver(database());
  });
});
