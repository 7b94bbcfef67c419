import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { identityIn, IdentityStore } from "../../../lib/analysis/identity_store.ts";
import type { TestIdentity } from "../../../lib/base/identity.ts";

function stored(tests: TestIdentity[]): TestIdentity[] {
  const store = new IdentityStore();
  for (const test of tests) store.push(test);
  const identities = structuredClone(store.finish());
  return tests.map((_, index) => identityIn(identities, index));
}

describe("stored identities", () => {
  it("come back as they were, over several chunks", () => {
    const tests = Array.from({ length: 20_000 }, (_, number) => ({
      suite: number % 3_000 === 0 ? "" : "suite",
      class: `class ${Math.floor(number / 7)}`,
      name: number % 11 === 0 ? "ü€😀".repeat(number % 50) : `name ${number}`,
      file: number % 5 === 0 ? "f.ts" : "",
    }));
    assert.deepEqual(stored(tests), tests);
  });

  it("may have one text in several fields, or a text longer than a chunk", () => {
    const long = "ü".repeat(2_000_000);
    const tests = [
      { suite: "a", class: "a", name: "a", file: "a" },
      { suite: "", class: "a", name: "b", file: "a" },
      { suite: "", class: "", name: long, file: "" },
      { suite: "a", class: "", name: long, file: "b" },
    ];
    assert.deepEqual(stored(tests), tests);
  });

  it("keep a byte order mark that begins a name", () => {
    const tests = [{ suite: "\uFEFFs", class: "\uFEFF", name: "\uFEFFn", file: "f\uFEFF" }];
    assert.deepEqual(stored(tests), tests);
  });

  it("take a text that all tests have once", () => {
    const store = new IdentityStore();
    const common = "shop/checkout/".repeat(500);
    const before = Deno.memoryUsage().external;
    for (let number = 0; number < 10_000; number++) {
      store.push({ suite: common, class: common, name: `${number}`, file: common });
    }
    // 21,000 characters each.
    assert.ok(Deno.memoryUsage().external - before < 10_000 * 100 + 1_048_576);
    assert.equal(identityIn(store.finish(), 5_000).file, common);
  });
});
