import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { sayMessage } from "../../../lib/analysis/cause_details.ts";
import { failureCause } from "../../../lib/analysis/failure_groups.ts";

/** The body of a failure in Java. */
const java = (message: string, more = "") =>
  `java.lang.AssertionError: ${message}\n\tat com.acme.CartTest.adds(CartTest.java:10)\n${more}`;

const testify = (error: string) =>
  `=== RUN   TestAdds\n    cart_test.go:10: \n\tError Trace:\t/w/cart_test.go:10\n` +
  `\tError:      \t${error}\n\tTest:       \tTestAdds\n--- FAIL: TestAdds (0.00s)`;

/** Two faults under one message. */
const FAULTS: Record<string, [message: string, first: string, second: string]> = {
  "a heading in Go": [
    "Error:      \tReceived unexpected error:",
    testify("Received unexpected error:\n\t            \tdial tcp: connection refused"),
    testify("Received unexpected error:\n\t            \tcharged twice"),
  ],
  "a comparison in Go": [
    "Error:      \tNot equal:",
    testify('Not equal: \n\t            \texpected: "paid"\n\t            \tactual  : "pending"'),
    testify('Not equal: \n\t            \texpected: "one"\n\t            \tactual  : "two"'),
  ],
  "a condition": [
    "Condition not satisfied:",
    java("Condition not satisfied:\n\nresponse.ok\n|        |\nnull     false\n"),
    java("Condition not satisfied:\n\ncharges.unique\n|       |\n[a, a]  false\n"),
  ],
  "a call that was expected": [
    "Wanted but not invoked:",
    java("Wanted but not invoked:\nqueue.ack();\n-> at com.acme.CartTest.adds(CartTest.java:10)"),
    java("Wanted but not invoked:\npay.refund();\n-> at com.acme.CartTest.adds(CartTest.java:20)"),
  ],
  "the exception behind an exception": [
    "Failed to load ApplicationContext for [Config@1234]",
    java("Failed to load ApplicationContext for [Config@1234]", "Caused by: Connect: refused"),
    java("Failed to load ApplicationContext for [Config@1234]", "Caused by: NoBean: no Payment"),
  ],
  "an assertion of Node.js": [
    "Expected values to be strictly equal:",
    "[Error [ERR_TEST_FAILURE]: Expected values to be strictly equal:\n\n'pending' !== 'paid'\n] {",
    "[Error [ERR_TEST_FAILURE]: Expected values to be strictly equal:\n\n'two' !== 'one'\n] {",
  ],
  "a difference": [
    "Error: expect(received).toEqual(expected) // deep equality",
    'Error: expect(received).toEqual(expected) // deep equality\n\n- Expected  - 1\n+ Received  + 1\n\n  {\n-   "state": "paid",\n+   "state": "pending",',
    'Error: expect(received).toEqual(expected) // deep equality\n\n- Expected  - 1\n+ Received  + 1\n\n  {\n-   "charges": "one",\n+   "charges": "two",',
  ],
  "the values of an assertion": [
    "Error: expect(received).toBe(expected) // Object.is equality",
    'Error: expect(received).toBe(expected) // Object.is equality\n\nExpected string: "paid"\nReceived: "open"\n    at cart.test.js:5:1',
    'Error: expect(received).toBe(expected) // Object.is equality\n\nExpected string: "one"\nReceived: "two"\n    at cart.test.js:9:1',
  ],
  "the element of an assertion": [
    "Error: expect(locator).toBeVisible() failed",
    "Error: expect(locator).toBeVisible() failed\n\nLocator: getByRole('button')\nTimeout: 5000ms",
    "Error: expect(locator).toBeVisible() failed\n\nLocator: getByText('paid')\nTimeout: 5000ms",
  ],
  "texts that differ": [
    "Assert.Equal() Failure: Strings differ",
    'Assert.Equal() Failure: Strings differ\n           ↓ (pos 1)\nExpected: "paid"\nActual:   "pending"',
    'Assert.Equal() Failure: Strings differ\n           ↓ (pos 0)\nExpected: "one"\nActual:   "two"',
  ],
  "an assertion of Elixir": [
    "error: Assertion with == failed",
    '  1) test adds (CartTest)\n     Assertion with == failed\n     code:  assert status == :ok\n     left:  "down"\n     stacktrace:\n       test/cart_test.exs:10: (test)',
    '  1) test adds (CartTest)\n     Assertion with == failed\n     code:  assert charges == :one\n     left:  "two"\n     stacktrace:\n       test/cart_test.exs:20: (test)',
  ],
  "a group of exceptions": [
    "ExceptionGroup: errors (1 sub-exception)",
    "  | ExceptionGroup: errors (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | ConnectionError: refused",
    "  | ExceptionGroup: errors (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | ValueError: charged twice",
  ],
  "a reference to the rest": [
    "1 failure, see stacktrace for details",
    "Failure:\nExpected: 'paid'\n  Actual: 'pending'\n\npackage:test_api expect",
    "Failure:\nExpected: 'one'\n  Actual: 'two'\n\npackage:test_api expect",
  ],
  "a time-out of an action": [
    "TimeoutError: locator.click: Timeout 10000ms exceeded.",
    "TimeoutError: locator.click: Timeout 10000ms exceeded.\nCall log:\n  - waiting for locator('#pay')\n\n   8 | await pay();\n",
    "TimeoutError: locator.click: Timeout 10000ms exceeded.\nCall log:\n  - waiting for locator('#refund')\n\n   8 | await pay();\n",
  ],
  "a further error": [
    "Error: first",
    "Error: first\n    at cart.spec.ts:5:3\n\n    Error: reset\n    at cart.spec.ts:6:3",
    "Error: first\n    at cart.spec.ts:5:3\n\n    Error: charged twice\n    at cart.spec.ts:6:3",
  ],
  "an assertion that is tried again": [
    "Assertion condition defined as a Lambda expression in com.acme.CartTest",
    java(
      "Assertion condition defined as a Lambda expression in com.acme.CartTest\nWanted but not invoked:\nqueue.ack();",
    ),
    java(
      "Assertion condition defined as a Lambda expression in com.acme.CartTest\nWanted but not invoked:\npay.refund();",
    ),
  ],
  "a bare word": [
    "Expected",
    "cart_test.go:10: \n    Expected\n        <string>: pending\n    to equal\n        <string>: paid",
    "cart_test.go:10: \n    Expected\n        <string>: charged twice\n    to equal\n        <string>: paid",
  ],
  "a panic": [
    "thread 'adds' panicked at src/cart.rs:10:5",
    "thread 'adds' panicked at src/cart.rs:10:5:\ncharged twice\nnote: run with a backtrace",
    "thread 'adds' panicked at src/cart.rs:10:5:\nconnection refused\nnote: run with a backtrace",
  ],
  "what was false in Python": [
    "assert False",
    ">       assert ok(r)\nE       assert False\nE        +  where False = ok(r)",
    ">       assert once(r)\nE       assert False\nE        +  where False = once(r)",
  ],
  "a comparison of numbers": [
    "expected: <1> but was: <2>",
    java("expected: <1> but was: <2>"),
    java("expected: <1> but was: <2>").replace("CartTest.adds", "Payments.pays"),
  ],
  "code of a test in Ruby": [
    "expected true got false",
    "Failure/Error: expect(order.paid?).to be(true)\n\n  expected true got false",
    "Failure/Error: expect(order.sent?).to be(true)\n\n  expected true got false",
  ],
  "code of a test in Python": [
    ">       helper.check(r)",
    "def test_adds():\n>       helper.check(r)\n\n    def check(r):\n>       assert r.ok\nE       AssertionError",
    "def test_adds():\n>       helper.check(r)\n\n    def check(r):\n>       assert r.once\nE       AssertionError",
  ],
};

