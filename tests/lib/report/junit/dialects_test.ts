import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { readReport } from "../../../../lib/report/read_report.ts";
import type { TestResult } from "../../../../lib/report/result.ts";
import { inChunks } from "../reading.ts";

interface Read {
  tool: string;
  results: TestResult[];
  notes: string[];
}

async function read(text: string): Promise<Read> {
  const results: TestResult[] = [];
  const notes: string[] = [];
  const { tool } = await readReport(inChunks(new TextEncoder().encode(text), 1_000), {
    file: "r.xml",
    onResult: (result) => results.push(result),
    onNote: (note) => notes.push(note),
  });
  return { tool: tool.tool, results, notes };
}

/** Suite, class, name and file of the only test. */
async function identity(text: string): Promise<string[]> {
  const { results } = await read(text);
  assert.equal(results.length, 1);
  const { suite, class: className, name, file } = results[0]!;
  return [suite, className, name, file];
}

async function only(text: string): Promise<TestResult> {
  const { results } = await read(text);
  assert.equal(results.length, 1);
  return results[0]!;
}

const JASMINE = 'timestamp="" hostname="" time="0" errors="0" tests="1" skipped="0" disabled="0" ' +
  'failures="0"';
const XMLRUNNER = 'tests="1" file="" time="0" timestamp="0001-01-01T00:00:00" failures="0" ' +
  'errors="1" skipped="0"';
const PLAYWRIGHT = 'id="" name="" tests="1" failures="0" skipped="0" errors="0" time="1"';

