import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { identityIn, IdentityPages } from "../../../lib/analysis/identity_pages.ts";
import type { TestIdentity } from "../../../lib/base/identity.ts";

// More than two pages.
const COUNT = 10_000;

function identity(number: number): TestIdentity {
  return {
    suite: number % 3_000 === 0 ? "" : "suite",
    class: `class ${Math.floor(number / 7)}`,
    name: number % 11 === 0 ? "ü€😀".repeat(number % 50) : `name ${number}`,
    file: number % 5 === 0 ? "f.ts" : "",
  };
}

describe("identities on pages", () => {
  it("come back as they were, in any order", () => {
    const pages = new IdentityPages();
    for (let number = 0; number < COUNT; number++) pages.push(identity(number));
    const finished = pages.finish();
    for (let number = COUNT - 1; number >= 0; number--) {
      assert.deepEqual(identityIn(finished, number), identity(number));
    }
  });

  it("are told apart when one text is in another field, or longer than any before", () => {
    const pages = new IdentityPages();
    const long = "ü".repeat(200_000);
    const tests = [
      { suite: "a", class: "a", name: "a", file: "a" },
      { suite: "", class: "a", name: "b", file: "a" },
      { suite: "", class: "", name: long, file: "" },
      { suite: "a", class: "", name: long, file: "b" },
    ];
    tests.forEach((test) => pages.push(test));
    const finished = pages.finish();
    assert.deepEqual(tests.map((_, index) => identityIn(finished, index)), tests);
  });

  it("begin with a byte order mark where the report has one", () => {
    const pages = new IdentityPages();
    const test = { suite: "\uFEFFs", class: "\uFEFF", name: "\uFEFFn", file: "f\uFEFF" };
    pages.push(test);
    assert.deepEqual(identityIn(pages.finish(), 0), test);
  });

  it("write what all tests have in common once", () => {
    const pages = new IdentityPages();
    const common = "shop/checkout/".repeat(500);
    const before = Deno.memoryUsage().external;
    for (let number = 0; number < COUNT; number++) {
      pages.push({ suite: common, class: common, name: `${number}`, file: common });
    }
    // 21,000 characters each.
    assert.ok(Deno.memoryUsage().external - before < COUNT * 100);
    assert.equal(identityIn(pages.finish(), COUNT / 2).file, common);
  });
});
