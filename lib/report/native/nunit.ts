// Tests: tests/lib/report/archive/contents_test.ts tests/lib/report/native/formats_test.ts
/** The result file of NUnit 3, `--result=report.xml`. */
import { detach } from "../../base/text.ts";
import type { ReportedTool } from "../report_tool.ts";
import { BoundedText } from "../bounded_text.ts";
import { NameNormalizer } from "../normalize_names.ts";
import {
  refuseUndecodable,
  type ReportOptions,
  ResultSink,
  type XmlFormatReader,
} from "../report_reader.ts";
import type { XmlReader } from "../xml/reader.ts";
import type { XmlAttributes } from "../xml/start_tag.ts";
import { caseOf, FORMATS, type Outcome, toolOf } from "./format.ts";
import { Totals } from "./totals.ts";

interface Element {
  name: string;
  /** Where a suite failed, `""` if it did not or does not say. */
  site: string;
  /** Whether it is a suite, or the run, that failed. */
  hasFailed: boolean;
  /** Failed cases that were read before it. */
  failuresBefore: number;
  isFixture: boolean;
}

/** By the element in the failure of a case, or in the case. */
type Part = "message" | "stack-trace" | "output";

export class NUnitReader implements XmlFormatReader {
  readonly tool: ReportedTool;
  readonly #options: ReportOptions;
  readonly #xml: XmlReader;
  readonly #sink: ResultSink;
  readonly #names: NameNormalizer;
  readonly #elements: Element[] = [];
  /** Full names of the fixtures that are open, with their arguments. */
  readonly #fixtures: string[] = [];
  readonly #totals: Totals;
  /** The totals of the run, with their position. */
  #run: { attributes: XmlAttributes; position: string } | null = null;
  #testCase: { attributes: XmlAttributes; texts: Map<Part, BoundedText> } | null = null;

  constructor(options: ReportOptions, xml: XmlReader) {
    this.#options = options;
    this.#xml = xml;
    this.tool = toolOf(FORMATS.nunit, options.file);
    this.#sink = new ResultSink(options);
    this.#names = new NameNormalizer(options.checkoutFolder, options.pathPrefix);
    this.#totals = new Totals(options);
  }

  get resultCount(): number {
    return this.#sink.resultCount;
  }

  open(name: string, attributes: XmlAttributes): void {
    const parent = this.#elements.at(-1);
    const isFixture = name === "test-suite" && attributes["type"] === "TestFixture";
    const isSuite = name === "test-suite" || name === "test-run";
    this.#elements.push({
      name,
      site: attributes["site"] ?? "",
      isFixture,
      hasFailed: isSuite && attributes["result"] === "Failed",
      failuresBefore: this.#totals.failureCount,
    });
    if (!parent) this.#run = { attributes: { ...attributes }, position: this.#position };
    if (isSuite && attributes["label"] === "Cancelled") this.#failureOutside("it was cancelled");
    if (isFixture) this.#fixtures.push(detach(attributes["fullname"] ?? ""));
    if (name === "test-case" && !this.#testCase) {
      refuseUndecodable(this.#xml, name, attributes);
      this.#testCase = { attributes, texts: new Map() };
    } else if (name === "failure" && isOwnFailure(parent)) {
      this.#failureOutside("a suite failed");
    }
    const isText = this.#testCase && (parent?.name === "failure" || name === "output") &&
      (name === "message" || name === "stack-trace" || name === "output");
    if (!isText) return this.#xml.readText(null);
    const text = new BoundedText();
    this.#testCase!.texts.set(name, text);
    this.#xml.readText((part) => text.add(part));
  }

  close(): void {
    this.#xml.readText(null);
    const { name: element, isFixture, hasFailed, failuresBefore } = this.#elements.pop()!;
    if (isFixture) this.#fixtures.pop();
    if (hasFailed && this.#totals.failureCount === failuresBefore) {
      this.#failureOutside("a suite failed without a failed test");
    }
    if (element !== "test-case" || !this.#testCase) return;
    const { attributes, texts } = this.#testCase;
    this.#testCase = null;
    const { fullname = "", classname = "", result = "", label = "", duration } = attributes;
    const name = attributes["name"] || attributes["methodname"] || fullname;
    if (name === "") return;
    const suite = this.#fixtures.at(-1) || classname;
    const test = this.#names.test({ suite, class: classname, name, file: "" });
    this.#totals.testCount++;
    if (result === "Failed") this.#totals.failureCount++;
    this.#sink.add(caseOf(test, FORMATS.nunit, {
      seconds: Number(duration ?? 0) || 0,
      ...outcomeOf(result, label, texts),
      output: texts.get("output")?.toString() ?? "",
    }));
  }

  end(): void {
    if (!this.#run) return;
    const { attributes: { total, failed }, position } = this.#run;
    this.#totals.check({ tests: total, failures: [failed] }, position);
  }

  get #position(): string {
    const { line, column } = this.#xml.elementPosition;
    return `${line}:${column}`;
  }

  #failureOutside(what: string): void {
    this.#options.onFailureOutside?.(`${this.#options.file}:${this.#position}: ${what}`);
  }
}

// Failures of cases are repeated in their suites. Of a suite in whose set-up something failed, all
// cases failed.
function isOwnFailure(parent: Element | undefined): boolean {
  return parent?.name === "test-suite" && /^(?:TearDown|Test)$/.test(parent.site);
}

function outcomeOf(
  result: string,
  label: string,
  texts: ReadonlyMap<Part, BoundedText>,
): { conclusion?: "unknown"; outcomes: Outcome[] } {
  switch (result) {
    case "Passed":
    case "Warning":
      return { outcomes: [] };
    case "Skipped":
      return { outcomes: [{ conclusion: "skipped" }] };
    case "Failed": {
      const message = texts.get("message")?.toString();
      const text = texts.get("stack-trace")?.toString();
      return { outcomes: [{ conclusion: label === "Error" ? "error" : "failure", message, text }] };
    }
    default:
      return { conclusion: "unknown", outcomes: [] };
  }
}
