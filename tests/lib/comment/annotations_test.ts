import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { type AnnotatedTest, annotationLines } from "../../../lib/comment/annotations.ts";

function failure(changes: Partial<AnnotatedTest> = {}): AnnotatedTest {
  return {
    suite: "shop",
    class: "",
    name: "pays",
    file: "src/cart_test.ts",
    verdict: "new",
    message: "expected 1, found 2",
    body: "",
    ...changes,
  };
}

describe("annotations of GitHub Actions", () => {
  it("name file, line and verdict", () => {
    const [line] = annotationLines([failure({ body: "at pays (src/cart_test.ts:12:5)" })]);
    assert.equal(
      line,
      "::error file=src/cart_test.ts,line=12,title=new%3A shop > pays::expected 1, found 2",
    );
  });

  it("take the line from stack traces that name the file", () => {
    const cases: [file: string, body: string, line: string | undefined][] = [
      ["src/cart.ts", "at x (/home/ci/shop/src/cart.ts:12:5)\nat y (src/cart.ts:99:1)", "12"],
      ["src/cart.ts", "at x (node_modules/lib.js:1:1)\nat y (src\\cart.ts:7:1)", "7"],
      ["tests/test_cart.py", 'File "/ci/tests/test_cart.py", line 31, in test', "31"],
      ["tests/test_cart.py", "tests/test_cart.py:8: AssertionError", "8"],
      ["CartTest.java", "at shop.CartTest.pays(CartTest.java:42)", "42"],
      ["CartTest.cs", "in /src/CartTest.cs:line 17", "17"],
      ["cart_test.go", "    cart_test.go:23: expected 1", "23"],
      ["cart.ts", "at x (src/my_cart.ts:12:5)", undefined],
      ["cart.ts", "cart.ts failed after 12 ms", undefined],
      ["", "at x (a.ts:12)", undefined],
    ];
    for (const [file, body, line] of cases) {
      const [annotation = ""] = annotationLines([failure({ file, body })]);
      assert.equal(/line=(\d+)/.exec(annotation)?.[1], line, body);
    }
  });

  it("have no file outside of the checkout", () => {
    for (const file of ["", "/etc/passwd", "C:\\x.ts", "../x.ts"]) {
      assert.match(annotationLines([failure({ file })])[0]!, /^::error title=/);
    }
  });

  it("are one line each, in which names and messages end nothing", () => {
    const hostile = "a,line=1::b%0A\r\n::error::c";
    const [line] = annotationLines([
      failure({ suite: "", name: hostile, message: hostile, file: "x,y:z.ts" }),
    ]);
    assert.equal(
      line,
      "::error file=x%2Cy%3Az.ts,title=new%3A a%2Cline=1%3A%3Ab%250A%0D%0A%3A%3Aerror%3A%3Ac::" +
        "a,line=1::b%250A%0D%0A::error::c",
    );
  });

  it("are at most ten, new failures first, without quarantined ones", () => {
    const verdicts = ["quarantined", "flaky", "known", "new"];
    const failed = verdicts.flatMap((verdict) => Array(4).fill(failure({ verdict })));
    const shown = annotationLines(failed).map((line) => /title=(\w+)/.exec(line)?.[1]);
    assert.deepEqual(shown, [
      ...Array(4).fill("new"),
      ...Array(4).fill("known"),
      ...Array(2).fill("flaky"),
    ]);
  });
});
