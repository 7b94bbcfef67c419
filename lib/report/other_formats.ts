// Tests: tests/lib/report/junit/read_junit_test.ts tests/lib/report/native/formats_test.ts
/** Known formats that are not read, each with the line that makes a report of it that is. */

export interface OtherFormat {
  name: string;
  /** What to write instead. */
  instead: string;
  /** Whether it may contain a report, so that it is not skipped in a folder. */
  isCompressed?: boolean;
}

const COVERAGE = "it as coverage: --coverage FILE, or the part coverage of a form";

/** By the outermost element. */
const XML: ReadonlyMap<string, OtherFormat> = new Map([
  ["assemblies", { name: "a report of xUnit.net", instead: "TRX: dotnet test --logger trx" }],
  ["testng-results", {
    name: "TestNG's own report",
    instead: "its JUnit reports: test-output/junitreports/*.xml",
  }],
  ["test-results", {
    name: "a report of NUnit 2",
    instead: "one of NUnit 3: nunit3-console --result=report.xml",
  }],
  ["robot", {
    name: "the output of Robot Framework",
    instead: "JUnit: rebot --xunit report.xml output.xml",
  }],
  ["TestLog", {
    name: "a log of Boost.Test",
    instead: "JUnit: --logger=JUNIT,all,report.xml",
  }],
  ["Catch", { name: "Catch2's own report", instead: "JUnit: --reporter junit" }],
  ["Catch2TestRun", { name: "Catch2's own report", instead: "JUnit: --reporter junit" }],
  ["doctest", { name: "doctest's own report", instead: "JUnit: --reporters=junit" }],
  ["report", { name: "a coverage report, as of JaCoCo", instead: COVERAGE }],
  ["coverage", { name: "a coverage report, as of Cobertura or Clover", instead: COVERAGE }],
  ["html", { name: "a page in HTML", instead: "the report of the test tool in XML" }],
  ["Site", { name: "a file of CTest's dashboard", instead: "ctest --output-junit report.xml" }],
]);

/** By the beginning of a file. */
const TEXT: readonly (OtherFormat & { pattern: RegExp })[] = [
  {
    pattern: /^\s*\{[^]*"numTotalTestSuites"\s*:/,
    name: "the JSON of Jest or Vitest",
    instead: "JUnit (--reporters=jest-junit, --reporter=junit) or CTRF (jest-ctrf-json-reporter)",
  },
  {
    pattern: /^\s*\{\s*"stats"\s*:\s*\{\s*"suites"/,
    name: "Mocha's JSON",
    instead: "JUnit (mocha-junit-reporter) or CTRF (mocha-ctrf-json-reporter)",
  },
  {
    pattern: /^\s*\{\s*"config"\s*:[^]*"rootDir"/,
    name: "Playwright's JSON",
    instead: "JUnit: --reporter=junit",
  },
  {
    pattern: /^\s*\{\s*"version"\s*:[^]{0,200}"examples"\s*:/,
    name: "RSpec's JSON",
    instead: "JUnit: --format RspecJunitFormatter",
  },
  {
    pattern: /^\s*\{(?=[^]*"exitcode"\s*:)(?=[^]*"collectors"\s*:)/,
    name: "the JSON of pytest-json-report",
    instead: "JUnit: pytest --junitxml=report.xml -o junit_family=xunit1",
  },
  {
    pattern: /^\s*\[\s*\{[^]*"keyword"\s*:\s*"/,
    name: "Cucumber's JSON",
    instead: "JUnit: --format junit:report.xml",
  },
  {
    pattern: /^\s*\{"(?:meta|testRunStarted|source)":\{/,
    name: "Cucumber's messages",
    instead: "JUnit: --format junit:report.xml",
  },
  {
    pattern: /^(?:TAP version \d|1\.\.\d|(?:not )?ok \d)/m,
    name: "TAP",
    instead: "JUnit: prove --formatter TAP::Formatter::JUnit, node --test-reporter=junit",
  },
  {
    pattern: /^\s*\{(?=[^]*"(?:historyId|testCaseId)"\s*:)(?=[^]*"stage"\s*:)/,
    name: "a result of Allure",
    instead: "JUnit or CTRF, which the test tool can write as well",
  },
  {
    pattern: /^\s*\{\s*"tests"\s*:\s*\d[^]*"testsuites"\s*:\s*\[/,
    name: "the JSON of GoogleTest",
    instead: "JUnit: --gtest_output=xml:report.xml",
  },
  { pattern: /^(?:TN:|SF:)/, name: "a coverage report in lcov's format", instead: COVERAGE },
  {
    pattern: /^mode: (?:set|count|atomic)$/m,
    name: "a cover profile of Go",
    instead: COVERAGE,
  },
  {
    // deno-lint-ignore no-control-regex -- the signature, in which one byte is no UTF-8
    pattern: /^\x1f\uffff\x08/,
    name: "a gzip'd file",
    instead: "it uncompressed: gunzip FILE",
    isCompressed: true,
  },
  {
    // deno-lint-ignore no-control-regex -- the signature
    pattern: /^PK\x03\x04/,
    name: "a ZIP file",
    instead: "the report in it: unzip FILE",
    isCompressed: true,
  },
  {
    pattern: /^=== RUN {3}/m,
    name: "the text of go test",
    instead: "its events: go test -json",
  },
];

const CHECK: OtherFormat = {
  name: "Check's own report",
  instead: "JUnit: CK_TAP_LOG_FILE_NAME=report.tap ./tests; " +
    "prove --formatter TAP::Formatter::JUnit report.tap > report.xml",
};

/** The format of XML with this outermost element in this namespace; `undefined` if unknown. */
export function otherXmlFormat(element: string, namespace = ""): OtherFormat | undefined {
  // Its outermost element has the name of JUnit's.
  return namespace.includes("check.sourceforge.net") ? CHECK : XML.get(element);
}

/** The format of a file with this beginning that is not XML; `undefined` if unknown. */
export function otherFormat(head: string): OtherFormat | undefined {
  return TEXT.find(({ pattern }) => pattern.test(head));
}
