/** The formats of this folder, one after the other. */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { readReport } from "../../../../lib/report/read_report.ts";
import { ReportError } from "../../../../lib/report/report_error.ts";
import type { TestResult } from "../../../../lib/report/result.ts";
import { inChunks } from "../reading.ts";

const LABORATORY = new URL("../../../../fixtures/laboratory/", import.meta.url);

async function read(bytes: string | Uint8Array, chunkBytes = 1_000) {
  const results: TestResult[] = [];
  const outside: string[] = [];
  const unlisted: string[] = [];
  const { tool, resultCount } = await readReport(
    inChunks(typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes, chunkBytes),
    {
      file: "r",
      checkoutFolder: "/srv/shop",
      onResult: (result) => results.push(result),
      onFailureOutside: (failure) => outside.push(failure),
      onUnlisted: (suite) => unlisted.push(suite),
    },
  );
  assert.equal(resultCount, results.length);
  return { tool: tool.tool, results, outside, unlisted };
}

const file = (path: string) => Deno.readFile(new URL(path, LABORATORY));

/** Suite, class, name, file and conclusion of each result. */
const rows = (results: TestResult[]) =>
  results.map((one) => [one.suite, one.class, one.name, one.file, one.conclusion]);

const identities = (results: TestResult[]) =>
  new Set(
    results.map(({ suite, class: className, name, file }) =>
      [suite, className, name, file].join("|")
    ),
  );

async function refused(text: string, kind: string, message: RegExp): Promise<void> {
  for (const chunkBytes of [1_000, 7]) {
    await assert.rejects(read(text, chunkBytes), (error) => {
      assert.ok(error instanceof ReportError);
      assert.equal(error.kind, kind);
      assert.match(error.message, message);
      return true;
    });
  }
}

describe("go test -json", () => {
  it("has the tests of gotestsum's JUnit", async () => {
    const { tool, results } = await read(await file("go_test_json/once.json"));
    assert.equal(tool, "go test -json");
    assert.deepEqual(
      identities(results),
      identities((await read(await file("gotestsum/count.xml"))).results),
    );
  });

  it("has messages without the lines that only say that a test ran", async () => {
    const { results } = await read(await file("go_test_json/once.json"));
    const failed = results.find(({ name }) => name === "TestAlwaysFails")!;
    assert.equal(failed.message, "cart_test.go:19: 1 is not 2");
    assert.match(failed.body, /^=== RUN/);
  });

  it("may follow other lines, and be written by PowerShell", async () => {
    const event = '{"Action":"pass","Package":"p","Test":"T","Elapsed":1.5}\n';
    const expected = [["p", "p", "T", "", "passing"]];
    assert.deepEqual(rows((await read(`go: downloading x v1.0.0\n${event}`)).results), expected);
    const utf16 = new Uint8Array(
      new Uint16Array([...`\ufeff${event}`].map((character) => character.charCodeAt(0))).buffer,
    );
    const { results } = await read(utf16, 7);
    assert.deepEqual(rows(results), expected);
    assert.equal(results[0]!.durationMicroseconds, 1_500_000);
  });

  it("fails a test that began and did not end", async () => {
    const begin = '{"Action":"run","Package":"p","Test":"T"}\n' +
      '{"Action":"output","Package":"p","Test":"T","Output":"panic: gone\\n"}\n';
    for (const end of ["", '{"Action":"fail","Package":"p"}\n']) {
      const { results, outside } = await read(begin + end);
      assert.deepEqual(rows(results), [["p", "p", "T", "", "failure"]]);
      assert.equal(results[0]!.message, "panic: gone");
      assert.deepEqual(outside, []);
    }
  });

  it("tells that a package failed without a failed test", async () => {
    const { outside } = await read('{"Action":"fail","Package":"p"}\n');
    assert.deepEqual(outside, ["r:1: package p failed outside of a test"]);
    const built = await read('{"ImportPath":"p","Action":"build-fail"}\n');
    assert.deepEqual(built.outside, ["r:1: a package did not compile"]);
  });

  it("tells that a package did not end", async () => {
    const { unlisted } = await read(
      '{"Action":"start","Package":"p"}\n{"Action":"pass","Package":"p","Test":"T"}\n',
    );
    assert.deepEqual(unlisted, ['r:2: package "p" did not end']);
  });

  it("tells that a package did not compile, as Go before 1.24 does", async () => {
    for (const what of ["build", "setup"]) {
      const { outside } = await read(
        `{"Action":"pass","Package":"p"}\nFAIL\tshop/cart [${what} failed]\n`,
      );
      assert.deepEqual(outside, ["r:2: a package did not compile"]);
    }
  });

  it("tells of a panic after the tests", async () => {
    const { outside } = await read(
      '{"Action":"fail","Package":"p","Test":"T"}\n' +
        '{"Action":"output","Package":"p","Output":"panic: gone\\n"}\n' +
        '{"Action":"fail","Package":"p"}\n',
    );
    assert.deepEqual(outside, ["r:2: package p panicked outside of a test"]);
  });

  it("is refused where a line is cut", async () => {
    await refused('{"Action":"run","Package":"p"}\n{"Action":"pa', "incomplete", /^r:2:1: found /);
    await refused('{"Action":"run","Package":"p"}\n{"Action":"pa\n', "malformed", /^r:2:1: found /);
  });
});

