/**
 * What distinguishes the reports of each tool: one row for each, in the order in which they are tried.
 * A row concerns the reports that it recognizes and no others.
 */
import type { TestIdentity } from "../../base/identity.ts";
import type { EqualCasesRule } from "../equal_cases.ts";
import type { XmlAttributes } from "../xml/start_tag.ts";

/** The beginning of a report, up to its first `testcase`. */
export interface ReportHead {
  /** Name of the outermost element. */
  rootElement: string;
  root: XmlAttributes;
  /** Attributes of the suites around the case, the outermost first. */
  suites: readonly XmlAttributes[];
  testCase: XmlAttributes;
  /** Names of `property` elements before the case. */
  properties: ReadonlySet<string>;
}

/** A suite whose name is normalized. */
export interface SuiteNames {
  name: string;
  /** The names of the suites around it, the outermost first, without empty ones. */
  outer: readonly string[];
  /** How many suites of this name the report had before. */
  earlierCount: number;
}

/** A case and the suite around it. */
export interface CaseNames {
  identity: TestIdentity;
  suite: XmlAttributes;
}

/** A tool, or a format that is not JUnit. */
export interface ToolRow extends EqualCasesRule {
  /** As in the reference. */
  tool: string;
  /** How its reports are recognized, for the reference. */
  evidence: string;
  /** What else it changes, for the reference; `""` if nothing. */
  changes: string;
  /** Whether a case has the line of its test, which distinguishes tests of one name. */
  hasLines?: boolean;
  suite?(names: SuiteNames): string;
  identity?(names: CaseNames): TestIdentity;
  /** The element whose meaning an element of a case, or a property of it, has. */
  meaningOf?(element: string, attributes: XmlAttributes): string;
  /** Whether a case with these attributes and without any element never ran. */
  isNeverRun?(attributes: XmlAttributes): boolean;
  /** Whether the totals count something else: assertions, or subtests that passed and are not listed. */
  hasOtherTotals?: boolean;
  /** Whether a case without name and class is not a test. */
  hasNamelessCases?: boolean;
  /** Whether the file of a suite without tests is that of the suites after it, unless they have one. */
  hasFileInRootSuite?: boolean;
  /** Whether a line of a failure's text says nothing about its cause. */
  isNoise?(line: string): boolean;
}

/** One row of the table. */
export interface Dialect extends ToolRow {
  isWrittenBy(head: ReportHead): boolean;
}

/** A tool that repeats a case for a retry. */
export const ATTEMPTS = {
  meaning: "attempts",
  canRepeatAll: false,
  hasBareAttempts: false,
} as const;
/** A tool that never does. */
export const TESTS = { meaning: "tests", canRepeatAll: false, hasBareAttempts: false } as const;

/** Reports of tools that are not in the table. */
export const UNKNOWN_DIALECT: Dialect = {
  tool: "",
  evidence: "any other report",
  isWrittenBy: () => true,
  ...ATTEMPTS,
  canRepeatAll: true,
  changes: "",
};

