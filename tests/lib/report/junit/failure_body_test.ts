/** Messages and stack traces, through `read_junit.ts`. */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { readBytes, readText, repeated } from "../reading.ts";

async function bodiesOf(outcomes: string): Promise<string[]> {
  const report = `<testsuite><testcase name="t">${outcomes}</testcase></testsuite>`;
  return (await readText(report)).map(({ body }) => body);
}

describe("the body of a result", () => {
  it("is the message and the text of a failure", async () => {
    assert.deepEqual(
      await bodiesOf('<failure message="expected 3">at a.ts:1\nat b.ts:2\n</failure>'),
      ["expected 3\nat a.ts:1\nat b.ts:2"],
    );
    assert.deepEqual(await bodiesOf('<error message="one&#10;two"/>'), ["one\ntwo"]);
    assert.deepEqual(await bodiesOf("<error><![CDATA[ <a>\n]]>&amp; b</error>"), [" <a>\n& b"]);
  });

  it("does not repeat a message that the text contains", async () => {
    const text = "AssertionError: expected 3\n    at a.ts:1";
    assert.deepEqual(await bodiesOf(`<failure message="expected 3">${text}</failure>`), [text]);
    const lines = "E   assert 1 == 2\nE    +  where 1 = a()";
    assert.deepEqual(
      await bodiesOf(`<failure message="assert 1 == 2&#10; +  where 1 = a()">${lines}</failure>`),
      [lines],
    );
    assert.deepEqual(
      await bodiesOf(`<failure message="assert 1 == 2&#10; +  where 1 = b()">${lines}</failure>`),
      [`assert 1 == 2\n +  where 1 = b()\n${lines}`],
    );
  });

  it("is empty without a failure, or when the report has no text of it", async () => {
    assert.deepEqual(await bodiesOf(""), [""]);
    assert.deepEqual(await bodiesOf('<skipped message="later">because</skipped>'), [""]);
    assert.deepEqual(await bodiesOf('<failure message=" "> \n </failure>'), [""]);
    const results = await readText('<testsuite><testcase name="t" status="failed"/></testsuite>');
    assert.deepEqual(results.map(({ conclusion, body }) => [conclusion, body]), [["failure", ""]]);
  });

  it("is the stack trace of each attempt, without its output", async () => {
    const attempt = (name: string, number: number) =>
      `<${name} message="broken ${number}"><stackTrace><![CDATA[Error: broken ${number}\n\tat A]]>` +
      `</stackTrace><system-out>noise</system-out></${name}>`;
    assert.deepEqual(
      await bodiesOf(attempt("flakyFailure", 1) + attempt("flakyError", 2)),
      ["Error: broken 1\n\tat A", "Error: broken 2\n\tat A", ""],
    );
    assert.deepEqual(
      await bodiesOf('<failure message="first">at B</failure>' + attempt("rerunFailure", 2)),
      ["first\nat B", "Error: broken 2\n\tat A"],
    );
  });

  it("has all failures and errors of a test, with a blank line between", async () => {
    assert.deepEqual(
      await bodiesOf(
        '<failure message="one">at A\n</failure><failure/><error>\ntwo</error><skipped>no</skipped>',
      ),
      ["one\nat A\n\ntwo"],
    );
  });

  it("has neither terminal escapes nor carriage returns", async () => {
    assert.deepEqual(
      await bodiesOf(
        "<failure message='\x1b[31mred\x1b[0m'>&#27;[1mat&#27;[0m A&#13;\r\nat B</failure>",
      ),
      ["red\nat A\nat B"],
    );
  });

  it("is bounded, whatever the report has", async () => {
    const [result] = await readBytes(
      repeated(
        "<testsuite><testcase name='t'>",
        "<failure message='broken'>line\nline</failure>",
        4_000_000,
        "</testcase></testsuite>",
      ),
    );
    assert.match(result!.body, /^broken\nline\nline\n\nbroken[^]+\n\.\.\. \d+ more characters$/);
    assert.ok(result!.body.length <= 16_384);
  });
});

