import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { failureCause } from "../../../lib/analysis/failure_groups.ts";
import { isNoCause, isTitle } from "../../../lib/report/says_nothing.ts";

describe("a line of a failure", () => {
  it("is not a cause if it only says that the test failed", () => {
    for (
      const line of [
        "Failed",
        "test failed.",
        "1 assertion(s) failed.",
        "2 assertions failed",
        "=== RUN   TestApi",
        "--- FAIL: TestApi (0.01s)",
        "FAIL\tshop/cart [build failed]",
        "java.lang.AssertionError",
        "RSpec::Expectations::MultipleExpectationsNotMetError",
        "java.lang.IllegalStateException:",
        "./spec/cart_spec.rb:13:in `block (2 levels) in <top (required)>'",
        "The test failed.",
        "Test case failed",
        "Assertion failed.",
        "Expectation failed",
        "1 test failed",
        "null",
        "{}",
        "tests/cart_test.py:12",
        "tests/cart_test.py:12: AssertionError",
        "cart_test.go:12:",
        "at src/cart.test.js:3:9",
        "AssertionError at tests/cart_test.py:12",
        "test failed at tests/cart_test.py:12",
        "Failed at line 12",
      ]
    ) assert.ok(isNoCause(line), line);
    for (
      const line of [
        "Error: first attempt",
        "connection refused",
        "fe80::1",
        "timed out",
        "exit status 1",
        "cart_test.go:12: total is 41",
        "java.net.UnknownHostException: db.example.com:5432",
      ]
    ) {
      assert.ok(!isNoCause(line), line);
    }
  });

  it("is the title of the test, also with its place and a rule", () => {
    const name = "cart › pays by card @slow";
    for (
      const line of [
        name,
        `failed ${name}`,
        "cart.spec.js:8:3 pays by card @slow",
        "cart.spec.js:8:3 › cart › pays by card @slow ──────────",
        `${name} ──────────`,
      ]
    ) {
      assert.ok(isTitle(line, "cart.spec.js", name), line);
      assert.ok(isTitle(line, "cart.spec.js", `[chromium] ${name}`), line);
    }
    for (
      const line of [
        `[chromium] › cart.spec.js:8:3 › ${name}`,
        `[chromium] › cart.spec.js:8:3 › ${name} ──────────`,
        `  1) [chromium] › tests/cart.spec.ts:8:3 › ${name} › fill in the form ──────────`.trim(),
        `cart.spec.js:8:3 › ${name} › fill in the form`,
      ]
    ) assert.ok(isNoCause(line), line);
    for (
      const line of [
        "Cart adds VAT",
        "Cart > adds VAT",
        "Cart.adds VAT:12",
        "Test failed: adds VAT",
        "adds VAT failed",
        "FAIL adds VAT",
        "not ok 1 - adds VAT",
        "--- FAIL: adds VAT (0.00s)",
      ]
    ) assert.ok(isTitle(line, "Cart", "adds VAT") || isNoCause(line), line);
    for (const line of ["adds VAT twice", "total: adds VAT", "Cart: no item, adds VAT"]) {
      assert.ok(!isTitle(line, "Cart", "adds VAT"), line);
    }
    for (const line of ["pays by card", "cart.spec.js:8:3 the total is 41"]) {
      assert.ok(!isTitle(line, "cart.spec.js", name), line);
    }
  });
});

describe("the cause of a bare exception", () => {
  const stack = "java.lang.AssertionError\n\tat org.junit.Assert.fail(Assert.java:86)\n" +
    "\tat com.acme.CartTest.pays(CartTest.java:12)";

  it("has the first frame that is neither the language's nor a tool's", () => {
    const cause = failureCause("java.lang.AssertionError", stack);
    assert.equal(cause, "java.lang.AssertionError at com.acme.CartTest.pays");
  });

  it("is unknown without one", () => {
    assert.equal(failureCause("RSpec::Expectations::MultipleExpectationsNotMetError", ""), "");
    assert.equal(failureCause("", "Failed"), "");
  });
});

describe("the cause of a failure whose only text is the title of its test", () => {
  it("is unknown", () => {
    const test = { class: "Cart", name: "adds VAT" };
    assert.equal(failureCause("adds VAT failed", "", test), "");
    assert.equal(failureCause("", "Cart > adds VAT", test), "");
    assert.equal(failureCause("the total is wrong", "", test), "the total is wrong");
  });
});
