// Tests: tests/lib/report/fixtures_test.ts
/** What a row of the table of dialects says about the reports of its tool. */
import type { TestIdentity } from "../../base/identity.ts";
import type { ReportTool } from "../report_tool.ts";
import type { XmlAttributes } from "../xml/start_tag.ts";

/** The beginning of a report, or of a later outermost suite of it, up to its first `testcase`. */
export class ReportHead {
  #suiteKeys: string | undefined;
  #caseKeys: string | undefined;

  constructor(
    /** Name of the outermost element. */
    readonly rootElement: string,
    readonly root: XmlAttributes,
    /** Attributes of the suites around the case, the outermost first. */
    readonly suites: readonly XmlAttributes[],
    readonly testCase: XmlAttributes,
    /** Names of `property` elements before the case. */
    readonly properties: ReadonlySet<string>,
  ) {}

  /** Names of the attributes of the suite around the case, with a blank between. */
  get suiteKeys(): string {
    return this.#suiteKeys ??= keysOf(this.suites.at(-1));
  }

  /** The same of the case. */
  get caseKeys(): string {
    return this.#caseKeys ??= keysOf(this.testCase);
  }
}

/** A suite whose name is normalized. */
interface SuiteNames {
  name: string;
  /** The names of the suites around it, the outermost first, without empty ones. */
  outer: readonly string[];
}

/** A case and the suite around it. */
interface CaseNames {
  identity: TestIdentity;
  suite: XmlAttributes;
}

/** What is read differently in reports of a tool. */
export interface ToolRow extends ReportTool {
  suite?(names: SuiteNames): string;
  identity?(names: CaseNames): TestIdentity;
  /** The element whose meaning an element of a case, or a property of it, has. */
  meaningOf?(element: string, attributes: XmlAttributes): string;
  /** Whether a case with these attributes and without any element never ran. */
  isNeverRun?(attributes: XmlAttributes): boolean;
  /** Whether the totals count something else: assertions, or subtests that passed and are not listed. */
  hasOtherTotals?: boolean;
  /** Whether a failure counts as a failure and as an error in the totals. */
  hasDoubleTotals?: boolean;
  /** Whether a case without name and class is not a test. */
  hasNamelessCases?: boolean;
  /** Whether suites without a file take it from a suite without tests before them. */
  hasFileInRootSuite?: boolean;
  /** Whether a second suite of one name is one of another project: a part of a matrix. */
  hasProjects?: boolean;
  /** What is a failure outside of a test in the `system-out` of a suite with failures. */
  failureInOutput?: RegExp;
  /** Whether a suite right behind one with the same attributes is the same one, which was repeated. */
  repeatsSuites?: boolean;
  /** Whether the `hostname` of a suite is something else than a machine. */
  hasOtherHostname?: boolean;
}

/** One row of the table. */
export interface Dialect extends ToolRow {
  isWrittenBy(head: ReportHead): boolean;
}

/** The names of attributes, in order. */
export function keysOf(attributes: XmlAttributes = {}): string {
  return Object.keys(attributes).join(" ");
}

/** The same in alphabetical order. */
export function sortedKeysOf(attributes: XmlAttributes | undefined): string {
  return Object.keys(attributes ?? {}).sort().join(" ");
}
