// Tests: tests/lib/report/junit/case_attributes_test.ts
/** One case of a report, and the results it stands for. */
import type { TestIdentity } from "../base/identity.ts";
import { detach } from "../base/text.ts";
import { BoundedText, firstMessage, TextEnd } from "./bounded_text.ts";
import { isNoCause, isTitle } from "./says_nothing.ts";
import {
  type Conclusion,
  isNegative,
  MORE_FAILURES,
  PLAIN_CASE,
  type Reported,
  type TestResult,
} from "./result.ts";

/** How an attempt of a test ended. */
export interface OutcomeKind {
  conclusion: Exclude<Conclusion, "passing">;
  /** False: how the test ended. True: an additional attempt. */
  isAttempt: boolean;
}

/** What a tool writes in its failures. */
export interface FailureRules {
  /** Whether a line of a failure's text says nothing about its cause. */
  isNoise?(line: string): boolean;
  /** The messages in a failure's text other than its first, where the tool writes several failures as one. */
  furtherMessages?(text: string): string[];
  /** Whether a line is the message, whatever was written before it. */
  isAssertion?(line: string): boolean;
}

/** What a report says about a case besides its outcomes. */
export interface CaseFacts {
  durationMicroseconds: number;
  /** How it ended where no outcome says so. */
  conclusion: Conclusion;
  /** Whether it was skipped where no outcome says how it ended. */
  isNeverRun?: boolean;
  /** Differs between cases of one name that the report distinguishes; otherwise 0. */
  variant?: number;
  /** Which element of a suite in its report it is in, from 0. */
  suiteNo?: number;
  /** Whether the report says that it is a retry. */
  isRetry?: boolean;
  /** Whether a failure of the case is its last attempt, and not the first. */
  endsLast?: boolean;
}

/** Whole microseconds of a duration in seconds; 0 if it is negative or no finite number. */
export function microsecondsOf(seconds: number): number {
  if (!(seconds > 0 && seconds < Infinity)) return 0;
  return Math.min(Math.round(seconds * 1e6), Number.MAX_SAFE_INTEGER);
}

/** How a test, or an attempt of it, ended, while its texts are read. */
export class CaseOutcome {
  readonly kind: OutcomeKind;
  readonly durationMicroseconds: number;
  /** Text directly inside it. */
  readonly text = new BoundedText();
  /** Where surefire keeps the text of an attempt. */
  readonly stackTrace = new BoundedText();
  readonly #message: string;

  constructor(
    kind: OutcomeKind,
    { message = "", durationMicroseconds = 0 }: { message?: string; durationMicroseconds?: number },
  ) {
    this.kind = kind;
    this.durationMicroseconds = durationMicroseconds;
    this.#message = message;
  }

  /** The first line that says something, of its message or its text. */
  message(saysNothing: (line: string) => boolean): string {
    return firstMessage(this.#message, saysNothing) || this.stackTrace.message(saysNothing) ||
      this.text.message(saysNothing);
  }

  /** Its message, unless the text repeats it, and its text. */
  body(): BoundedText {
    const text = this.stackTrace;
    text.join(this.text, "\n\n");
    const message = new BoundedText();
    message.add(this.#message);
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

// The strongest first: what a test with several of them ended with.
const PRECEDENCE = ["error", "failure", "skipped", "unknown"] as const;

/** One case, while it is read. */
export class TestCase {
  #output: TextEnd | undefined;
  readonly #identity: TestIdentity;
  readonly #facts: CaseFacts;
  readonly #rules: FailureRules;
  // Nearly every test passed at once and has neither.
  #attempts: Attempt[] | undefined;
  // Several failures are one result, with the first message of its conclusion.
  #endings: Map<Conclusion, string> | undefined;
  #endingBody: BoundedText | undefined;
  /** The distinct messages of its failures, without one the first line of the text. */
  #messages: Set<string> | undefined;

  constructor(identity: TestIdentity, facts: CaseFacts, rules: FailureRules) {
    this.#identity = identity;
    this.#facts = facts;
    this.#rules = rules;
  }

  /** Number of attempts in addition to the final result. */
  get attemptCount(): number {
    return this.#attempts?.length ?? 0;
  }

  /** How its first result stands in the report. */
  get reported(): Reported {
    const { conclusion, variant = 0, suiteNo = 0, isRetry = false } = this.#facts;
    const isBare = !this.#attempts && !this.#endings && conclusion === "passing";
    if (variant === 0 && suiteNo === 0 && !isRetry) return isBare ? BARE_CASE : PLAIN_CASE;
    return { isNewCase: true, isBare, isRetry, variant, suiteNo };
  }

  addOutput(text: string): void {
    (this.#output ??= new TextEnd()).add(text);
  }

  /** Adds an outcome that was read to its end. */
  add(outcome: CaseOutcome): void {
    const { kind: { conclusion, isAttempt }, durationMicroseconds } = outcome;
    const { isAssertion } = this.#rules;
    const message = detach(
      isAssertion && outcome.message((line) => !isAssertion(line)) ||
        outcome.message((line) => this.#saysNothing(line)),
    );
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
        const further = this.#rules.furtherMessages?.(body.toString()) ?? [];
        for (const line of further) this.#addMessage(detach(line));
        (this.#endingBody ??= new BoundedText()).join(body, "\n\n");
      }
    }
  }

  /**
   * The results in the order in which they happened: the ending is the last attempt of a test that passed after
   * others, and the first one of a test that failed in spite of retries, unless the tool says otherwise.
   */
  results(): TestResult[] {
    const ending = this.#ending();
    if (!this.#attempts) return [this.#resultOf(ending)];
    const all = isNegative(ending.conclusion) && !this.#facts.endsLast
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
    return !this.#attempts && !this.#endings && this.#facts.isNeverRun === true;
  }

  #saysNothing(line: string): boolean {
    return saysNothing(line, this.#identity) || this.#rules.isNoise?.(line) === true;
  }

  #ending(): Attempt {
    const { durationMicroseconds, conclusion: byStatus } = this.#facts;
    const endings = this.#endings;
    const conclusion = endings && PRECEDENCE.find((each) => endings.has(each));
    if (conclusion === "skipped") {
      return { conclusion, message: "", body: "", durationMicroseconds };
    }
    const negative = conclusion && isNegative(conclusion) ? conclusion : byStatus;
    if (isNegative(negative)) return this.#failure(negative);
    // Attempts without a failure mean that the last one passed, whatever word the tool has for it.
    const isOpen = this.attemptCount > 0 && byStatus === "unknown";
    const atLast = isOpen ? "passing" : this.#isNeverRun ? "skipped" : byStatus;
    return {
      conclusion: atLast === "passing" && conclusion ? conclusion : atLast,
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
      durationMicroseconds: this.#facts.durationMicroseconds,
    };
  }
}

/** Whether a line only says that the test failed, which one, or where. */
function saysNothing(line: string, { class: className, name }: TestIdentity): boolean {
  return isNoCause(line) || isTitle(line, className, name);
}
