// Tests: tests/lib/report/fixtures_test.ts
/**
 * What distinguishes the reports of each tool: one row for each, in the order in which they are tried.
 * A row concerns the reports that it recognizes and no others.
 */
import { firstLine } from "../bounded_text.ts";
import { GO_FAILURE_OUTSIDE, GO_OUTPUT } from "../go_output.ts";
import { ATTEMPTS, TESTS } from "../report_tool.ts";
import { type Dialect, sortedKeysOf } from "./dialect.ts";
import { JAVASCRIPT_DIALECTS } from "./javascript_dialects.ts";

/** Reports of tools that are not in the table. */
export const UNKNOWN_DIALECT: Dialect = {
  tool: "",
  evidence: "any other report",
  isWrittenBy: () => true,
  ...TESTS,
  changes: "",
};

const SEVERAL_OF_JAVA = "Failures that are collected, as by `assertAll`, are causes each.";
const COLLECTED = /\(\d+ failures?\)\n|asserts failed:\n/;
// Of `assertAll` and TestNG's SoftAssert in a line each, of AssertJ's SoftAssertions below a heading.
const OF_COLLECTED =
  /^\t(?!at |\.\.\. |Suppressed:|Caused by:)\S.*$|(?<=^-- failure \d{1,9} --\n\s{0,9})\S.*$/gm;

function failuresOfJava(text: string): string[] {
  return COLLECTED.test(text) ? (text.match(OF_COLLECTED) ?? []).map(firstLine) : [];
}

