// Tests: tests/lib/report/native/formats_test.ts tests/lib/report/report_advice_test.ts
/** What formats other than JUnit share: a row for each, and their cases. */
import type { ReportedTool } from "../report_tool.ts";
import type { NamedTest } from "../normalize_names.ts";
import { GO_OUTPUT } from "../go_output.ts";
import { ATTEMPTS, type ReportTool, TESTS } from "../report_tool.ts";
import { CaseOutcome, microsecondsOf, type OutcomeKind, TestCase } from "../test_case.ts";

/** The rows of the formats, by format. */
export const FORMATS = {
  goTest: {
    ...ATTEMPTS,
    rounds: "in turn",
    tool: "go test -json",
    evidence: 'JSON lines with `"Action"`',
    changes: "Names as gotestsum writes them. A test that began and did not end failed.",
    ...GO_OUTPUT,
  },
  ctrf: {
    ...TESTS,
    tool: "CTRF",
    evidence: "a JSON object with `results`",
    changes:
      "`retryAttempts`, or else the number in `retries`, are failed attempts before the last. " +
      "Names of jest, vitest and Playwright as in their JUnit reports.",
  },
  trx: {
    ...TESTS,
    tool: "TRX",
    evidence: "`TestRun` as the outermost element",
    changes: "The assembly is the suite. The class is removed from the name.",
  },
  nunit: {
    ...TESTS,
    tool: "NUnit 3",
    evidence: "`test-run` as the outermost element",
    changes: "The fixture with its arguments is the suite.",
  },
} satisfies Record<string, ReportTool>;

/** What the end of a report of a format tells. */
export function toolOf(format: ReportTool, file: string): ReportedTool {
  return { file, tool: format.tool, rule: format, surplusCaseCount: 0 };
}

/** An outcome of a case with its texts. */
export interface Outcome {
  conclusion: OutcomeKind["conclusion"];
  /** Whether it is an attempt before the last. */
  isAttempt?: boolean;
  message?: string | undefined;
  text?: string | undefined;
  seconds?: number;
}

/** A case of a format. `conclusion` is how it ended where no outcome says so. */
export function caseOf(
  { identity, variant }: NamedTest,
  format: ReportTool,
  { seconds, conclusion = "passing", endsLast = false, outcomes, output }: {
    seconds: number;
    conclusion?: "passing" | "unknown";
    /** As the field of the facts of a case. */
    endsLast?: boolean;
    outcomes: readonly Outcome[];
    output?: string;
  },
): TestCase {
  const facts = { durationMicroseconds: microsecondsOf(seconds), conclusion, endsLast, variant };
  const testCase = new TestCase(identity, facts, format);
  for (const { conclusion, isAttempt = false, message = "", text = "", seconds = 0 } of outcomes) {
    const durationMicroseconds = microsecondsOf(seconds);
    const outcome = new CaseOutcome({ conclusion, isAttempt }, { message, durationMicroseconds });
    outcome.text.add(text);
    testCase.add(outcome);
  }
  if (output) testCase.addOutput(output);
  return testCase;
}