describe("CTRF", () => {
  it("has the tests of the JUnit of jest, vitest and Playwright", async () => {
    for (
      const [ctrf, junit] of [
        ["jest_ctrf/retries.json", "jest/files.xml"],
        ["vitest_ctrf/retries.json", "vitest/retries.xml"],
        ["playwright_ctrf/retries.json", "playwright/include_retries.xml"],
      ]
    ) {
      const own = await read(await file(ctrf!));
      assert.equal(own.tool, "CTRF");
      assert.deepEqual(
        identities(own.results),
        identities((await read(await file(junit!))).results),
        ctrf,
      );
    }
  });

  const report = (test: object, tool = "other") =>
    JSON.stringify({ reportFormat: "CTRF", results: { tool: { name: tool }, tests: [test] } });
  const base = { name: "t", duration: 3 };
  const conclusions = async (test: object) =>
    (await read(report({ ...base, ...test }))).results.map(({ conclusion }) => conclusion);

  it("has failed attempts, listed or counted", async () => {
    const failed = { status: "failed", message: "first" };
    const attempts = [failed, failed, { status: "passed" }];
    const table: [object, string[]][] = [
      [{ status: "passed" }, ["passing"]],
      [{ status: "passed", retries: 2, flaky: true }, ["failure", "failure", "passing"]],
      [{ status: "failed", retries: 1 }, ["failure", "failure"]],
      [{ status: "passed", retries: 2, retryAttempts: attempts }, [
        "failure",
        "failure",
        "passing",
      ]],
      [{ status: "passed", retryAttempts: attempts }, ["failure", "failure", "passing"]],
      [{ status: "passed", retries: 1, retryAttempts: [failed] }, ["failure", "passing"]],
      [{ status: "skipped", retries: 1 }, ["skipped"]],
      [{ status: "pending" }, ["skipped"]],
      [{ status: "other", rawStatus: "todo" }, ["skipped"]],
      [{ status: "other" }, ["unknown"]],
      [{}, ["unknown"]],
    ];
    for (const [test, expected] of table) {
      assert.deepEqual(await conclusions(test), expected, JSON.stringify(test));
    }
  });

  it("has suites as a list or joined, and the message of each attempt", async () => {
    for (const suite of [["a", "b"], "a > b"]) {
      const { results } = await read(report({
        ...base,
        ...{ suite, filePath: "/srv/shop/a.js", status: "failed", message: "no", trace: "at a" },
      }));
      assert.deepEqual(rows(results), [["a > b", "", "t", "a.js", "failure"]]);
      assert.deepEqual([results[0]!.message, results[0]!.body], ["no", "no\nat a"]);
    }
  });

  it("tells of tests and failures that only its summary counts", async () => {
    const found = async (summary: object) => {
      const tests = [{ ...base, status: "failed" }, { ...base, name: "u", status: "passed" }];
      const { outside, unlisted } = await read(
        JSON.stringify({ results: { tool: { name: "other" }, summary, tests } }),
      );
      return [...outside, ...unlisted];
    };
    assert.deepEqual(await found({ tests: 2, failed: 1 }), []);
    assert.deepEqual(await found({}), []);
    assert.deepEqual(await found({ tests: 2, failed: 2 }), [
      "r:1: 2 failures and errors in the totals, 1 in tests",
    ]);
    assert.deepEqual(await found({ tests: 9, failed: 1 }), [
      "r:1: 9 tests in the totals, 2 listed",
    ]);
    assert.deepEqual(await found({ tests: "x", failed: -1 }), [
      'r:1: the total "x", expected a number',
      'r:1: the total "-1", expected a number',
    ]);
  });

  it("is read the same at all chunk boundaries, with texts that look like structure", async () => {
    const test = {
      ...base,
      name: '{"[\\"]} \\',
      status: "failed",
      message: 'results.tests[]: {"a":"\\\\"}',
    };
    const text = `\n${JSON.stringify({ x: ['"}]', { results: {} }] }).slice(0, -1)},` +
      report(test).slice(1);
    const expected = (await read(text)).results;
    assert.equal(expected[0]!.name, test.name);
    for (const chunkBytes of [1, 2, 3, 17]) {
      assert.deepEqual((await read(text, chunkBytes)).results, expected);
    }
  });

  it("has names that can be stored: characters that XML forbids are replaced", async () => {
    for (const suite of ["cart\0", ["cart\0"]]) {
      const text = report({
        ...base,
        name: "adds\0\x01",
        suite,
        filePath: "a\0.js",
        status: "passed",
      });
      const { results: [result] } = await read(text);
      const { suite: suiteName, name, file } = result!;
      assert.deepEqual([suiteName, name, file], ["cart\ufffd", "adds\ufffd\ufffd", "a\ufffd.js"]);
    }
    const event = '{"Action":"pass","Package":"p\\u0000","Test":"T\\u0000","Elapsed":1}\n';
    assert.deepEqual(rows((await read(event)).results), [[
      "p\ufffd",
      "p\ufffd",
      "T\ufffd",
      "",
      "passing",
    ]]);
  });

  it("is refused if it is cut off, nested without end, or has impossible values", async () => {
    const whole = report({ ...base, status: "passed" });
    await refused(whole.slice(0, -2), "incomplete", /found "the end of the file"/);
    await refused(`${whole}{}`, "malformed", /found "a second value"/);
    await refused(whole.replace("]", "}"), "malformed", /matching brackets|object in JSON/);
    await refused('{"a":'.repeat(2_000), "limit", /nested more than 1000 deep/);
    await refused(report({ status: "passed" }), "malformed", /test without a name/);
    await refused(report({ ...base, name: "n".repeat(70_000) }), "limit", /a name/);
    await refused(
      report({ ...base, status: "passed", retries: 1e9 }),
      "limit",
      /more than 10000 attempts/,
    );
    await refused(
      report({ ...base, name: "\ud800" }).replace("\\\\", "\\"),
      "malformed",
      /names in UTF-8/,
    );
  });
});

