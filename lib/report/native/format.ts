/** What formats other than JUnit share: rows of the table of dialects, and their cases. */
import type { TestIdentity } from "../../base/identity.ts";
import type { ReportedTool } from "../equal_cases.ts";
import { ATTEMPTS, TESTS, type ToolRow } from "../junit/dialect.ts";
import { GO_OUTPUT } from "../junit/dialects.ts";
import { OUTCOME_KINDS, OutcomeElement, TestCase } from "../junit/test_case.ts";

/** The rows of the formats, by format. */
export const FORMATS = {
  goTest: {
    ...ATTEMPTS,
    tool: "go test -json",
    evidence: 'JSON lines with `"Action"`',
    canRepeatAll: true,
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
} satisfies Record<string, ToolRow>;

/** What the end of a report of a format tells. */
export function toolOf(format: ToolRow, file: string): ReportedTool {
  return { file, tool: format.tool, rule: format, surplusCaseCount: 0 };
}

/** An outcome of a case with its texts. */
export interface Outcome {
  /** As the elements of JUnit are called: `rerunFailure` for an attempt before the last. */
  kind: "failure" | "error" | "skipped" | "rerunFailure" | "rerunError";
  message?: string | undefined;
  text?: string | undefined;
  seconds?: number;
}

/** A case of a format as one of JUnit. `status` as in the `status` of a `testcase`. */
export function caseOf(
  identity: TestIdentity,
  format: ToolRow,
  { seconds, status, outcomes, output }: {
    seconds: number;
    status?: string;
    outcomes: readonly Outcome[];
    output?: string;
  },
): TestCase {
  const attributes = { time: String(seconds), ...status !== undefined && { status } };
  const testCase = new TestCase(identity, attributes, format);
  for (const { kind, message = "", text = "", seconds } of outcomes) {
    const element = new OutcomeElement(OUTCOME_KINDS.get(kind)!, {
      message,
      time: seconds === undefined ? undefined : String(seconds),
    });
    element.text.add(text);
    testCase.add(element);
  }
  if (output) testCase.addOutput(output);
  return testCase;
}