describe("the messages of a result", () => {
  const messagesOf = async (outcomes: string) => {
    const report = `<testsuite><testcase name="t">${outcomes}</testcase></testsuite>`;
    const [result] = await readText(report);
    return [result!.message, ...result!.otherMessages ?? []];
  };

  it("are those of all failures, each once", async () => {
    const [one, two] = ['<failure message="one"/>', '<failure message="two"/>'];
    assert.deepEqual(await messagesOf(one), ["one"]);
    assert.deepEqual(await messagesOf(one + two + one), ["one", "two"]);
    assert.deepEqual(await messagesOf(`${one}<error>three\nmore</error>`), ["three", "one"]);
    assert.deepEqual(await messagesOf(`${one}<skipped message="two"/>`), ["one"]);
  });

  it("are bounded, and tell that there were more", async () => {
    const failures = Array.from({ length: 500 }, (_, index) => `<failure message="a${index}"/>`);
    const messages = await messagesOf(failures.join(""));
    assert.equal(messages.length, 101);
    assert.equal(messages.at(-1), "(more failures)");
  });

  it("are all lines of a Go test that may be failures, whatever it logged before", async () => {
    const go = async (output: string) => {
      const properties = '<properties><property name="go.version" value="go1.26"/></properties>';
      const [result] = await readText(
        `<testsuite name="shop">${properties}<testcase name="TestCart">` +
          `<failure message="Failed">=== RUN   TestCart\n${output}\n--- FAIL: TestCart (0.00s)` +
          "</failure></testcase></testsuite>",
      );
      return [result!.message, ...result!.otherMessages ?? []];
    };
    assert.deepEqual(
      await go("server on 80\n    cart_test.go:3: started\n    cart_test.go:5: no total"),
      ["server on 80", "cart_test.go:3: started", "cart_test.go:5: no total"],
    );
    // A blank at the end, and a name in another alphabet.
    assert.deepEqual(
      await go(
        "    cart_test.go:3: started\n    cart_test.go:5: no total \n    корзина_test.go:7: x",
      ),
      ["cart_test.go:3: started", "cart_test.go:5: no total", "корзина_test.go:7: x"],
    );
    // As testify writes it.
    const trace = "\n        \tError Trace:\t/src/cart_test.go:9";
    assert.deepEqual(
      await go(
        `    cart_test.go:9: ${trace}\n        \tError:      \tNot equal: \n\texpected: 1` +
          `\n    cart_test.go:10: ${trace}\n        \tError:      \tShould be true`,
      ),
      ["Error:      \tNot equal:", "Error:      \tShould be true"],
    );
    assert.deepEqual(
      await go(
        `    cart_test.go:9: no total\n    cart_test.go:10: ${trace}\n\tError:\tNot equal: \n`,
      ),
      ["cart_test.go:9: no total", "Error:\tNot equal:"],
    );
    assert.deepEqual(
      await go("    cart_test.go:3: started\npanic: no cart [recovered]\n\tcart_test.go:9 +0x1d"),
      ["cart_test.go:3: started", "panic: no cart [recovered]"],
    );
    const rounds = Array.from({ length: 300 }, (_, round) => `    cart_test.go:3: round ${round}`);
    assert.equal((await go(rounds.join("\n"))).length, 2);
    assert.equal((await go(`    cart_test.go:3: ${"x".repeat(20_000)}`)).at(-1), "(more failures)");
  });

  it("are not the place alone that a tool writes first", async () => {
    const cases: [string, string[]][] = [
      [
        '<testsuites name="AllTests"><testsuite name="Cart"><testcase name="t"><failure ' +
        'message="cart_test.cc:9&#10;Expected equality of these values:&#10;  total&#10;    ' +
        'Which is: 2&#10;  1"/></testcase></testsuite></testsuites>',
        ["Expected equality of these values:", "total", "1"],
      ],
      [
        '<testsuite name="cart.bats"><testcase name="t"><failure>(from function `pay\' in file ' +
        "cart.sh, line 3,\n in test file cart.bats, line 15)\n  `pay' failed</failure></testcase>" +
        "</testsuite>",
        ["`pay' failed"],
      ],
      [
        '<testsuites name="run" uuid="7"><testsuite name="shop"><testcase name="t"><failure ' +
        "message=\"thread 't' panicked at src/cart.rs:9:5\">thread 't' panicked at src/cart.rs:9:5:" +
        "\nno total</failure></testcase></testsuite></testsuites>",
        ["no total"],
      ],
      [
        '<testsuite name="nose2-junit"><testcase name="t"><failure message="test failure">' +
        'Traceback (most recent call last):\n  File "t.py", line 5, in t\n    self.assertTrue(x)' +
        "</failure></testcase></testsuite>",
        ["self.assertTrue(x)"],
      ],
    ];
    for (const [report, messages] of cases) {
      const [result] = await readText(report);
      assert.deepEqual([result!.message, ...result!.otherMessages ?? []], messages);
    }
  });

  it("are those of all failures that a test of Java collects", async () => {
    const failing = async (message: string) => {
      const text = `org.opentest4j.MultipleFailuresError: ${message}\n\tat shop.CartTest.t(Cart` +
        "Test.java:9)\n\tSuppressed: shop.Error: no total\n\t\tat shop.Cart.pay(Cart.java:3)\n" +
        "\t\t... 40 more\nCaused by: shop.Error\n\t... 41 more";
      const schema = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ' +
        'xsi:noNamespaceSchemaLocation="https://maven.apache.org/surefire.xsd"';
      const [result] = await readText(
        `<testsuite ${schema} name="shop.CartTest"><testcase name="t"><failure message="` +
          `${message.replaceAll("\n", "&#10;").replaceAll("\t", "&#9;")}">${text}</failure>` +
          "</testcase></testsuite>",
      );
      return [result!.message, ...result!.otherMessages ?? []];
    };
    assert.deepEqual(
      await failing(
        "Multiple Failures (2 failures)\n\tshop.Error: no total\n\tshop.Error: no cart",
      ),
      ["Multiple Failures (2 failures)", "shop.Error: no total", "shop.Error: no cart"],
    );
    assert.deepEqual(
      await failing(
        "Multiple Failures (2 failures)\n-- failure 1 --\nno total\nat t\n-- failure 2 --\nno cart",
      ),
      ["Multiple Failures (2 failures)", "no total", "no cart"],
    );
    assert.deepEqual(
      await failing("The following asserts failed:\n\tno total,\n\tno cart"),
      ["The following asserts failed:", "no total,", "no cart"],
    );
    assert.deepEqual(await failing("no total\n\tin the cart"), ["no total"]);
  });

  it("are what `expect` of Jest and Playwright writes below the name of the function", async () => {
    const text = (label: string) =>
      `Error: expect(received).toBe(expected) // Object.is equality\n\n${label}: "paid"\n` +
      'Received: "open"\n    at cart.test.js:5:1\n';
    const suites = [
      'name="cart" errors="0" failures="1" skipped="0" timestamp="" time="0" tests="1"',
      'name="cart" timestamp="" hostname="" tests="1" failures="1" skipped="0" time="0" errors="0"',
    ];
    for (const suite of suites) {
      for (const label of ["Expected", "Expected string", "Locator"]) {
        const [result] = await readText(
          `<testsuites><testsuite ${suite}><testcase name="t" classname="cart">` +
            `<failure>${text(label)}</failure></testcase></testsuite></testsuites>`,
        );
        assert.deepEqual(result!.otherMessages, [`${label}: "paid"`, 'Received: "open"'], suite);
      }
    }
  });

  it("are those behind the headings of Robot", async () => {
    const failing = async (message: string) => {
      const totals =
        'tests="1" errors="0" failures="1" skipped="0" time="0" timestamp="2026-03-14"';
      const [result] = await readText(
        `<testsuite name="Cart" ${totals}><testcase classname="Cart" name="t" time="0">` +
          `<failure message="${message}"/></testcase></testsuite>`,
      );
      return [result!.message, ...result!.otherMessages ?? []];
    };
    assert.deepEqual(
      await failing("no total&#10;&#10;Also teardown failed:&#10;still open"),
      ["no total", "still open"],
    );
    assert.deepEqual(
      await failing("Several failures occurred:&#10;&#10;1) no total&#10;&#10;2) no cart"),
      ["Several failures occurred:", "1) no total", "2) no cart"],
    );
  });
});