describe("TRX", () => {
  it("has the class and the assembly from the definitions, which follow the results", async () => {
    const { tool, results } = await read(await file("trx/xunit.trx"));
    assert.equal(tool, "TRX");
    assert.deepEqual(rows(results).slice(0, 4), [
      ["Shop.Tests.dll", "Shop.Tests.CartTests", "Passes", "", "passing"],
      ["Shop.Tests.dll", "Shop.Tests.CartTests", "AlwaysFails", "", "failure"],
      ["Shop.Tests.dll", "Shop.Tests.CartTests", "IsSkipped", "", "skipped"],
      ["Shop.Tests.dll", "Shop.Tests.CartTests", "SameName(row: 1)", "", "passing"],
    ]);
    const failed = results[1]!;
    assert.equal(failed.message, "Assert.Equal() Failure: Values differ");
    assert.match(failed.body, /Actual: +2\n +at Shop/);
    assert.equal(failed.durationMicroseconds, 11_300);
  });

  it("has the rows of a data-driven test, and not the test that contains them", async () => {
    const { results } = await read(await file("trx/mstest_rows.trx"));
    assert.deepEqual(rows(results), [
      ["Shop.Tests.dll", "Shop.Tests.RowTests", "SameName (1)", "", "passing"],
      ["Shop.Tests.dll", "Shop.Tests.RowTests", "SameName (2)", "", "failure"],
      ["Shop.Tests.dll", "Shop.Tests.RowTests", "TimesOut", "", "failure"],
      ["Shop.Tests.dll", "Shop.Tests.RowTests", "IsOpen", "", "unknown"],
    ]);
    assert.equal(results[2]!.durationMicroseconds, 60e6);
  });

  it("tells of a run that failed outside of tests", async () => {
    const { outside } = await read(
      '<TestRun><ResultSummary><RunInfos><RunInfo outcome="Error"/></RunInfos></ResultSummary>' +
        "</TestRun>",
    );
    assert.deepEqual(outside, ["r:1:35: the run failed"]);
  });
});

