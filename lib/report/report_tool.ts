// Tests: tests/lib/report/junit/recognize_tool_test.ts tests/lib/report/report_advice_test.ts
/** The tools whose reports are read, or the formats: what the rows of their tables share. */
import type { FailureRules } from "./test_case.ts";

/** What equal cases in the reports of a tool are. */
export interface EqualCasesRule {
  /**
   * `attempts`: the tool repeats the case for each attempt. `tests`: it does not, as far as is known, so
   * they are different tests with one name. `parts`: a test has a case for each of its expectations.
   */
  meaning: "attempts" | "tests" | "parts";
  /**
   * How the cases stand in their suite when the tool repeats a run on purpose: round after round (Go's `-count`), or
   * in rounds that overlap (pytest's `--dist each`). Absent if it is not known to do so.
   */
  rounds?: "in turn" | "overlapping";
  /** Whether a case has the line of its test: of its cases in one line, all are of one test. */
  hasLines?: boolean;
  /** Whether its retries follow all first attempts of their suite: Gradle. */
  retriesAtEnd?: boolean;
  /** Whether plugins of the tool leave a case without an outcome for a failed attempt: pytest. */
  hasBareAttempts: boolean;
}

/** What the end of a report tells about the tool that wrote it. */
export interface ReportedTool {
  /** Path of the report. */
  file: string;
  /** Which attempt it is, from 1, if the uploader said so. */
  attempt?: number | undefined;
  /** `""` if unknown; several are joined by "and". */
  tool: string;
  /** Of its first result. */
  rule: EqualCasesRule;
  /** Where suites of other tools follow, in order: the report was merged from several. */
  changes?: readonly RuleChange[];
  /** Cases beyond those that the suites of its first tool declare. */
  surplusCaseCount: number;
  /** The same for suites with other rules. */
  otherSurplus?: ReadonlyMap<EqualCasesRule, number>;
  /** The machine that all its suites name; absent without one. */
  hostname?: string | undefined;
}

/** From a result on, another rule applies. */
export interface RuleChange {
  /** How many results of the report precede it. */
  resultNo: number;
  rule: EqualCasesRule;
}

/** A tool that writes JUnit, or a format of its own. */
export interface ReportTool extends EqualCasesRule, FailureRules {
  /** As in the reference. */
  tool: string;
  /** How its reports are recognized, for the reference. */
  evidence: string;
  /** What else it changes, for the reference; `""` if nothing. */
  changes: string;
}

/** A tool that repeats a case for a retry. */
export const ATTEMPTS = { meaning: "attempts", hasBareAttempts: false } as const;
/** A tool that never does. */
export const TESTS = { meaning: "tests", hasBareAttempts: false } as const;
