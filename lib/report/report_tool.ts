// Tests: tests/lib/report/junit/recognize_tool_test.ts tests/lib/report/report_advice_test.ts
/** The tools whose reports are read, or the formats: what the rows of their tables share. */
import type { EqualCasesRule } from "../analysis/repetition/equal_cases.ts";
import type { FailureRules } from "./test_case.ts";

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
