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

/** Where the server runs all examples, `5` has every fifth one run on the embedded database: each takes 0.8 s. */
const EMBEDDED_EXAMPLE_STEP = Number(process.env.EMBEDDED_EXAMPLE_STEP ?? "1");

/** The test of the examples and of random histories. */
export function itAgreesWithTheDefinitions(database: () => TestDatabase): void {
  it("agree with the definitions", async () => {
    const { TEST_DATABASE_URL: server, TEST_DATABASES: databases } = process.env;
    // All of them on one database, the server if there is one.
    const isMain = database().kind === "server" || !server;
    const exampleStep = isMain ? 1 : EMBEDDED_EXAMPLE_STEP;
    // Each takes as long as five examples.
    const count = isMain && databases !== "server" ? RANDOM_HISTORIES : 0;
    const trial = { count, seed: SEED, exampleStep };
    const { failure, histories, comparisons } = await tryHistories(database(), trial);
    assert.equal(failure, null, failure ?? "");
    assert.equal(histories, Math.ceil(EXAMPLES.length / exampleStep) + count);
    assert.ok(comparisons > 25 * histories, `only ${comparisons} answers were compared`);
    await assertWhole(database());
    await assertNothingLeftOver(database());
  });
}
