import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { fullTestName } from "../../../lib/base/text.ts";

describe("the full name of a test", () => {
  const cases: [Parameters<typeof fullTestName>[0], string][] = [
    [
      { suite: "shop", class: "CartTest", name: "adds", file: "cart_test.ts" },
      "shop > CartTest > adds (cart_test.ts)",
    ],
    [{ suite: "", class: "", name: "adds", file: "" }, "adds"],
    // The suite once more as the class.
    [{ suite: "CartTest", class: "CartTest", name: "adds", file: "" }, "CartTest > adds"],
    // The file once more as the class or suite: vitest, jest-junit, mocha.
    [
      {
        suite: "src/cart.test.ts",
        class: "src/cart.test.ts",
        name: "adds",
        file: "src/cart.test.ts",
      },
      "adds (src/cart.test.ts)",
    ],
    [
      { suite: "cart.test.ts", class: "Cart", name: "adds", file: "src/cart.test.ts" },
      "Cart > adds (src/cart.test.ts)",
    ],
    [{ suite: "", class: "a.ts", name: "adds", file: "data.ts" }, "a.ts > adds (data.ts)"],
    // A file that failed as a whole.
    [{ suite: "a.test.ts", class: "", name: "a.test.ts", file: "a.test.ts" }, "a.test.ts"],
    [{ suite: "", class: "adds", name: "adds", file: "" }, "adds"],
  ];
  for (const [test, expected] of cases) {
    it(`is ${expected}`, () => assert.equal(fullTestName(test), expected));
  }
});