describe("totals of TRX", () => {
  const found = async (summary: string) => {
    const { outside, unlisted } = await read(
      '<TestRun><Results><UnitTestResult testName="a" outcome="Failed"/>' +
        `<UnitTestResult testName="b" outcome="Passed"/></Results>${summary}</TestRun>`,
    );
    return [...outside, ...unlisted].map((text) => text.replace(/^r:\d+:\d+: /, ""));
  };
  const counters = (attributes: string, outcome = "Failed") =>
    `<ResultSummary outcome="${outcome}"><Counters ${attributes}/></ResultSummary>`;

  it("are those of its results", async () => {
    assert.deepEqual(await found(counters('total="2" failed="1" error="0" aborted="0"')), []);
    for (const name of ["error", "timeout", "aborted"]) {
      assert.deepEqual(await found(counters(`total="2" failed="1" ${name}="1"`)), [
        "2 failures and errors in the totals, 1 in tests",
      ]);
    }
    assert.deepEqual(await found(counters('total="3" failed="1"')), [
      "3 tests in the totals, 2 listed",
    ]);
    assert.deepEqual(await found(counters('total="2" failed="x"')), [
      'the total "x", expected a number',
    ]);
  });

  it("tell of a run that was ended", async () => {
    for (const outcome of ["Aborted", "Error", "Timeout"]) {
      assert.deepEqual(await found(counters("", outcome)), [
        `the run ended with the outcome "${outcome}"`,
      ]);
    }
  });

  it("leave the outcome of a result open that has none", async () => {
    const { results } = await read('<TestRun><UnitTestResult testName="a"/></TestRun>');
    assert.deepEqual(results.map(({ conclusion }) => conclusion), ["unknown"]);
  });
});

describe("totals of NUnit 3", () => {
  const found = async (attributes: string, suite = "") => {
    const { outside, unlisted } = await read(
      `<test-run ${attributes}><test-suite type="TestFixture" fullname="A" result="Failed">` +
        '<test-case name="a" result="Failed"/><test-case name="b" result="Passed"/></test-suite>' +
        `${suite}</test-run>`,
    );
    return [...outside, ...unlisted].map((text) => text.replace(/^r:\d+:\d+: /, ""));
  };

  it("are those of its cases", async () => {
    assert.deepEqual(await found('result="Failed" total="2" failed="1"'), []);
    assert.deepEqual(await found('total="2" failed="2"'), [
      "2 failures and errors in the totals, 1 in tests",
    ]);
    assert.deepEqual(await found('total="3" failed="1"'), ["3 tests in the totals, 2 listed"]);
    assert.deepEqual(await found('total="x" failed="1"'), ['the total "x", expected a number']);
  });

  it("tell of a suite that failed without a failed test, and of a run that was cancelled", async () => {
    assert.deepEqual(await found("", '<test-suite result="Failed" site="SetUp"/>'), [
      "a suite failed without a failed test",
    ]);
    assert.deepEqual(await found('result="Failed" label="Cancelled"'), ["it was cancelled"]);
  });
});