/** The table. */
export const DIALECTS: readonly Dialect[] = [
  {
    tool: "jest",
    evidence:
      '`name="jest tests"`, or suites with name, errors, failures, skipped, timestamp, time, tests',
    isWrittenBy: ({ root, suites }) =>
      root["name"] === "jest tests" ||
      writes(suites, "name errors failures skipped timestamp time tests"),
    ...TESTS,
    changes:
      "The suite, which is taken from the file's first test, is not read where a file is given.",
    identity: ({ identity }) => identity.file ? { ...identity, suite: "" } : identity,
  },
  {
    tool: "vitest",
    evidence: '`name="vitest tests"`',
    isWrittenBy: ({ root }) => root["name"] === "vitest tests",
    ...TESTS,
    changes: 'A case with `time="0"` and nothing in it never ran: `skipped`. A second suite with ' +
      "the same name is another project: `(2)` is appended. The class is the file, unless the report " +
      "has one.",
    suite: ({ name, earlierCount }) => earlierCount > 0 ? `${name} (${earlierCount + 1})` : name,
    isNeverRun: ({ time }) => time === "0",
    // As with the option addFileAttribute.
    identity({ identity }) {
      const isFile = identity.file === "" && identity.suite.startsWith(identity.class);
      return isFile ? { ...identity, file: identity.class } : identity;
    },
  },
  {
    tool: "mocha",
    evidence: '`name="Mocha Tests"`, or the suite `Root Suite`',
    isWrittenBy: ({ root, suites }) =>
      root["name"] === "Mocha Tests" || suites[0]?.["name"] === "Root Suite",
    ...TESTS,
    changes:
      "The file of an empty root suite is that of the suites after it, as Cypress writes it.",
    hasFileInRootSuite: true,
  },
  {
    tool: "node_test",
    evidence: '`testsuites` without attributes, `classname="test"` or `suite`',
    isWrittenBy: ({ rootElement, root, testCase }) =>
      rootElement === "testsuites" && Object.keys(root).length === 0 &&
      /^(?:test|suite)$/.test(testCase["classname"] ?? ""),
    ...TESTS,
    changes: "Names of nested suites are joined: `cart > total`.",
    suite: ({ name, outer }) => [...outer, name].join(" > "),
  },
  {
    tool: "deno_test",
    evidence: '`name="deno test"`',
    isWrittenBy: ({ root }) => root["name"] === "deno test",
    ...ATTEMPTS,
    hasLines: true,
    changes: "Equal cases with different lines are different tests.",
  },
  {
    tool: "bun_test",
    evidence: '`name="bun test"`',
    isWrittenBy: ({ root }) => root["name"] === "bun test",
    ...TESTS,
    hasLines: true,
    changes: "",
  },
  {
    tool: "playwright",
    evidence:
      "`testsuites` with id, name, tests, failures, skipped, errors, time; files as classes",
    isWrittenBy: ({ root, testCase, suites }) =>
      keysOf(root) === "id name tests failures skipped errors time" &&
      testCase["classname"] === suites.at(-1)?.["name"],
    ...TESTS,
    canRepeatAll: true,
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
    isWrittenBy: ({ suites }) =>
      writes(suites, "name timestamp hostname time errors tests skipped disabled failures"),
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
    evidence: '`name="TAP Tests"`',
    isWrittenBy: ({ root }) => root["name"] === "TAP Tests",
    ...TESTS,
    changes: "`file`, which only failures have, is not read. A test with the property `skip` is " +
      "`skipped`.",
    identity: ({ identity }) => ({ ...identity, file: "" }),
    hasOtherTotals: true,
    meaningOf: (element, { name }) =>
      element === "property" && name === "skip" ? "skipped" : element,
  },
  {
    tool: "pytest",
    evidence:
      '`name="pytest"`, or suites with name, errors, failures, skipped, tests, time, timestamp, hostname',
    isWrittenBy: ({ suites }) =>
      suites.at(-1)?.["name"] === "pytest" ||
      writes(suites, "name errors failures skipped tests time timestamp hostname"),
    ...ATTEMPTS,
    canRepeatAll: true,
    hasBareAttempts: true,
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
    isWrittenBy: ({ suites }) =>
      writes(suites, "name tests file time timestamp failures errors skipped"),
    ...TESTS,
    changes: "The time after `_ErrorHolder` is removed.",
    suite: ({ name }) => name.replace(/(\._ErrorHolder)-\d{14}$/, "$1"),
  },
  {
    tool: "behave",
    evidence: "suites with name, tests, errors, failures, skipped, time, timestamp, hostname; " +
      "cases with classname, name, status, time",
    isWrittenBy: ({ suites, testCase }) =>
      writes(suites, "name tests errors failures skipped time timestamp hostname") &&
      keysOf(testCase) === "classname name status time",
    ...TESTS,
    changes: "",
  },
  {
    tool: "robot",
    evidence: "suites with name, tests, errors, failures, skipped, time, timestamp; " +
      "cases with classname, name, time",
    isWrittenBy: ({ suites, testCase }) =>
      writes(suites, "name tests errors failures skipped time timestamp") &&
      keysOf(testCase) === "classname name time",
    ...TESTS,
    changes: "",
  },
  {
    tool: "rspec",
    evidence: "a suite `rspec…` with the property `seed`",
    isWrittenBy: ({ suites, properties }) =>
      /^rspec/.test(suites[0]?.["name"] ?? "") && properties.has("seed"),
    ...TESTS,
    changes: "",
  },
  {
    tool: "minitest",
    evidence: "suites with skipped, failures, errors, tests, assertions, time at the end",
    isWrittenBy: ({ suites }) =>
      /^name (?:filepath )?skipped failures errors tests assertions time$/
        .test(keysOf(suites.at(-1))),
    ...TESTS,
    changes: "",
  },
  {
    tool: "cucumber",
    evidence:
      "suites with failures, errors, skipped, tests, time, name, or the suite `Cucumber` or " +
      "`cucumber-js`",
    isWrittenBy: ({ suites }) =>
      writes(suites, "failures errors skipped tests time name") ||
      /^cucumber(?:-js)?$/i.test(suites[0]?.["name"] ?? ""),
    ...TESTS,
    changes: "Lines up to `Message:`, and `A hook or step failed`, say nothing.",
    isNoise: (line) =>
      /^(?:Scenario(?: Outline)?:|Given |When |Then |And |But |Message:|A hook or step failed$)/
        .test(line),
  },
  {
    tool: "gotestsum",
    evidence: "property `go.version`",
    isWrittenBy: ({ properties }) => properties.has("go.version"),
    ...ATTEMPTS,
    canRepeatAll: true,
    changes: "Lines such as `=== RUN` and `--- FAIL` say nothing.",
    isNoise: isGoNoise,
  },
  {
    tool: "surefire",
    evidence: "the schema of surefire or failsafe",
    isWrittenBy: ({ suites }) =>
      suites.some((suite) =>
        /surefire|failsafe/.test(suite["xsi:noNamespaceSchemaLocation"] ?? "")
      ),
    ...TESTS,
    changes: "",
  },
  {
    tool: "gradle",
    evidence: "suites with name, tests, skipped, failures, errors, timestamp, hostname, time",
    isWrittenBy: ({ suites }) =>
      writes(suites, "name tests skipped failures errors timestamp hostname time"),
    ...ATTEMPTS,
    changes: "",
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
    changes: "",
  },
  {
    tool: "junit_console",
    evidence: "suites with name, tests, skipped, failures, errors, time, hostname, timestamp",
    isWrittenBy: ({ suites }) =>
      writes(suites, "name tests skipped failures errors time hostname timestamp"),
    ...TESTS,
    changes: "",
  },
  {
    tool: "bats",
    evidence: "a suite `….bats`",
    isWrittenBy: ({ suites }) => /\.bats$/.test(suites.at(-1)?.["name"] ?? ""),
    ...ATTEMPTS,
    hasBareAttempts: true,
    changes: "`begin 3`, which follows a retry, is removed from names. Bare cases as of pytest.",
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
      /^errors failures name tests(?: time)?$/.test(sortedKeysOf(suites.at(-1))) &&
      /^name(?: time)?$/.test(sortedKeysOf(testCase)) &&
      /^(?:\d+(?: - |$)|\(init\)$)/.test(testCase["name"] ?? ""),
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
    isWrittenBy: ({ suites }) => writes(suites, "tests failures errors skipped time name"),
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
    evidence: '`name="AllTests"`',
    isWrittenBy: ({ root }) => root["name"] === "AllTests",
    ...TESTS,
    changes: "",
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
    isWrittenBy: ({ suites }) =>
      /^name errors failures (?:skipped )?tests hostname time timestamp$/
        .test(keysOf(suites.at(-1))),
    ...TESTS,
    hasOtherTotals: true,
    changes: "",
  },
  {
    tool: "ctest",
    evidence: "one suite with name, tests, failures, disabled, skipped, hostname, time, timestamp",
    isWrittenBy: ({ suites }) =>
      writes(suites, "name tests failures disabled skipped hostname time timestamp"),
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
    evidence: "`uuid` of `testsuites`",
    isWrittenBy: ({ root }) => root["uuid"] !== undefined && root["name"] !== undefined,
    ...TESTS,
    changes: "",
  },
];

