/** One `testcase` element of a report, and the results it stands for. */
import type { TestIdentity } from "../../base/identity.ts";
import { detach } from "../../base/text.ts";
import type { XmlAttributes } from "../xml/start_tag.ts";
import { BoundedText, firstMessage, TextEnd } from "./bounded_text.ts";
import {
  type Conclusion,
  isNegative,
  MORE_FAILURES,
  PLAIN_CASE,
  type Reported,
  type TestResult,
} from "../result.ts";
import type { ToolRow } from "./dialect.ts";

/** The meaning of an element inside a `testcase`. */
interface OutcomeKind {
  conclusion: "failure" | "error" | "skipped";
  /** False: how the test ended. True: an additional attempt. */
  isAttempt: boolean;
}

/** The elements inside a `testcase` that say how it, or one attempt of it, ended. */
export const OUTCOME_KINDS: ReadonlyMap<string, OutcomeKind> = new Map([
  ["failure", { conclusion: "failure", isAttempt: false }],
  ["error", { conclusion: "error", isAttempt: false }],
  ["skipped", { conclusion: "skipped", isAttempt: false }],
  ["flakyFailure", { conclusion: "failure", isAttempt: true }],
  ["flakyError", { conclusion: "error", isAttempt: true }],
  ["rerunFailure", { conclusion: "failure", isAttempt: true }],
  ["rerunError", { conclusion: "error", isAttempt: true }],
]);

/** One such element, while it is read. */
export class OutcomeElement {
  readonly kind: OutcomeKind;
  readonly durationMicroseconds: number;
  /** Text directly inside it. */
  readonly text = new BoundedText();
  /** Where surefire keeps the text of an attempt. */
  readonly stackTrace = new BoundedText();
  readonly #attribute: string;

  constructor(kind: OutcomeKind, attributes: XmlAttributes) {
    this.kind = kind;
    this.durationMicroseconds = parseDuration(attributes["time"]);
    this.#attribute = attributes["message"] ?? "";
  }