describe("the cause of a failure whose message announces the rest", () => {
  for (const [title, [message, first, second]] of Object.entries(FAULTS)) {
    it(`is not the message alone: ${title}`, () => {
      assert.notEqual(failureCause(message, first), failureCause(message, second));
    });
  }

  it("is the same wherever and whenever it fails", () => {
    const body = (line: number, pod: string) =>
      java(`Wanted but not invoked:\nqueue.ack(${line}, "${pod}");`) +
      `\tat com.acme.Other.run(Other.java:${line})\nCaused by: Timeout: after ${line} ms\n`;
    assert.equal(
      failureCause("Wanted but not invoked:", body(10, "web-7d4b9c6f5d-x8k2p")),
      failureCause("Wanted but not invoked:", body(77, "web-5b6c9f7d4d-2pqxz")),
    );
  });

  it("has nothing of the log of a time-out that differs from run to run", () => {
    const timeOut = "TimeoutError: locator.click: Timeout 10000ms exceeded.";
    const log = (more: string) =>
      `${timeOut}\nCall log:\n  - waiting for locator('#pay')\n${more}\n   9 | });\n`;
    assert.equal(
      failureCause(timeOut, log("    - locator resolved to <button disabled id=pay>\n")),
      failureCause(timeOut, log("")),
    );
  });

  it("has a bound, whatever a report has", () => {
    const message = "Not equal:";
    const lines = Array.from({ length: 20 }, (_, no) => `expected ${no}: ${"x-".repeat(1_000)}`);
    assert.ok(failureCause(message, [message, ...lines].join("\n")).length < 2_100);
  });

  it("is shown with the first line that it announces", () => {
    const message = "Wanted but not invoked:";
    assert.equal(
      sayMessage({ message, body: java(`${message}\nqueue.ack();`) }),
      "Wanted but not invoked: queue.ack();",
    );
    const lost = { message: "connection refused", body: java("connection refused") };
    assert.equal(sayMessage(lost), "connection refused");
  });

  it("is the message where that says what happened", () => {
    for (const more of ["\tat com.acme.A.b(A.java:1)\n", "\tat com.acme.C.d(C.java:2)\n"]) {
      assert.equal(
        failureCause("connection refused", java("connection refused", more)),
        "connection refused",
      );
    }
    const timeOut = "Timed out waiting for condition. Thread diagnostics:";
    assert.equal(failureCause(timeOut, java(`${timeOut}\n"IPC handler 7" daemon prio=5`)), timeOut);
    assert.equal(
      failureCause("connection refused", "some output\n- a list\n- of steps"),
      "connection refused",
    );
  });
});