/** The row of the tool that wrote a report. */
export function dialectOf(head: ReportHead): Dialect {
  return DIALECTS.find((dialect) => dialect.isWrittenBy(head)) ?? UNKNOWN_DIALECT;
}

// Each tool writes its attributes in an order of its own.
function writes(suites: readonly XmlAttributes[], keys: string): boolean {
  return keysOf(suites.at(-1)) === keys;
}

function keysOf(attributes: XmlAttributes | undefined): string {
  return attributes ? Object.keys(attributes).join(" ") : "";
}

function sortedKeysOf(attributes: XmlAttributes | undefined): string {
  return Object.keys(attributes ?? {}).sort().join(" ");
}

function withoutFocus(name: string): string {
  return name.replace(/^focused specs(?:\.|$)/, "");
}

// "Chrome Headless 120.0.6099.0 (Linux 6.1)" as a suite, in a class with "_" for blanks and points.
const SUITE_BROWSER = /^([^\d(]{1,100}) [\d.]{1,50} \(([^)\d]{1,50}?)(?: [\d.]{1,50})?\)/;
const CLASS_BROWSER = /^([^\d(]{1,100})_[\d_]{1,50}\(([^)\d]{1,50}?)(?:_[\d_]{1,50})?\)/;

function withoutBrowserVersion(name: string): string {
  return name.replace(SUITE_BROWSER, "$1 ($2)").replace(CLASS_BROWSER, "$1_($2)");
}

/** Whether a line of a Go test's output only says that it ran. */
export function isGoNoise(line: string): boolean {
  return /^(?:=== (?:RUN|PAUSE|CONT|NAME|FAIL)|--- (?:FAIL|PASS|SKIP))\b/.test(line);
}