describe("names that tools vary", () => {
  it("jest: the suite, which is that of the file's first test, if there is a file", async () => {
    const report = (attributes: string) =>
      `<testsuites name="jest tests"><testsuite name="cart"><testcase classname="cart adds" ` +
      `name="cart adds" ${attributes}/></testsuite></testsuites>`;
    assert.deepEqual(await identity(report('file="a.js"')), ["", "cart adds", "cart adds", "a.js"]);
    assert.deepEqual(await identity(report("")), ["cart", "cart adds", "cart adds", ""]);
  });

  it("vitest: the place of a second suite of one name is not part of it", async () => {
    const { results } = await read(
      `<testsuites name="vitest tests"><testsuite name="a"/><testsuite name="a">` +
        `<testcase name="t" time="1"/></testsuite><testsuite name="b"><testcase name="t" ` +
        `time="1"/></testsuite></testsuites>`,
    );
    assert.deepEqual(results.map(({ suite }) => suite), ["a", "b"]);
  });

  it("testcafe: versions, signs of a retry and screenshots are removed", async () => {
    const report = (browser: string, name: string) =>
      `<testsuite name="TestCafe Tests: ${browser}"><testcase classname="Checkout" name="${name}" ` +
      'file="a.ts"/></testsuite>';
    const expected = ["TestCafe Tests: Chrome / Linux", "Checkout", "pays by card", "a.ts"];
    for (
      const [browser, name] of [
        ["Chrome 142.0.0.0 / Linux 0.0", "pays by card (screenshots: /srv/shop/1/test-1)"],
        ["Chrome 143.0.0.0 / Linux 0.0", "pays by card (unstable)"],
        ["Chrome 143.0.0.0 / Linux 0.0", "pays by card (unstable) (screenshots: /srv/a)"],
      ] as const
    ) assert.deepEqual(await identity(report(browser, name)), expected);
  });

  it("tap-xunit: the number is removed also where a test was skipped", async () => {
    const report = (skipped: string) =>
      `<testsuites><testsuite tests="1" ${skipped}failures="0" errors="0" name="Default">` +
      '<testcase name="#3 cart › flips"/></testsuite></testsuites>';
    for (const skipped of ["", 'skipped="1" ']) {
      assert.deepEqual(await identity(report(skipped)), ["Default", "", "cart › flips", ""]);
    }
  });

  it("rspec: the number of a process of parallel_tests is removed", async () => {
    const report = '<testsuite name="rspec3"><properties><property name="seed" value="1"/>' +
      '</properties><testcase classname="spec.a" name="a" file="./spec/a_spec.rb"/></testsuite>';
    assert.deepEqual(await identity(report), ["rspec", "spec.a", "a", "spec/a_spec.rb"]);
  });

  it("paths have slashes on Windows, too", async () => {
    const report = '<testsuites><testsuite name="src\\a.test.ts"><testcase name="adds" ' +
      'classname="App\\Cart" file=".\\src\\a.test.ts"/></testsuite></testsuites>';
    assert.deepEqual(await identity(report), [
      "src/a.test.ts",
      "App\\Cart",
      "adds",
      "src/a.test.ts",
    ]);
  });

  it("node: outer suites are joined", async () => {
    assert.deepEqual(
      await identity(
        `<testsuites><testsuite name="cart"><testsuite name="total"><testcase name="t" ` +
          `classname="test"/></testsuite></testsuite></testsuites>`,
      ),
      ["cart > total", "test", "t", ""],
    );
  });

  it("node: the suites again as the class, in newer versions", async () => {
    const keys = 'time="1" disabled="0" errors="0" tests="1" failures="0" skipped="0" ' +
      'timestamp="" hostname="a"';
    const report = (className: string) =>
      `<testsuites><testsuite name="cart" ${keys}><testsuite name="total" ${keys}><testcase name="t" ` +
      `classname="${className}"/></testsuite></testsuite></testsuites>`;
    assert.deepEqual(await identity(report("cart.total")), ["cart > total", "test", "t", ""]);
    assert.deepEqual(await identity(report("shop")), ["cart > total", "shop", "t", ""]);
    assert.equal((await read(report("cart.total"))).tool, "node_test");
  });

  it("Playwright: the project precedes the name, once", async () => {
    const report = (name: string, hostname: string) =>
      `<testsuites ${PLAYWRIGHT}><testsuite name="a.js" hostname="${hostname}">` +
      `<testcase name="${name}" classname="a.js"/></testsuite></testsuites>`;
    assert.equal((await identity(report("adds", "one")))[2], "[one] adds");
    assert.equal((await identity(report("[one] adds", "one")))[2], "[one] adds");
    assert.equal((await identity(report("adds", "")))[2], "adds");
  });

  it("jasmine: the suite of specs outside of a suite", async () => {
    const report = (suite: string) =>
      `<testsuites><testsuite name="${suite}" ${JASMINE}><testcase classname="${suite}" ` +
      `name="t"/></testsuite></testsuites>`;
    assert.deepEqual(await identity(report("focused specs.cart")), ["cart", "cart", "t", ""]);
    assert.deepEqual(await identity(report("focused specs")), ["", "", "t", ""]);
    assert.deepEqual(
      await identity(report("unfocused specs.cart")),
      ["unfocused specs.cart", "unfocused specs.cart", "t", ""],
    );
  });

  it("karma: the versions of browser and system", async () => {
    const report = (suite: string, className: string) =>
      `<testsuite name="${suite}"><properties><property name="browser.fullName" value=""/>` +
      `</properties><testcase name="t" classname="${className}"/></testsuite>`;
    for (
      const [suite, className, expectedSuite, expectedClass] of [
        [
          ...[
            "Chrome Headless 156.0.0.0 (Linux 0.0.0)",
            "Chrome_Headless_156_0_0_0_(Linux_0_0_0).a",
          ],
          ...["Chrome Headless (Linux)", "Chrome_Headless_(Linux).a"],
        ],
        [
          ...["Firefox 121.0 (Mac OS 10.15)", "Firefox_121_0_(Mac_OS_10_15).cart 1 (2)"],
          ...["Firefox (Mac OS)", "Firefox_(Mac_OS).cart 1 (2)"],
        ],
        ["cart 2 (b)", "cart", "cart (b)", "cart"],
      ]
    ) {
      assert.deepEqual(
        (await identity(report(suite!, className!))).slice(0, 2),
        [expectedSuite, expectedClass],
      );
    }
  });

  it("tap: the file, which only failures have", async () => {
    assert.deepEqual(
      await identity(
        '<testsuites name="TAP Tests"><testsuite name="s"><testcase name="t" classname="c" ' +
          'file="a.js"/></testsuite></testsuites>',
      ),
      ["s", "c", "t", ""],
    );
  });

  it("unittest: the time of errors in set-up", async () => {
    const [suite] = await identity(
      `<testsuite name="unittest.suite._ErrorHolder-20261123182454" ${XMLRUNNER}>` +
        '<testcase classname="" name="setUpClass (CartTest)"/></testsuite>',
    );
    assert.equal(suite, "unittest.suite._ErrorHolder");
  });

  it("bats: the number after a retry", async () => {
    const [, , name] = await identity(
      '<testsuites><testsuite name="cart.bats"><testcase classname="cart.bats" ' +
        'name="begin 3 adds"/></testsuite></testsuites>',
    );
    assert.equal(name, "adds");
  });

  it("prove: the number of a test, in whatever order the attributes are", async () => {
    const orders = [
      'failures="0" name="cart_t" errors="0" tests="1"',
      'tests="1" time="1" name="cart_t" errors="0" failures="0"',
    ];
    for (const attributes of orders) {
      const { results } = await read(
        `<testsuites><testsuite ${attributes}><testcase name="(init)" time="1"/><testcase ` +
          'time="1" name="12 - adds"/></testsuite></testsuites>',
      );
      assert.deepEqual(results.map(({ name }) => name), ["(init)", "adds"], attributes);
    }
    const [, , name] = await identity(
      '<testsuites><testsuite name="cart_t" tests="1" failures="0" errors="0">' +
        '<testcase name="12 - adds" classname="cart"/></testsuite></testsuites>',
    );
    assert.equal(name, "12 - adds");
  });

  it("doctest: the folder in which the program was called", async () => {
    const [suite] = await identity(
      '<testsuites><testsuite name="../build/cart_tests" doctest_version="2.4.9">' +
        '<testcase classname="cart.cc" name="adds"/></testsuite></testsuites>',
    );
    assert.equal(suite, "cart_tests");
  });

  it("busted: the line of a test and the round, in whatever order the attributes are", async () => {
    const attributes = ['tests="1"', 'skip="0"', 'failures="0"', 'errors="0"', 'time="1"'];
    for (const each of [attributes, attributes.toReversed()]) {
      assert.deepEqual(
        await identity(
          `<testsuites><testsuite ${each.join(" ")} name="Run 2 of 3" timestamp=""><testcase ` +
            'classname="spec/cart_spec.lua:4" name="cart adds"/></testsuite></testsuites>',
        ),
        ["Run", "spec/cart_spec.lua", "cart adds", ""],
      );
    }
  });

  it("testem: the version of the browser", async () => {
    const [, className] = await identity(
      '<testsuite name="Testem Tests"><testcase classname="Chrome 156.0" name="t"/></testsuite>',
    );
    assert.equal(className, "Chrome");
  });

  it("tap-xunit: the number of an assertion", async () => {
    const [, , name] = await identity(
      '<testsuites><testsuite tests="1" failures="0" errors="0" name="cart"><testcase name="#12 adds"/>' +
        "</testsuite></testsuites>",
    );
    assert.equal(name, "adds");
  });

  it("ExUnit: the line of a test", async () => {
    const [, , , file] = await identity(
      '<testsuites><testsuite name="Elixir.CartTest"><testcase classname="Elixir.CartTest" ' +
        'name="test adds" file="test/cart_test.exs:12"/></testsuite></testsuites>',
    );
    assert.equal(file, "test/cart_test.exs");
  });

  it("of another tool stay as they are", async () => {
    const report = '<testsuites><testsuite name="focused specs.cart"><testcase ' +
      'classname="Chrome_1_2_(Linux_1)" name="begin 3 adds" file="a.js:12"/></testsuite>' +
      "</testsuites>";
    assert.deepEqual(
      await identity(report),
      ["focused specs.cart", "Chrome_1_2_(Linux_1)", "begin 3 adds", "a.js:12"],
    );
    assert.equal((await read(report)).tool, "");
  });
});

