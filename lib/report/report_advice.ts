/** What a report hides by the way its tool writes it, and the line that mends it. */
import type { ReportedTool } from "./report_tool.ts";
import { isSetUp } from "../analysis/repetition/set_up.ts";
import type { Reported, TestResult } from "./result.ts";

/** Something about the reports of one tool that makes their tests worth less. */
export interface Advice {
  /** `retries`, `files`, `loading`, `names` or `paths`. */
  about: string;
  found: string;
  /** The line that mends it. */
  instead: string;
}

/** A report that was read to its end. */
interface ExaminedReport {
  file: string;
  /** `""` if it was not recognized. */
  tool: string;
  resultCount: number;
}

const SECOND_REPORT = "turn retries off and run failed tests again with a report of their own";

/** How to see retries, by tools whose reports have the last attempt only. */
export const HIDDEN_RETRIES: Readonly<Record<string, string>> = {
  jest: `upload CTRF (package jest-ctrf-json-reporter), or ${SECOND_REPORT}`,
  vitest: `upload CTRF (package @d2t/vitest-ctrf-json-reporter), or ${SECOND_REPORT}`,
  mocha: `upload CTRF (package mocha-ctrf-json-reporter), or ${SECOND_REPORT}`,
  playwright: "set includeRetries: true of the JUnit reporter",
  rspec: "with rspec-retry, run `rspec --only-failures` with a second report",
  googletest: "with --gtest_repeat, write a report for each round",
  "NUnit 3": SECOND_REPORT,
  behave: SECOND_REPORT,
  bun_test: SECOND_REPORT,
  ctest: SECOND_REPORT,
  cucumber: SECOND_REPORT,
  deno_test: SECOND_REPORT,
  hapi_lab: SECOND_REPORT,
  minitest: SECOND_REPORT,
  testng: SECOND_REPORT,
  web_test_runner: SECOND_REPORT,
};

/** What makes a tool write the file of each test. */
export const FILE_OPTIONS: Readonly<Record<string, string>> = {
  jest: "JEST_JUNIT_ADD_FILE_ATTRIBUTE=true jest --reporters=default --reporters=jest-junit",
  pytest: "pytest --junitxml=report.xml -o junit_family=xunit1",
};

/** What makes a tool write the files that it could not load; without it, they are in no report. */
export const LOADING_OPTIONS: Readonly<Record<string, string>> = {
  jest: "JEST_JUNIT_REPORT_TEST_SUITE_ERRORS=true jest --reporters=default --reporters=jest-junit",
};

// In one report, whose names follow one pattern.
const EXAMINED_RESULTS = 1_000;

/** What names that change with every run contain. */
const VARYING_PARTS: readonly RegExp[] = [
  // UUIDs, addresses in memory, time stamps.
  /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/i,
  /\b0x[\da-f]{6,16}\b/i,
  /\b1\d{9}(?:\d{3})?\b/,
  // Days, with a time or without.
  /\b20\d\d-[01]\d-[0-3]\d(?!\d)/,
  // Temporary paths.
  /(?:^|[^\w])\/(?:tmp|var\/folders)\/|\\Temp\\/i,
  // Ports that the system chooses, as a parameter or after a host.
  /[[(:=](?:3276[89]|327[7-9]\d|32[89]\d\d|3[3-9]\d{3}|[45]\d{4}|60\d{3})\b/,
  // Random numbers and words, and hashes, as a parameter.
  /[[(,=]0\.\d{9,}[\]),]/,
  /[[(,=](?=[a-z]*\d)(?=\d*[a-z])(?:[\da-f]{10,40}|(?=(?:[a-z]*\d){2})[a-z\d]{10,32})[\]),]/,
];

function mayVary(name: string): boolean {
  return VARYING_PARTS.some((part) => part.test(name));
}

const ABSOLUTE = /^(?:[\\/]|[A-Za-z]:[\\/])/;

/** Examines reports while they are read. */
export class ReportExaminer {
  readonly reports: ExaminedReport[] = [];
  /** By tool and subject, each once. */
  readonly #advice = new Map<string, Advice>();
  #resultCount = 0;
  #hasFile = false;
  #hasAttempts = false;
  #hasSetUp = false;
  #varying: string | undefined;
  #absolute: string | undefined;

  add(result: TestResult, { isNewCase }: Reported): void {
    const { name, file } = result;
    if (isSetUp(result)) this.#hasSetUp = true;
    if (!isNewCase) this.#hasAttempts = true;
    if (this.#resultCount++ >= EXAMINED_RESULTS) return;
    if (file !== "") this.#hasFile = true;
    if (this.#varying === undefined && mayVary(name)) this.#varying = name;
    if (this.#absolute === undefined && ABSOLUTE.test(file)) this.#absolute = file;
  }

  endReport({ file, tool }: ReportedTool): void {
    const resultCount = this.#resultCount;
    this.reports.push({ file, tool, resultCount });
    const add = (about: string, found: string, instead: string | undefined) => {
      if (instead !== undefined) this.#advice.set(`${tool} ${about}`, { about, found, instead });
    };
    if (resultCount > 0) {
      const writer = tool || "the tool";
      if (!this.#hasAttempts) {
        add("retries", `${tool} reports the last attempt of a test only`, HIDDEN_RETRIES[tool]);
      }
      if (!this.#hasFile) {
        add(
          "files",
          `${tool} wrote no file of the tests, which have no owners`,
          FILE_OPTIONS[tool],
        );
      }
      if (!this.#hasSetUp) {
        add("loading", `${tool} leaves out files that did not load`, LOADING_OPTIONS[tool]);
      }
      if (this.#varying !== undefined) {
        const found = `the name "${this.#varying.slice(0, 100)}" seems to differ in every run`;
        add("names", found, "give the test or its parameters a name that stays the same");
      }
      if (this.#absolute !== undefined) {
        const found = `${writer} wrote the absolute path ${this.#absolute.slice(0, 100)}`;
        add("paths", found, "run in the checkout, or have paths relative to it written");
      }
    }
    this.discardReport();
  }

  /** Forgets a report that is left out. */
  discardReport(): void {
    this.#resultCount = 0;
    this.#hasFile = this.#hasAttempts = this.#hasSetUp = false;
    this.#varying = this.#absolute = undefined;
  }

  get advice(): Advice[] {
    return [...this.#advice.values()];
  }
}