describe("NUnit 3", () => {
  it("has the class as suite, and cases of parameterized methods", async () => {
    const { tool, results, outside } = await read(await file("nunit/result.xml"));
    assert.equal(tool, "NUnit 3");
    assert.deepEqual(rows(results).map(([suite, , name, , end]) => [suite, name, end]), [
      ["Shop.Tests.CartTests", "Passes", "passing"],
      ["Shop.Tests.CartTests", "AlwaysFails", "failure"],
      ["Shop.Tests.CartTests", "IsSkipped", "skipped"],
      ["Shop.Tests.CartTests", "SameName(1)", "passing"],
      ["Shop.Tests.CartTests", "SameName(2)", "error"],
      ["Shop.Tests.StorageTests", "ErrorsInSetUp", "error"],
    ]);
    assert.equal(results[1]!.message, "Expected: 1");
    assert.match(results[1]!.body, /But was: +2\n.*at Shop/s);
    assert.deepEqual(outside, [], "failures of suites are those of their cases");
  });

  it("has fixtures with arguments apart", async () => {
    const fixture = (name: string) =>
      `<test-suite type="TestFixture" fullname="${name}"><test-case name="t" classname="Shop.A" ` +
      'result="Passed"/></test-suite>';
    const { results } = await read(
      `<test-run>${fixture("Shop.A(1)")}${fixture("Shop.A(2)")}</test-run>`,
    );
    assert.deepEqual(rows(results).map(([suite, className]) => [suite, className]), [
      ["Shop.A(1)", "Shop.A"],
      ["Shop.A(2)", "Shop.A"],
    ]);
  });

  it("tells of a tear-down that failed", async () => {
    const { outside } = await read(
      '<test-run><test-suite name="s" site="TearDown"><failure/></test-suite></test-run>',
    );
    assert.deepEqual(outside, ["r:1:48: a suite failed"]);
  });
});

describe("other formats", () => {
  const table: [string, RegExp][] = [
    ["<assemblies/>", /<assemblies>.*: a report of xUnit\.net, expected TRX: dotnet test/],
    [
      '<report name="x"/>',
      /a coverage report, as of JaCoCo, expected it as coverage: --coverage FILE/,
    ],
    ["<coverage/>", /a coverage report, as of Cobertura or Clover, expected it as coverage/],
    ["<!DOCTYPE html><html/>", /a page in HTML, expected the report of the test tool/],
    ["TN:\nSF:a\nDA:1,1\n", /a coverage report in lcov's format, expected it as coverage/],
    ["mode: set\na.go:1.1,2.2 1 1\n", /a cover profile of Go, expected it as coverage/],
    ['{"uuid":"1","historyId":"a","status":"passed","stage":"finished"}', /a result of Allure/],
    ['{"tests":1,"testsuites":[{}]}', /the JSON of GoogleTest, .*--gtest_output=xml/],
    ["<testng-results/>", /TestNG's own report, expected its JUnit reports: test-output/],
    ["<robot/>", /rebot --xunit/],
    ['{"numFailedTests":0,"numTotalTestSuites":1}', /the JSON of Jest or Vitest, .*jest-junit/],
    ['{\n "stats": {\n "suites": 1', /Mocha's JSON, expected JUnit/],
    ["TAP version 13\n1..2\nok 1 - a\n", /found TAP, expected JUnit: prove/],
    ["=== RUN   TestA\n--- PASS: TestA (0.00s)\n", /the text of go test, .* go test -json/],
    ['{"a":1}', /JSON without results\.tool, expected CTRF/],
  ];
  for (const [text, message] of table) {
    it(`are refused by their name: ${text.slice(0, 20).replaceAll("\n", " ")}`, async () => {
      await refused(text, "not-junit", message);
    });
  }
});