describe("the formatter of cucumber-js before version 12", () => {
  it("is recognized, and its message says nothing", async () => {
    const report = '<testsuite failures="1" skipped="0" name="cucumber-js" time="0" tests="1">' +
      '<testcase name="adds" time="0" classname="cart;adds"><failure type="FAILED" ' +
      'message="A hook or step failed"><![CDATA[AssertionError: 1 == 2]]></failure></testcase>' +
      "</testsuite>";
    const { tool, results } = await read(report);
    assert.deepEqual([tool, results[0]!.message], ["cucumber", "AssertionError: 1 == 2"]);
  });
});

describe("a row that adds evidence", () => {
  const kindsIn = async (report: string) => (await read(report)).tool;
  it("recognizes pytest under another name, openshift-tests and Common Test", async () => {
    const cases: [string, string][] = [
      [
        '<testsuite errors="1" failures="1" name="backend" skips="0" tests="1" time="1"><testcase ' +
        'classname="a" file="tests/a.py" line="4" name="b" time="1"/></testsuite>',
        "pytest",
      ],
      [
        '<testsuite name="openshift-tests" tests="1"><testcase name="a" time="1"/></testsuite>',
        "openshift_tests",
      ],
      [
        '<testsuites><testsuite name="cart" hostname="a" log="s.html"><testcase name="adds" time="1" ' +
        'timestamp="" log="c.html"/></testsuite></testsuites>',
        "common_test",
      ],
    ];
    for (const [report, tool] of cases) assert.equal(await kindsIn(report), tool);
  });
});

