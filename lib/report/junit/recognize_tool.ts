/** Which tool wrote a report, and, if it was merged from several, each of its outermost suites. */
import { detach } from "../../base/text.ts";
import type { EqualCasesRule, ReportedTool, RuleChange } from "../report_tool.ts";
import type { XmlAttributes } from "../xml/start_tag.ts";
import { type Dialect, ReportHead } from "./dialect.ts";
import { DIALECTS, UNKNOWN_DIALECT } from "./dialects.ts";

// Changes of tool in a merged report; beyond that it is read by the last tool's rules.
const MAX_CHANGES = 1_000;
const MAX_PROPERTIES = 100_000;

/** Recognizes the tool of each outermost suite by its first test, and counts surplus cases for each tool. */
export class ToolRecognizer {
  /** The dialect of the latest test. */
  current: Dialect | undefined;
  /** False from the beginning of an outermost suite to its first test. */
  #isSuiteKnown = false;
  readonly #properties = new Set<string>();
  readonly #tools = new Set<string>();
  #first: Dialect | undefined;
  readonly #surplus = new Map<EqualCasesRule, number>();
  readonly #changes: RuleChange[] = [];
  readonly #dialects: readonly Dialect[];

  /** @param dialects the table */
  constructor(dialects: readonly Dialect[] = DIALECTS) {
    this.#dialects = dialects;
  }

  startSuite(): void {
    this.#isSuiteKnown = false;
    // Properties before the first suite belong to the report.
    if (this.current) this.#properties.clear();
  }

  /** Adds the name of a `property` outside of a test. */
  addProperty(name = ""): void {
    if (this.#isSuiteKnown || this.#properties.size === MAX_PROPERTIES) return;
    this.#properties.add(detach(name));
  }

  /** The dialect of the outermost suite that is open; `undefined` before its first test. */
  get known(): Dialect | undefined {
    return this.#isSuiteKnown ? this.current : undefined;
  }

  /**
   * The dialect of a suite by its first test. One that no row recognizes has the dialect of the suite
   * before it.
   */
  recognize(
    { rootElement, elements, testCase, resultCount }: {
      rootElement: string;
      /** Attributes of the elements around the case, the outermost first. */
      elements: readonly XmlAttributes[];
      testCase: XmlAttributes;
      /** Results of the report so far. */
      resultCount: number;
    },
  ): Dialect {
    this.#isSuiteKnown = true;
    const suites = rootElement === "testsuite" ? elements : elements.slice(1);
    const head = new ReportHead(rootElement, elements[0]!, suites, testCase, this.#properties);
    // Nearly always the same; there may be ten thousands of suites.
    const before = this.current === UNKNOWN_DIALECT ? undefined : this.current;
    const found = before?.isWrittenBy(head)
      ? before
      : this.#dialects.find((dialect) => dialect.isWrittenBy(head));
    const dialect = found ?? this.current ?? UNKNOWN_DIALECT;
    if (this.current && dialect !== this.current) {
      if (this.#changes.length === MAX_CHANGES) return this.current;
      this.#changes.push({ resultNo: resultCount, rule: dialect });
    }
    this.#first ??= dialect;
    if (dialect.tool !== "") this.#tools.add(dialect.tool);
    return this.current = dialect;
  }

  /** Adds cases beyond those that the suite of the latest test declares. */
  addSurplus(caseCount: number): void {
    const rule = this.current ?? UNKNOWN_DIALECT;
    this.#surplus.set(rule, (this.#surplus.get(rule) ?? 0) + caseCount);
  }

  /** What the end of the report tells. */
  tool(file: string): ReportedTool {
    const rule = this.#first ?? UNKNOWN_DIALECT;
    return {
      file,
      tool: [...this.#tools].join(" and "),
      rule,
      changes: this.#changes,
      surplusCaseCount: this.#surplus.get(rule) ?? 0,
      otherSurplus: this.#surplus,
    };
  }
}
