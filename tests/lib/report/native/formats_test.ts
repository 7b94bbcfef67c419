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

  it("has the attempts of a test before the last one, whatever words a tool has for failures", async () => {
    const failed = (message: string) => ({ status: "failed", message, duration: 1 });
    const passed = { status: "passed" };
    const cases: [test: object, results: string[]][] = [
      [{ ...failed("last"), retries: 1, retryAttempts: [failed("first")] }, ["first", "last"]],
      [{ ...failed("last"), retryAttempts: [failed("first"), failed("last")] }, ["first", "last"]],
      [{ ...passed, retries: 1, retryAttempts: [failed("first")] }, ["first", "passing"]],
      [{ ...passed, retryAttempts: [failed("first"), passed] }, ["first", "passing"]],
      [
        {
          ...passed,
          retryAttempts: [{ ...failed("late"), status: "other", rawStatus: "timedOut" }],
        },
        ["late", "passing"],
      ],
      [{ ...passed, retryAttempts: [{ status: "other", rawStatus: "todo" }] }, ["passing"]],
      [{ ...failed("late"), status: "other", rawStatus: "timedOut" }, ["late"]],
    ];
    for (const [test, expected] of cases) {
      const { results } = await read(report({ ...base, ...test }));
      assert.deepEqual(
        results.map(({ message, conclusion }) => message || conclusion),
        expected,
        JSON.stringify(test),
      );
    }
  });

  const report = (test: object, tool = "other") =>
    JSON.stringify({ reportFormat: "CTRF", results: { tool: { name: tool }, tests: [test] } });
  const base = { name: "t", duration: 3 };
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