describe("what never ran", () => {
  it("of vitest has no time and is skipped", async () => {
    const report = (time: string, inside = "", ofSuite = "0.01234") =>
      `<testsuites name="vitest tests"><testsuite name="a" time="${ofSuite}">` +
      `<testcase name="t" time="${time}">${inside}</testcase></testsuite></testsuites>`;
    assert.equal((await only(report("0"))).conclusion, "skipped");
    assert.equal((await only(report("0.0"))).conclusion, "passing");
    assert.equal((await only(report("0", "<failure/>"))).conclusion, "failure");
    // vitest 1 writes whole milliseconds.
    assert.equal((await only(report("0", "", "0.012"))).conclusion, "passing");
  });

  it("of other tools may have no time and passed", async () => {
    const report = '<testsuites><testsuite name="a"><testcase name="t" time="0"/></testsuite>' +
      "</testsuites>";
    assert.equal((await only(report)).conclusion, "passing");
  });

  it("of tap has a property", async () => {
    const report = '<testsuites name="TAP Tests"><testsuite name="a"><testcase name="t">' +
      '<properties><property name="skip" value="true"/></properties></testcase></testsuite>' +
      "</testsuites>";
    assert.equal((await only(report)).conclusion, "skipped");
    const { conclusion } = await only(report.replace("TAP Tests", "others"));
    assert.equal(conclusion, "passing");
  });

  it("of eunit timed out: a failure", async () => {
    const report = '<testsuite tests="1" failures="0" errors="0" skipped="1" time="0" name="m">' +
      '<testcase name="t"><skipped type="timeout">in function sleep/1</skipped></testcase>' +
      "</testsuite>";
    const { conclusion, message } = await only(report);
    assert.deepEqual([conclusion, message], ["failure", "in function sleep/1"]);
  });

  it("of pytest has no name after an interruption, and is a note", async () => {
    const { results, notes } = await read(
      '<testsuites><testsuite name="pytest"><testcase time="0.000"/></testsuite></testsuites>',
    );
    assert.deepEqual(results, []);
    assert.deepEqual(notes, [
      "r.xml:1:38: a <testcase> without name and classname, as after an interruption, is not a test",
      "r.xml: found no test result",
    ]);
  });
});

describe("messages that say nothing", () => {
  const message = async (inside: string) =>
    (await only(
      `<testsuites><testsuite name="s"><testcase classname="shop.Cart" name="adds">${inside}` +
        "</testcase></testsuite></testsuites>",
    )).message;

  it("give way to the first line of the text that says something", async () => {
    for (const nothing of ["Failed", "failed", "adds", "shop.Cart.adds", "shop.Cart::adds", ""]) {
      const inside = `<failure message="${nothing}">\n${nothing}\n  1 is not 2\n</failure>`;
      assert.equal(await message(inside), "1 is not 2", nothing);
    }
  });

  it("are names of assertion errors, and the lines of stack traces after them", async () => {
    const java = "java.lang.AssertionError\n\tat shop.Cart.adds(Cart.java:3)\n";
    for (
      const [attribute, text, expected] of [
        ["AssertionError", "AssertionError\n    at foo (a.js:3)\nexpected 1", "expected 1"],
        ["java.lang.AssertionError", java, "java.lang.AssertionError"],
        ["java.lang.AssertionError", `${java}Caused by: no disk`, "Caused by: no disk"],
        ["AssertionError: 1", "x", "AssertionError: 1"],
        ["Test failed", "expected 2", "expected 2"],
        ["", 'Traceback (most recent call last):\n  File "a.py", line 3, in b\n    c()', "c()"],
        ["", "Traceback (most recent call last):", "Traceback (most recent call last):"],
      ] as const
    ) {
      assert.equal(await message(`<failure message="${attribute}">${text}</failure>`), expected);
    }
  });

  it("give way to the last line of the output, without terminal codes", async () => {
    assert.equal(
      await message("<system-out>starting\n\ufffd[31m1 is not 2\ufffd[0m\n</system-out><failure/>"),
      "1 is not 2",
    );
    assert.equal(
      await message('<failure message=""/><system-out>starting\n1 is not 2</system-out>'),
      "1 is not 2",
    );
  });

  it("stay if nothing says more", async () => {
    assert.equal(await message('<failure message="Failed"/>'), "Failed");
    assert.equal(await message('<failure message="Failed">adds</failure>'), "Failed");
    assert.equal(await message("<failure/>"), "");
  });

  it("do not hide messages that only begin so", async () => {
    assert.equal(await message('<failure message="Failed to open">x</failure>'), "Failed to open");
    assert.equal(await message('<failure message="it adds">x</failure>'), "it adds");
  });

  it("of an attempt stay if nothing says more", async () => {
    const { results } = await read(
      '<testsuites><testsuite name="s"><testcase name="adds"><flakyFailure message="Failed"/>' +
        "</testcase></testsuite></testsuites>",
    );
    assert.deepEqual(results.map((one) => one.message), ["Failed", ""]);
  });
});

describe("output of a failed test without a text", () => {
  it("becomes its text, from the end", async () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => `line ${index}`).join("\n");
    const { body, message } = await only(
      `<testsuite name="s"><testcase name="t"><failure/><system-out>${lines}</system-out>` +
        "</testcase></testsuite>",
    );
    assert.ok(body.length <= 16_384);
    assert.match(body, /^\.\.\.\n/);
    assert.match(body, /\nline 4999$/);
    assert.equal(message, "line 4999");
  });
});
