// Tests: tests/lib/report/archive/contents_test.ts tests/lib/report/native/formats_test.ts
/** TRX, the results of Visual Studio's tests: `dotnet test --logger trx`. */
import { detach } from "../../base/text.ts";
import type { ReportedTool } from "../report_tool.ts";
import { BoundedText } from "../bounded_text.ts";
import { NameNormalizer } from "../normalize_names.ts";
import { REPORT_LIMITS } from "../limits.ts";
import { excerpt, limitError } from "../report_error.ts";
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

type Part = "Message" | "StackTrace" | "StdOut";

/** A result, until the definitions of the tests, which follow, tell its class. */
interface Result {
  testId: string;
  name: string;
  outcome: string;
  seconds: number;
  /** `null` unless it failed. */
  texts: Map<Part, string> | null;
}

const RESULTS: ReadonlySet<string> = new Set(["UnitTestResult", "TestResult"]);
const TEXTS: ReadonlySet<string> = new Set<Part>(["Message", "StackTrace", "StdOut"]);

const OUTCOMES: ReadonlyMap<string, Outcome["conclusion"] | "passing"> = new Map([
  ["Passed", "passing"],
  ["Completed", "passing"],
  ["Warning", "passing"],
  ["PassedButRunAborted", "passing"],
  ["Failed", "failure"],
  ["Timeout", "failure"],
  ["Error", "error"],
  ["Aborted", "error"],
  ["NotExecuted", "skipped"],
  ["NotRunnable", "skipped"],
  ["Pending", "skipped"],
]);

// Outcomes of a run that came to its end. Others, such as Aborted and Timeout, may have lost tests.
const RUN_OUTCOMES: ReadonlySet<string> = new Set([
  "Completed",
  "Failed",
  "Inconclusive",
  "NotExecuted",
  "Passed",
  "Warning",
]);

export class TrxReader implements XmlFormatReader {
  readonly tool: ReportedTool;
  readonly #options: ReportOptions;
  readonly #xml: XmlReader;
  readonly #sink: ResultSink;
  readonly #names: NameNormalizer;
  /** Results whose elements are open: the rows of a data-driven test are inside its result. */
  readonly #open: { result: Result; texts: Map<Part, BoundedText>; hasRows: boolean }[] = [];
  readonly #elements: string[] = [];
  readonly #results: Result[] = [];
  /** Class and assembly by the id of a test. */
  readonly #definitions = new Map<string, { className: string; assembly: string }>();
  readonly #totals: Totals;
  #definedId = "";
  /** The totals with their position; `null` without any. */
  #counters: { attributes: XmlAttributes; position: string } | null = null;

  constructor(options: ReportOptions, xml: XmlReader) {
    this.#options = options;
    this.#xml = xml;
    this.tool = toolOf(FORMATS.trx, options.file);
    this.#sink = new ResultSink(options);
    this.#names = new NameNormalizer(options.checkoutFolder, options.pathPrefix);
    this.#totals = new Totals(options);
  }

  get resultCount(): number {
    return this.#sink.resultCount;
  }

  open(name: string, attributes: XmlAttributes): void {
    const parent = this.#elements.at(-1);
    this.#elements.push(name);
    this.#xml.readText(null);
    if (RESULTS.has(name)) this.#openResult(attributes);
    else if (name === "UnitTest") this.#definedId = detach(attributes["id"] ?? "");
    else if (name === "TestMethod" && parent === "UnitTest") this.#define(attributes);
    else if (name === "RunInfo" && attributes["outcome"] === "Error") {
      this.#failureOutside("the run failed");
    } else if (name === "ResultSummary") this.#readSummary(attributes);
    else if (name === "Counters" && parent === "ResultSummary") {
      this.#counters = { attributes: { ...attributes }, position: this.#position };
    } else if (this.#open.length > 0 && TEXTS.has(name)) {
      const text = new BoundedText();
      this.#open.at(-1)!.texts.set(name as Part, text);
      this.#xml.readText((part) => text.add(part));
    }
  }