  /** The first line that says something, of its message or its text. */
  message(saysNothing: (line: string) => boolean): string {
    return firstMessage(this.#attribute, saysNothing) || this.stackTrace.message(saysNothing) ||
      this.text.message(saysNothing);
  }

  /** Its message, unless the text repeats it, and its text. */
  body(): BoundedText {
    const text = this.stackTrace;
    text.join(this.text, "\n\n");
    const message = new BoundedText();
    message.add(this.#attribute);
    if (text.includes(message)) return text;
    message.join(text, "\n");
    return message;
  }
}

type Attempt = Pick<
  TestResult,
  "conclusion" | "message" | "body" | "durationMicroseconds" | "otherMessages"
>;

// Messages of the failures of one test. The last stands for all others.
const MAX_MESSAGES = 100;

const BARE_CASE: Reported = { ...PLAIN_CASE, isBare: true };
// Lines are stored as 32-bit integers.
const MAX_LINE = 2 ** 31;

// The strongest first: what a test with several of them ended with.
const PRECEDENCE = ["error", "failure", "skipped"] as const;

/** One `testcase` element, while it is read. */
export class TestCase {
  #output: TextEnd | undefined;
  readonly #identity: TestIdentity;
  readonly #tool: ToolRow;
  readonly #attributes: XmlAttributes;
  readonly #durationMicroseconds: number;
  readonly #statusConclusion: Conclusion;
  // Nearly every test passed at once and has neither.
  #attempts: Attempt[] | undefined;
  // Several failures are one result, with the first message of its conclusion.
  #endings: Map<Conclusion, string> | undefined;
  #endingBody: BoundedText | undefined;
  /** The distinct messages of its failures, without one the first line of the text. */
  #messages: Set<string> | undefined;

  constructor(identity: TestIdentity, attributes: XmlAttributes, tool: ToolRow) {
    this.#identity = identity;
    this.#tool = tool;
    this.#attributes = attributes;
    this.#durationMicroseconds = parseDuration(attributes["time"]);
    this.#statusConclusion = conclusionOfStatus(attributes["status"], attributes["result"]);
  }

  /** Number of attempts in addition to the final result. */
  get attemptCount(): number {
    return this.#attempts?.length ?? 0;
  }

  /** How its first result stands in the report. */
  get reported(): Reported {
    const isBare = !this.#attempts && !this.#endings && this.#statusConclusion === "passing";
    if (!this.#tool.hasLines) return isBare ? BARE_CASE : PLAIN_CASE;
    const line = Number(this.#attributes["line"]);
    return { isNewCase: true, isBare, line: line > 0 && line < MAX_LINE ? Math.floor(line) : 0 };
  }

  /** Adds a part of its `system-out`. */
  addOutput(text: string): void {
    (this.#output ??= new TextEnd()).add(text);
  }

  /** Adds an element that was read to its end. */
  add(outcome: OutcomeElement): void {
    const { kind: { conclusion, isAttempt }, durationMicroseconds } = outcome;
    const message = detach(outcome.message((line) => this.#saysNothing(line)));
    if (isAttempt) {
      const body = detach(outcome.body().toString());
      (this.#attempts ??= []).push({
        conclusion,
        message: message || firstMessage(body, () => false),
        body,
        durationMicroseconds,
      });
    } else {
      this.#endings ??= new Map();
      this.#endings.set(conclusion, this.#endings.get(conclusion) || message);
      if (isNegative(conclusion)) {
        const body = outcome.body();
        this.#addMessage(message || detach(body.message(() => false)));
        const further = this.#tool.furtherMessages?.(body.toString()) ?? [];
        for (const line of further) this.#addMessage(detach(line));
        (this.#endingBody ??= new BoundedText()).join(body, "\n\n");
      }
    }
  }

  /**
   * The results in the order in which they happened: the ending is the first attempt of a test
   * that failed in spite of retries, and the last one of a test that passed after them.
   */
  results(): TestResult[] {
    const ending = this.#ending();
    if (!this.#attempts) return [this.#resultOf(ending)];
    const all = isNegative(ending.conclusion)
      ? [ending, ...this.#attempts]
      : [...this.#attempts, ending];
    return all.map((attempt) => this.#resultOf(attempt));
  }

  // Listing the members is faster than spreading the two objects.
  #resultOf(attempt: Attempt): TestResult {
    const { conclusion, message, body, durationMicroseconds, otherMessages } = attempt;
    const { suite, class: className, name, file } = this.#identity;
    const result: TestResult = {
      suite,
      class: className,
      name,
      file,
      conclusion,
      message,
      body,
      durationMicroseconds,
    };
    if (otherMessages) result.otherMessages = otherMessages;
    return result;
  }

  #addMessage(message: string): void {
    const messages = this.#messages ??= new Set();
    if (message !== "") messages.add(messages.size < MAX_MESSAGES ? message : MORE_FAILURES);
  }

  get #isNeverRun(): boolean {
    return !this.#attempts && !this.#endings && this.#statusConclusion === "passing" &&
      this.#tool.isNeverRun?.(this.#attributes) === true;
  }

  #saysNothing(line: string): boolean {
    return saysNothing(line, this.#identity) || this.#tool.isNoise?.(line) === true;
  }

  #ending(): Attempt {
    const durationMicroseconds = this.#durationMicroseconds;
    const endings = this.#endings;
    const conclusion = endings && PRECEDENCE.find((each) => endings.has(each));
    if (conclusion === "skipped") {
      return { conclusion, message: "", body: "", durationMicroseconds };
    }
    if (conclusion || isNegative(this.#statusConclusion)) {
      return this.#failure(conclusion ?? this.#statusConclusion);
    }
    // Attempts without a failure mean that the last one passed, whatever word the tool has for it.
    const isOpen = this.attemptCount > 0 && this.#statusConclusion === "unknown";
    return {
      conclusion: isOpen ? "passing" : this.#isNeverRun ? "skipped" : this.#statusConclusion,
      message: "",
      body: "",
      durationMicroseconds,
    };
  }

  #failure(conclusion: Conclusion): Attempt {
    const body = this.#endingBody?.toString() ?? "";
    const message = this.#endings?.get(conclusion) ||
      detach(this.#output?.message((line) => this.#saysNothing(line)) ?? "") ||
      firstMessage(body, () => false);
    const otherMessages = [...this.#messages ?? []].filter((each) => each !== message);
    return {
      ...otherMessages.length > 0 && { otherMessages },
      conclusion,
      message,
      body: body || detach(this.#output?.toString() ?? ""),
      durationMicroseconds: this.#durationMicroseconds,
    };
  }
}

// What some tools write in place of a message: that the test failed, or the bare name of an assertion's error.
const PLACEHOLDER =
  /^(?:(?:test )?failed[.!]?|test (?:failure|error)|(?:[\w$]+\.){0,20}assertion(?:failed)?error:?)$/i;
// What follows it in a stack trace, before or in place of a message.
const TRACE = /^(?:at\s|Traceback \(most recent call last\):$|File ".*", line \d)/;

/** Whether a line only says that the test failed, which one, or where. */
function saysNothing(line: string, { class: className, name }: TestIdentity): boolean {
  if (PLACEHOLDER.test(line) || TRACE.test(line)) return true;
  if (!line.endsWith(name)) return false;
  const before = line.slice(0, -name.length);
  return before === "" || before === "failed " ||
    before.startsWith(className) && /^[.:#]*$/.test(before.slice(className.length));
}

/**
 * Conclusions by the words in the `status` and `result` attributes of a `testcase`. They count only where
 * no child element says how the test ended; a word that is not here means `unknown`.
 */
const STATUS_WORDS: ReadonlyMap<string, Conclusion> = new Map(
  ([
    // googletest writes status="run" result="completed", others only one of the two.
    ["passing", ["run", "completed", "complete", "executed", "finished"]],
    ["passing", ["passed", "pass", "passing", "success", "successful", "succeeded", "ok"]],
    ["skipped", ["notrun", "disabled", "ignored", "skipped"]],
    ["failure", ["failure", "failed", "fail"]],
    ["error", ["error", "errored"]],
  ] as const).flatMap(([conclusion, words]) => words.map((word) => [word, conclusion] as const)),
);

// googletest's disabled tests have status="notrun" result="suppressed": a known word takes precedence over
// an unknown one, except that an unknown word with "run" leaves the outcome open.
const STATUS_PRECEDENCE = ["error", "failure", "skipped", "unknown", "passing"] as const;

/**
 * The conclusion of a test without a child element that decides it; `passing` when it has neither
 * attribute. Case, blanks, hyphens and underscores make no difference.
 */
export function conclusionOfStatus(
  status: string | undefined,
  result: string | undefined,
): Conclusion {
  // As in nearly every report.
  if (status === undefined && result === undefined) return "passing";
  const conclusions = [status, result]
    .map((word) => word?.toLowerCase().replace(/[\s_-]/g, ""))
    .filter((word) => word !== undefined && word !== "")
    .map((word) => STATUS_WORDS.get(word!) ?? "unknown");
  return STATUS_PRECEDENCE.find((conclusion) => conclusions.includes(conclusion)) ?? "passing";
}

// Groups of three digits, separated as any locale does it, before a decimal point. A leading zero is not
// a group.
const GROUPED = /^\+?[1-9]\d{0,2}(?:[,' \u00a0\u202f]\d{3})+(?:\.\d*)?(?:e[+-]?\d+)?$/i;
const SEPARATORS = /[,' \u00a0\u202f]/g;
// Before a decimal comma. "1,234" is read as groups: surefire writes it for 1,234 s.
const DECIMAL_COMMA = /^\+?(?:\d*|[1-9]\d{0,2}(?:[.' \u00a0\u202f]\d{3})+),\d+(?:e[+-]?\d+)?$/i;
const SEPARATORS_BEFORE_COMMA = /[.' \u00a0\u202f]/g;
// Hexadecimal, octal and binary numbers of JavaScript.
const OTHER_BASE = /[xob]/i;

/** Whole microseconds of a `time` in seconds: 0 when it is missing, unreadable or negative. */
export function parseDuration(time: string | undefined): number {
  if (time === undefined) return 0;
  let seconds = Number(time);
  if (Number.isNaN(seconds)) {
    const text = time.trim();
    if (GROUPED.test(text)) seconds = Number(text.replace(SEPARATORS, ""));
    else if (DECIMAL_COMMA.test(text)) {
      seconds = Number(text.replace(SEPARATORS_BEFORE_COMMA, "").replace(",", "."));
    }
  }
  if (!(seconds > 0 && seconds < Infinity) || OTHER_BASE.test(time)) return 0;
  return Math.min(Math.round(seconds * 1e6), Number.MAX_SAFE_INTEGER);
}
