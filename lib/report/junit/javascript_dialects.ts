// Tests: tests/lib/report/fixtures_test.ts
/** The rows of tools for JavaScript and TypeScript. */
import { ATTEMPTS, TESTS } from "../report_tool.ts";
import { type Dialect, keysOf } from "./dialect.ts";

export const JAVASCRIPT_DIALECTS: readonly Dialect[] = [
  {
    tool: "jest",
    evidence:
      '`name="jest tests"`, or suites with name, errors, failures, skipped, timestamp, time, tests',
    isWrittenBy: ({ root, suiteKeys }) =>
      root["name"] === "jest tests" ||
      suiteKeys === "name errors failures skipped timestamp time tests",
    ...TESTS,
    changes:
      "The suite, which is taken from the file's first test, is not read where a file is given.",
    identity: ({ identity }) => identity.file ? { ...identity, suite: "" } : identity,
  },
  {
    tool: "vitest",
    evidence: '`name="vitest tests"`, or suites with name, timestamp, hostname, tests, failures, ' +
      "errors, skipped, time",
    isWrittenBy: ({ root, suiteKeys }) =>
      root["name"] === "vitest tests" ||
      suiteKeys === "name timestamp hostname tests failures errors skipped time",
    ...TESTS,
    changes:
      'A case with `time="0"` and nothing in it never ran, if a suite has a time of more than three ' +
      "decimals: `skipped`. A second suite with the same name is another project, whose tests are " +
      "those of the first: only the place differs. The class is the file, unless the report has one.",
    hasProjects: true,
    isNeverRun: ({ time }) => time === "0",
    // As with the option addFileAttribute.
    identity({ identity }) {
      const isFile = identity.file === "" && identity.suite.startsWith(identity.class);
      return isFile ? { ...identity, file: identity.class } : identity;
    },
  },
  {
    tool: "mocha",
    evidence:
      '`name="Mocha Tests"`, the suite `Root Suite`, or suites with name, timestamp, tests, ' +
      "file, time, failures; cases with name, time, classname",
    isWrittenBy: ({ root, suites, suiteKeys, caseKeys }) =>
      root["name"] === "Mocha Tests" ||
      /^(?:Root Suite|Mocha Tests)$/.test(suites[0]?.["name"] ?? "") ||
      /^name timestamp tests (?:file )?time failures$/.test(suiteKeys) &&
        caseKeys === "name time classname",
    ...TESTS,
    changes: "The suites after an empty root suite have its file, as Cypress writes it.",
    hasFileInRootSuite: true,
  },
  {
    tool: "node_test",
    evidence: "suites with name, time, disabled, errors, tests, failures, skipped, timestamp, " +
      'hostname, or `classname="test"` in `testsuites` without attributes',
    isWrittenBy: ({ rootElement, root, suites, testCase, suiteKeys }) =>
      /^name time disabled errors tests failures skipped (?:timestamp )?hostname$/.test(
        suiteKeys,
      ) ||
      rootElement === "testsuites" && Object.keys(root).length === 0 &&
        /^(?:test|suite)$/.test(testCase["classname"] ?? "") &&
        // Tests of pytest in a file `test.py` have this class as well.
        suites.every(({ skipped, disabled }) => skipped === undefined || disabled !== undefined),
    ...TESTS,
    changes: "Names of nested suites are joined: `cart > total`. The class, which is these names " +
      "again in newer versions, is `test`.",
    suite: ({ name, outer }) => [...outer, name].join(" > "),
    identity({ identity }) {
      const isSuite = identity.suite.replaceAll(" > ", ".") === identity.class;
      return isSuite ? { ...identity, class: "test" } : identity;
    },
  },
  {
    tool: "deno_test",
    evidence: '`name="deno test"`, or cases with name, classname, time, line, col',
    isWrittenBy: ({ root, caseKeys }) =>
      root["name"] === "deno test" || caseKeys === "name classname time line col",
    ...ATTEMPTS,
    hasLines: true,
    changes: "Equal cases with different lines are different tests.",
  },
  {
    tool: "bun_test",
    evidence: '`name="bun test"`, or cases with name, classname, time, file, line, assertions',
    isWrittenBy: ({ root, caseKeys }) =>
      root["name"] === "bun test" || caseKeys === "name classname time file line assertions",
    ...TESTS,
    hasLines: true,
    changes: "",
  },
  {
    tool: "playwright",
    evidence: "suites with name, timestamp, hostname, tests, failures, skipped, time, errors, or " +
      "`testsuites` with id, name, tests, failures, skipped, errors, time; files as classes",
    isWrittenBy: ({ root, testCase, suites, suiteKeys }) =>
      testCase["classname"] === suites.at(-1)?.["name"] &&
      (suiteKeys === "name timestamp hostname tests failures skipped time errors" ||
        keysOf(root) === "id name tests failures skipped errors time"),
    ...TESTS,
    rounds: "in turn",
    repeatsSuites: true,
    hasOtherHostname: true,
    changes:
      "The project, which is the suite's `hostname`, is put before the name: `[chromium]`, " +
      "as `includeProjectInTestName` does.",
    identity({ identity, suite }) {
      const prefix = suite["hostname"] && `[${suite["hostname"]}] `;
      if (!prefix || identity.name.startsWith(prefix)) return identity;
      return { ...identity, name: prefix + identity.name };
    },
  },
  {
    tool: "jasmine",
    evidence:
      "suites with name, timestamp, hostname, time, errors, tests, skipped, disabled, failures",
    isWrittenBy: ({ suiteKeys }) =>
      suiteKeys === "name timestamp hostname time errors tests skipped disabled failures",
    ...TESTS,
    changes: "`focused specs`, the suite of what stands outside of a `describe`, is removed.",
    suite: ({ name }) => withoutFocus(name),
    identity: ({ identity }) => ({ ...identity, class: withoutFocus(identity.class) }),
  },
  {
    tool: "karma",
    evidence: "property `browser.fullName`",
    isWrittenBy: ({ properties }) => properties.has("browser.fullName"),
    ...TESTS,
    changes: "The versions of browser and system are removed from suite and class: " +
      "`Chrome Headless (Linux)`.",
    suite: ({ name }) => withoutBrowserVersion(name),
    identity: ({ identity }) => ({ ...identity, class: withoutBrowserVersion(identity.class) }),
  },
  {
    tool: "tap",
    evidence:
      '`name="TAP Tests"`, or suites with name, tests, failures, assertions, skipped, time; cases ' +
      "with id, name, classname",
    isWrittenBy: ({ root, suiteKeys, caseKeys }) =>
      root["name"] === "TAP Tests" ||
      suiteKeys === "name tests failures assertions skipped time" &&
        caseKeys.startsWith("id name classname"),
    ...TESTS,
    changes: "`file`, which only failures have, is not read. A test with the property `skip` is " +
      "`skipped`.",
    identity: ({ identity }) => ({ ...identity, file: "" }),
    hasOtherTotals: true,
    meaningOf: (element, { name }) =>
      element === "property" && name === "skip" ? "skipped" : element,
  },
  {
    tool: "tap_xunit",
    evidence: "suites with tests, failures, errors, name, and sometimes skipped; numbered cases",
    isWrittenBy: ({ suiteKeys, testCase }) =>
      /^tests (?:skipped )?failures errors name$/.test(suiteKeys) &&
      /^#\d/.test(testCase["name"] ?? ""),
    ...TESTS,
    changes: "The number before the name is removed.",
    identity: ({ identity }) => ({ ...identity, name: identity.name.replace(/^#\d+ (?=.)/s, "") }),
  },
  {
    tool: "testcafe",
    evidence: "a suite `TestCafe Tests: …`",
    isWrittenBy: ({ suites }) => /^TestCafe Tests: /.test(suites.at(-1)?.["name"] ?? ""),
    ...TESTS,
    hasOtherTotals: true,
    hasDoubleTotals: true,
    changes:
      "The versions of browser and system are removed from the suite, and `(unstable)` and " +
      "`(screenshots: …)` from names. Failures count as errors as well in its totals.",
    suite: ({ name }) =>
      name.replaceAll(/(?<=[A-Za-z)]) \d{1,9}(?:\.\d{1,9}){1,9}(?= \/|,|$)/g, ""),
    identity: ({ identity }) => ({
      ...identity,
      name: identity.name.replace(/(?: \((?:unstable|screenshots: [^)]{0,1000})\))+$/, ""),
    }),
  },
  {
    tool: "web_test_runner",
    evidence: "suites with name, id, tests, skipped, errors, failures, time",
    isWrittenBy: ({ suiteKeys }) => suiteKeys === "name id tests skipped errors failures time",
    ...TESTS,
    changes: "",
  },
  {
    tool: "hapi_lab",
    evidence: "suites with name, tests, skipped, errors, time; cases with classname, name, time",
    isWrittenBy: ({ suiteKeys, caseKeys }) =>
      suiteKeys === "name tests skipped errors time" && caseKeys === "classname name time",
    ...TESTS,
    changes: "",
  },
  {
    tool: "testem",
    evidence: "the suite `Testem Tests`",
    isWrittenBy: ({ suites }) => suites.at(-1)?.["name"] === "Testem Tests",
    ...TESTS,
    changes: "The version of the browser is removed from the class: `Chrome`.",
    identity: ({ identity }) => ({
      ...identity,
      class: identity.class.replace(/^([^\d]{1,100}) [\d.]{1,50}$/, "$1"),
    }),
  },
];

function withoutFocus(name: string): string {
  return name.replace(/^focused specs(?:\.|$)/, "");
}

// "Chrome Headless 120.0.6099.0 (Linux 6.1)" as a suite, in a class with "_" for blanks and points.
const SUITE_BROWSER = /^([^\d(]{1,100}) [\d.]{1,50} \(([^)\d]{1,50}?)(?: [\d.]{1,50})?\)/;
const CLASS_BROWSER = /^([^\d(]{1,100})_[\d_]{1,50}\(([^)\d]{1,50}?)(?:_[\d_]{1,50})?\)/;

function withoutBrowserVersion(name: string): string {
  return name.replace(SUITE_BROWSER, "$1 ($2)").replace(CLASS_BROWSER, "$1_($2)");
}