  close(): void {
    this.#xml.readText(null);
    if (!RESULTS.has(this.#elements.pop()!)) return;
    const { result, texts, hasRows } = this.#open.pop()!;
    const kind = OUTCOMES.get(result.outcome);
    const hasFailed = kind === "failure" || kind === "error";
    // Some versions count a test with rows besides its rows.
    this.#totals.testCount++;
    if (hasFailed) this.#totals.failureCount++;
    if (hasRows || result.name === "") return;
    if (this.#results.length >= REPORT_LIMITS.resultCount) {
      const limit = REPORT_LIMITS.resultCount;
      throw limitError(this.#options.file, `more than ${limit} results in one upload`);
    }
    this.#results.push({
      ...result,
      texts: hasFailed
        ? new Map([...texts].map(([part, text]) => [part, detach(text.toString())]))
        : null,
    });
  }

  end(): void {
    if (this.#counters) {
      const { attributes: { total, failed, error, timeout, aborted }, position } = this.#counters;
      this.#totals.check({ tests: total, failures: [failed, error, timeout, aborted] }, position);
    }
    for (const { testId, name, outcome, seconds, texts } of this.#results) {
      const { className = "", assembly = "" } = this.#definitions.get(testId) ?? {};
      const isQualified = className !== "" && name.startsWith(`${className}.`);
      const test = this.#names.test({
        suite: assembly,
        class: className,
        name: isQualified ? name.slice(className.length + 1) : name,
        file: "",
      });
      const kind = OUTCOMES.get(outcome);
      const [message, text] = [texts?.get("Message"), texts?.get("StackTrace")];
      this.#sink.add(caseOf(test, FORMATS.trx, {
        seconds,
        conclusion: kind === undefined ? "unknown" : "passing",
        outcomes: kind === undefined || kind === "passing"
          ? []
          : [{ conclusion: kind, message, text }],
        output: texts?.get("StdOut") ?? "",
      }));
    }
  }

  get #position(): string {
    const { line, column } = this.#xml.elementPosition;
    return `${line}:${column}`;
  }

  #failureOutside(what: string): void {
    this.#options.onFailureOutside?.(`${this.#options.file}:${this.#position}: ${what}`);
  }

  #readSummary({ outcome = "Completed" }: XmlAttributes): void {
    if (RUN_OUTCOMES.has(outcome)) return;
    this.#failureOutside(`the run ended with the outcome ${excerpt(outcome)}`);
  }

  #openResult(attributes: XmlAttributes): void {
    const outer = this.#open.at(-1);
    if (outer) outer.hasRows = true;
    const { testId = "", testName = "", outcome = "", duration = "" } = attributes;
    refuseUndecodable(this.#xml, "UnitTestResult", attributes);
    this.#open.push({
      result: {
        testId: detach(testId),
        name: detach(testName),
        outcome: OUTCOMES.has(outcome) ? outcome : "",
        seconds: secondsOf(duration),
        texts: null,
      },
      texts: new Map(),
      hasRows: false,
    });
  }

  #define(attributes: XmlAttributes): void {
    refuseUndecodable(this.#xml, "TestMethod", attributes);
    const { className = "", codeBase = "" } = attributes;
    // Older adapters append version and culture of the assembly.
    const [plain = ""] = className.split(", ", 1);
    this.#definitions.set(this.#definedId, {
      className: detach(plain),
      assembly: detach(codeBase.replace(/^.*[\\/]/s, "")),
    });
  }
}

/** The seconds of `1.02:03:04.5`: days, hours, minutes, seconds; 0 if unreadable. */
function secondsOf(duration: string): number {
  const match = /^(?:(\d{1,9})\.)?(\d{1,9}):(\d{1,9}):(\d{1,9}(?:\.\d{1,9})?)$/.exec(duration);
  if (!match) return 0;
  const [, days = "0", hours, minutes, seconds] = match;
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
}
