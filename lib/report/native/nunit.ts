/** The result file of NUnit 3, `--result=report.xml`. */
import type { ReportedTool } from "../equal_cases.ts";
import { FailureText } from "../junit/failure_text.ts";
import { NameNormalizer } from "../junit/normalize_names.ts";
import {
  refuseUndecodable,
  type ReportOptions,
  ResultSink,
  type XmlFormatReader,
} from "../report_reader.ts";
import type { XmlReader } from "../xml/reader.ts";
import type { XmlAttributes } from "../xml/start_tag.ts";
import { caseOf, FORMATS, type Outcome, toolOf } from "./format.ts";

/** By the element in the failure of a case, or in the case. */
type Part = "message" | "stack-trace" | "output";

export class NUnitReader implements XmlFormatReader {
  readonly tool: ReportedTool;
  readonly #options: ReportOptions;
  readonly #xml: XmlReader;
  readonly #sink: ResultSink;
  readonly #names: NameNormalizer;
  readonly #elements: { name: string; site: string | undefined }[] = [];
  #testCase: { attributes: XmlAttributes; texts: Map<Part, FailureText> } | null = null;

  constructor(options: ReportOptions, xml: XmlReader) {
    this.#options = options;
    this.#xml = xml;
    this.tool = toolOf(FORMATS.nunit, options.file);
    this.#sink = new ResultSink(options);
    this.#names = new NameNormalizer(options.checkoutFolder);
  }

  get resultCount(): number {
    return this.#sink.resultCount;
  }

  open(name: string, attributes: XmlAttributes): void {
    const parent = this.#elements.at(-1);
    this.#elements.push({ name, site: attributes["site"] });
    if (name === "test-case" && !this.#testCase) {
      refuseUndecodable(this.#xml, name, attributes);
      this.#testCase = { attributes, texts: new Map() };
    } else if (name === "failure" && isOwnFailure(parent)) {
      const { line, column } = this.#xml.elementPosition;
      this.#options.onFailureOutside?.(`${this.#options.file}:${line}:${column}: a suite failed`);
    }
    const isText = this.#testCase && (parent?.name === "failure" || name === "output") &&
      (name === "message" || name === "stack-trace" || name === "output");
    if (!isText) return this.#xml.readText(null);
    const text = new FailureText();
    this.#testCase!.texts.set(name, text);
    this.#xml.readText((part) => text.add(part));
  }

  close(): void {
    this.#xml.readText(null);
    if (this.#elements.pop()!.name !== "test-case" || !this.#testCase) return;
    const { attributes, texts } = this.#testCase;
    this.#testCase = null;
    const { fullname = "", classname = "", result = "", label = "", duration } = attributes;
    const name = attributes["name"] || attributes["methodname"] || fullname;
    if (name === "") return;
    const className = this.#names.class(classname);
    const identity = {
      suite: className,
      class: className,
      name: this.#names.name(name, className, className),
      file: "",
    };
    this.#sink.add(caseOf(identity, FORMATS.nunit, {
      seconds: Number(duration ?? 0) || 0,
      ...outcomeOf(result, label, texts),
      output: texts.get("output")?.toString() ?? "",
    }));
  }

  end(): void {}
}

// Of a suite in whose set-up something failed, all cases failed.
function isOwnFailure(parent: { name: string; site: string | undefined } | undefined): boolean {
  return parent?.name === "test-suite" && !/^(?:Child|Parent|SetUp)$/.test(parent.site ?? "");
}

function outcomeOf(
  result: string,
  label: string,
  texts: ReadonlyMap<Part, FailureText>,
): { status?: string; outcomes: Outcome[] } {
  switch (result) {
    case "Passed":
    case "Warning":
      return { outcomes: [] };
    case "Skipped":
      return { outcomes: [{ kind: "skipped" }] };
    case "Failed": {
      const message = texts.get("message")?.toString();
      const text = texts.get("stack-trace")?.toString();
      return { outcomes: [{ kind: label === "Error" ? "error" : "failure", message, text }] };
    }
    default:
      return { status: "inconclusive", outcomes: [] };
  }
}
