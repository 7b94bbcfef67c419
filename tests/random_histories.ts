/** Random histories whose answers are compared with the definitions, on one database for each file. */
import { it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import process from "node:process";
import type { TestDatabase } from "./database.ts";
import { assertNothingLeftOver, assertWhole } from "./db/write/prune_fixture.ts";
import { EXAMPLES } from "./oracle/history.ts";
import { tryHistories } from "./oracle/property.ts";

/** Fixed, so that the gate is reproducible; `deno task prove` draws others. */
const SEED = 2;

const RANDOM_HISTORIES = 5;

/** Each takes as long as five examples: on one database only, the server if there is one. */
function randomCount(kind: "embedded" | "server"): number {
  const { TEST_DATABASE_URL: server, TEST_DATABASES: databases } = process.env;
  const isOtherVersion = databases === "server";
  const isOnlyOne = kind === "server" || !server;
  return isOnlyOne && !isOtherVersion ? RANDOM_HISTORIES : 0;
}

/** The test of the examples and of random histories. */
export function itAgreesWithTheDefinitions(database: () => TestDatabase): void {
  it("agree with the definitions", async () => {
    const count = randomCount(database().kind);
    const { failure, histories, comparisons } = await tryHistories(database(), {
      count,
      seed: SEED,
    });
    assert.equal(failure, null, failure ?? "");
    assert.equal(histories, EXAMPLES.length + count);
    assert.ok(comparisons > 1_000, `only ${comparisons} answers were compared`);
    await assertWhole(database());
    await assertNothingLeftOver(database());
  });
}