/** The table. */
export const DIALECTS: readonly Dialect[] = [
  ...JAVASCRIPT_DIALECTS,
  {
    tool: "pytest",
    evidence:
      '`name="pytest"` without other attributes, suites with name, errors, failures, skipped, ' +
      "tests, time, timestamp, hostname, or with skips and cases with line in a file of Python",
    isWrittenBy: ({ suites, suiteKeys, testCase }) =>
      suites.at(-1)?.["name"] === "pytest" && PYTEST_KEYS.test(suiteKeys) ||
      // Under another name, by earlier versions: unittest writes a file and the time of a case.
      suites.at(-1)?.["skips"] !== undefined && /\.py$/.test(testCase["file"] ?? "") &&
        testCase["line"] !== undefined ||
      suiteKeys === "name errors failures skipped tests time timestamp hostname",
    ...ATTEMPTS,
    hasBareAttempts: true,
    rounds: "overlapping",
    hasOtherTotals: true,
    changes:
      "Of equal cases the bare ones before a failed last one are failed attempts; before a " +
      "passed last one, if the suite has more cases than its `tests`. A case without name and " +
      "class, left by an interruption, is a note.",
    hasNamelessCases: true,
  },
  {
    tool: "unittest",
    evidence: "suites with name, tests, file, time, timestamp, failures, errors, skipped",
    isWrittenBy: ({ suiteKeys }) =>
      suiteKeys === "name tests file time timestamp failures errors skipped",
    ...TESTS,
    changes: "The time after `_ErrorHolder` is removed.",
    suite: ({ name }) => name.replace(/(\._ErrorHolder)-\d{14}$/, "$1"),
  },
  {
    tool: "behave",
    evidence: "suites with name, tests, errors, failures, skipped, time, timestamp, hostname; " +
      "cases with classname, name, status, time",
    isWrittenBy: ({ suiteKeys, caseKeys }) =>
      suiteKeys === "name tests errors failures skipped time timestamp hostname" &&
      caseKeys === "classname name status time",
    ...TESTS,
    changes: "",
  },
  {
    tool: "robot",
    evidence: "suites with name, tests, errors, failures, skipped, time, timestamp; " +
      "cases with classname, name, time",
    isWrittenBy: ({ suiteKeys, caseKeys }) =>
      suiteKeys === "name tests errors failures skipped time timestamp" &&
      caseKeys === "classname name time",
    ...TESTS,
    changes: "What follows `Teardown failed:` and `Several failures occurred:` are causes.",
    furtherMessages: (text) =>
      (text.match(/(?<=\b(?:setup|teardown) failed:\n)\S.*$|^\d+\) \S.*$/gim) ?? []).map(firstLine),
  },
  {
    tool: "rspec",
    evidence: "a suite `rspec…` with the property `seed`",
    isWrittenBy: ({ suites, properties }) =>
      /^rspec/.test(suites[0]?.["name"] ?? "") && properties.has("seed"),
    ...TESTS,
    changes: "The number of the process of parallel_tests is removed from the suite: `rspec`.",
    suite: ({ name }) => name.replace(/^(rspec)\d{1,4}$/, "$1"),
  },
  {
    tool: "minitest",
    evidence: "suites with skipped, failures, errors, tests, assertions, time at the end",
    isWrittenBy: ({ suiteKeys }) =>
      /^name (?:filepath )?skipped failures errors tests assertions time$/.test(suiteKeys),
    ...TESTS,
    changes: "",
  },
  {
    tool: "gotestsum",
    evidence: "property `go.version`",
    isWrittenBy: ({ properties }) => properties.has("go.version"),
    ...ATTEMPTS,
    rounds: "in turn",
    changes: "Lines such as `=== RUN` and `--- FAIL` say nothing. Each line with a place, as in " +
      "`cart_test.go:9: no total`, is a failure of its own.",
    ...GO_OUTPUT,
    // go-junit-report, which may have the property, too.
    failureInOutput: GO_FAILURE_OUTSIDE,
  },
  {
    tool: "go_junit_report",
    evidence: "suites with name, tests, failures, errors, id, time, and sometimes others",
    isWrittenBy: ({ suiteKeys }) =>
      /^name tests failures errors id (?:hostname )?(?:skipped )?time(?: timestamp)?$/.test(
        suiteKeys,
      ),
    ...TESTS,
    changes: "As gotestsum. In the `system-out` of a suite with failures, a panic, a fatal error " +
      "or a data race is a failure outside of a test.",
    ...GO_OUTPUT,
    failureInOutput: GO_FAILURE_OUTSIDE,
  },
  {
    tool: "openshift_tests",
    evidence: "a suite `openshift-tests…`",
    isWrittenBy: ({ suites }) => /^openshift-tests\b/.test(suites.at(-1)?.["name"] ?? ""),
    ...ATTEMPTS,
    changes: "",
  },
  {
    tool: "common_test",
    evidence: "suites and cases with log",
    isWrittenBy: ({ suites, testCase }) =>
      suites.at(-1)?.["log"] !== undefined && testCase["log"] !== undefined,
    ...ATTEMPTS,
    changes: "Equal cases of different groups are different tests.",
  },
  {
    tool: "ginkgo",
    evidence:
      "suites with name, package, tests, disabled, skipped, errors, failures, time, timestamp",
    isWrittenBy: ({ suiteKeys }) =>
      suiteKeys === "name package tests disabled skipped errors failures time timestamp",
    ...TESTS,
    changes: "",
  },
  {
    tool: "cucumber",
    evidence:
      "suites with failures, errors, skipped, tests, time, name, or the suite `Cucumber` or " +
      "`cucumber-js` without other attributes but timestamp",
    isWrittenBy: ({ suites, suiteKeys }) =>
      suiteKeys === "failures errors skipped tests time name" ||
      /^cucumber(?:-js)?$/i.test(suites[0]?.["name"] ?? "") && CUCUMBER_KEYS.test(suiteKeys),
    ...TESTS,
    changes: "Lines up to `Message:`, and `A hook or step failed`, say nothing.",
    isNoise: (line) =>
      /^(?:Scenario(?: Outline)?:|Given |When |Then |And |But |Message:|A hook or step failed$)/
        .test(line),
  },
  {
    tool: "surefire",
    evidence: "the schema of surefire or failsafe",
    isWrittenBy: ({ suites }) =>
      suites.some((suite) =>
        /surefire|failsafe/.test(suite["xsi:noNamespaceSchemaLocation"] ?? "")
      ),
    ...TESTS,
    changes: SEVERAL_OF_JAVA,
    furtherMessages: failuresOfJava,
  },
  {
    tool: "gradle",
    evidence: "suites with name, tests, skipped, failures, errors, timestamp, hostname, time",
    isWrittenBy: ({ suiteKeys }) =>
      suiteKeys === "name tests skipped failures errors timestamp hostname time",
    ...ATTEMPTS,
    retriesAtEnd: true,
    changes: SEVERAL_OF_JAVA,
    furtherMessages: failuresOfJava,
  },
  {
    tool: "testng",
    evidence: "suites with hostname before name, failures, tests, time, errors, timestamp",
    isWrittenBy({ suites }) {
      const keys = Object.keys(suites.at(-1) ?? {});
      return ["failures", "tests", "name", "time", "errors", "timestamp"].every((key) =>
        keys.includes(key)
      ) && keys.includes("hostname") && keys.indexOf("hostname") < keys.indexOf("name");
    },
    ...TESTS,
    changes: SEVERAL_OF_JAVA,
    furtherMessages: failuresOfJava,
  },
  {
    tool: "junit_console",
    evidence: "suites with name, tests, skipped, failures, errors, time, hostname, timestamp",
    isWrittenBy: ({ suiteKeys }) =>
      suiteKeys === "name tests skipped failures errors time hostname timestamp",
    ...TESTS,
    changes: SEVERAL_OF_JAVA,
    furtherMessages: failuresOfJava,
  },
  {
    tool: "bats",
    evidence: "a suite `….bats`",
    isWrittenBy: ({ suites }) => /\.bats$/.test(suites.at(-1)?.["name"] ?? ""),
    ...ATTEMPTS,
    hasBareAttempts: true,
    changes: "`begin 3`, which follows a retry, is removed from names. Bare cases as of pytest. " +
      "Lines with the place of a failure say nothing.",
    isNoise: (line) => /^\(?(?:from function |in (?:test )?file )\S.*, line \d+[,)]$/.test(line),
    identity: ({ identity }) => ({
      ...identity,
      name: identity.name.replace(/^begin \d+ (?=.)/s, ""),
    }),
  },
  {
    tool: "prove",
    evidence: "suites with name, tests, failures, errors, time in any order; numbered cases",
    // Perl has another order of attributes in every run. With `--timer` the first case is `(init)`.
    isWrittenBy: ({ suites, testCase }) =>
      /^(?:\d+(?: - |$)|\(init\)$)/.test(testCase["name"] ?? "") &&
      /^errors failures name tests(?: time)?$/.test(sortedKeysOf(suites.at(-1))) &&
      /^name(?: time)?$/.test(sortedKeysOf(testCase)),
    ...TESTS,
    changes: "The number before the name is removed.",
    identity: ({ identity }) => ({
      ...identity,
      name: identity.name.replace(/^\d+ - (?=.)/s, ""),
    }),
    isNoise: (line) => /^not ok \d+/.test(line),
  },
  {
    tool: "eunit",
    evidence: "suites with tests, failures, errors, skipped, time, name",
    isWrittenBy: ({ suiteKeys }) => suiteKeys === "tests failures errors skipped time name",
    ...TESTS,
    changes: '`skipped type="timeout"` is a failure.',
    meaningOf: (element, { type }) =>
      element === "skipped" && type === "timeout" ? "failure" : element,
  },
  {
    tool: "phpunit",
    evidence: "cases with class, classname and assertions",
    isWrittenBy: ({ testCase }) =>
      ["class", "classname", "assertions"].every((key) => testCase[key] !== undefined),
    ...TESTS,
    changes: "A line with the test's own name says nothing.",
    isNoise: (line) => /^[\w\\]+::\w+(?: with data set .*)?$/.test(line),
  },
  {
    tool: "googletest",
    evidence:
      '`name="AllTests"`, or suites with name, tests, failures, disabled, skipped, errors, ' +
      "time, timestamp",
    isWrittenBy: ({ root, suiteKeys }) =>
      root["name"] === "AllTests" ||
      suiteKeys === "name tests failures disabled skipped errors time timestamp",
    ...TESTS,
    changes: "The place before a message says nothing. Expressions that are compared are causes.",
    isNoise: (line) => /^unknown file$|^\S+\.\w+(?::\d+|\(\d+\))$/.test(line),
    // Below "Expected equality of these values:", their values further to the right.
    furtherMessages: (text) => (text.match(/^ {2}\S.*$/gm) ?? []).map(firstLine),
  },
  {
    tool: "doctest",
    evidence: "`doctest_version` of a suite",
    isWrittenBy: ({ suites }) => suites.some((suite) => suite["doctest_version"] !== undefined),
    ...TESTS,
    changes: "The folder of the program, which is as it was called, is removed from the suite.",
    suite: ({ name }) => name.replace(/^.*[\\/](?=.)/s, ""),
  },
  {
    tool: "catch2",
    evidence: "suites with name, errors, failures, tests or skipped, hostname, time, timestamp",
    isWrittenBy: ({ suiteKeys }) =>
      /^name errors failures (?:skipped )?tests hostname time timestamp$/.test(suiteKeys),
    ...TESTS,
    hasOtherTotals: true,
    changes: "",
  },
  {
    tool: "testthat",
    evidence: "suites with name, timestamp, hostname, tests, skipped, failures, errors, time",
    isWrittenBy: ({ suiteKeys }) =>
      suiteKeys === "name timestamp hostname tests skipped failures errors time",
    ...TESTS,
    meaning: "parts",
    changes: "",
  },
  {
    tool: "ctest",
    evidence: "one suite with name, tests, failures, disabled, skipped, hostname, time, timestamp",
    isWrittenBy: ({ suiteKeys }) =>
      suiteKeys === "name tests failures disabled skipped hostname time timestamp",
    ...TESTS,
    changes: "",
  },
  {
    tool: "busted",
    evidence:
      "a suite `Run 1 of 1` with name, tests, skip, failures, errors, time, timestamp in any order",
    isWrittenBy: ({ suites }) =>
      ROUND.test(suites.at(-1)?.["name"] ?? "") &&
      sortedKeysOf(suites.at(-1)) === "errors failures name skip tests time timestamp",
    ...TESTS,
    changes: "The line is removed from the class, and the round from the suite: `Run`.",
    suite: ({ name }) => name.replace(ROUND, "Run"),
    identity: ({ identity }) => ({ ...identity, class: identity.class.replace(/:\d+$/, "") }),
  },
  {
    tool: "pester",
    evidence:
      "suites with name, tests, errors, failures, hostname, id, skipped, disabled, package, time",
    isWrittenBy: ({ suiteKeys }) =>
      suiteKeys === "name tests errors failures hostname id skipped disabled package time",
    ...TESTS,
    changes: "",
  },
  {
    tool: "exunit",
    evidence: "a suite `Elixir.…`",
    isWrittenBy: ({ suites }) => (suites.at(-1)?.["name"] ?? "").startsWith("Elixir."),
    ...TESTS,
    changes: "The line is removed from `file`.",
    identity: ({ identity }) => ({ ...identity, file: identity.file.replace(/:\d+$/, "") }),
  },
  {
    tool: "nextest",
    evidence: "`uuid` of `testsuites`, or cases with name, classname, timestamp, time",
    isWrittenBy: ({ root, caseKeys }) =>
      root["uuid"] !== undefined && root["name"] !== undefined ||
      caseKeys === "name classname timestamp time",
    ...TESTS,
    changes: "The place of a panic before its message says nothing.",
    isNoise: (line) => /^thread '.*' (?:\(\d+\) )?panicked at \S+:\d+:\d+:?$/.test(line),
  },
];

// A class or package may have the name of a tool. Versions differ in the order.
const PYTEST_KEYS =
  /^(?:(?:name|errors|failures|skip(?:ped|s)|tests|time|timestamp|hostname)(?: |$)){1,10}$/;
const CUCUMBER_KEYS = /^(?:(?:name|errors|failures|skipped|tests|time|timestamp)(?: |$)){1,10}$/;
// A round of busted.
const ROUND = /^Run \d{1,9} of \d{1,9}$/;
