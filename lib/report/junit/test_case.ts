/** One `testcase` element of a report, and the results that it stands for. */
import type { TestIdentity } from "../../base/identity.ts";
import { detach } from "../xml/characters.ts";
import { parseDuration } from "./duration.ts";
import { FirstLine, firstLine } from "./message.ts";
import type { Conclusion, TestResult } from "../result.ts";
import { conclusionOfStatus } from "./status.ts";

/** Attributes of an XML element by name. */
export type Attributes = Readonly<Record<string, string | undefined>>;

/** What an element inside a `testcase` tells about it. */
export interface OutcomeKind {
  conclusion: "failure" | "error" | "skipped";
  /** False: how the test ended. True: one more attempt, besides the one that the test ended with. */
  isAttempt: boolean;
}

/** The elements inside a `testcase` that tell how it, or one attempt of it, ended. */
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
export class Outcome {
  readonly kind: OutcomeKind;
  /** Text directly inside it. */
  readonly text = new FirstLine();
  /** Text of its `stackTrace`, where retries keep what others write as text. */
  readonly stackTrace = new FirstLine();
  readonly durationMicroseconds: number;
  readonly #attributeLine: string;

  constructor(kind: OutcomeKind, attributes: Attributes) {
    this.kind = kind;
    this.durationMicroseconds = parseDuration(attributes["time"]);
    this.#attributeLine = firstLine(attributes["message"] ?? "");
  }

  get message(): string {
    return this.#attributeLine || this.stackTrace.line || this.text.line;
  }
}

interface Ending {
  conclusion: Conclusion;
  message: string;
  durationMicroseconds: number;
}

// The strongest first: what a test with several of them ended with.
const STRENGTH = ["error", "failure", "skipped"] as const;

/** The result of a `testcase` element that has nothing inside. */
export function resultOfEmpty(
  { suite, class: className, name, file }: TestIdentity,
  attributes: Attributes,
): TestResult {
  return {
    suite,
    class: className,
    name,
    file,
    conclusion: conclusionOfStatus(attributes["status"], attributes["result"]),
    message: "",
    durationMicroseconds: parseDuration(attributes["time"]),
  };
}

/** One `testcase` element, while it is read. */
export class TestCase {
  readonly #identity: TestIdentity;
  readonly #durationMicroseconds: number;
  readonly #statusConclusion: Conclusion;
  // Nearly every test passed at once and has neither.
  #attempts: Ending[] | undefined;
  // One message for each conclusion is enough: several failures are one result.
  #endings: Map<Conclusion, string> | undefined;

  constructor(
    identity: TestIdentity,
    attributes: Attributes,
  ) {
    this.#identity = identity;
    this.#durationMicroseconds = parseDuration(attributes["time"]);
    this.#statusConclusion = conclusionOfStatus(attributes["status"], attributes["result"]);
  }

  /** How many attempts there are besides the one that the test ended with. */
  get attemptCount(): number {
    return this.#attempts?.length ?? 0;
  }

  /** Takes an element that was read to its end. */
  add(outcome: Outcome): void {
    const { kind: { conclusion, isAttempt }, durationMicroseconds } = outcome;
    const message = detach(outcome.message);
    if (isAttempt) {
      (this.#attempts ??= []).push({ conclusion, message, durationMicroseconds });
    } else {
      this.#endings ??= new Map();
      this.#endings.set(conclusion, this.#endings.get(conclusion) || message);
    }
  }

  /**
   * The results in the order in which they happened. A test that ended badly was tried again in
   * vain, so that its ending is the first; one that ended well did so after its other attempts.
   */
  results(): TestResult[] {
    const ending = this.#ending();
    const { suite, class: className, name, file } = this.#identity;
    // Faster than copying what is in the two.
    const resultOf = ({ conclusion, durationMicroseconds, message }: Ending): TestResult => ({
      suite,
      class: className,
      name,
      file,
      conclusion,
      message,
      durationMicroseconds,
    });
    if (!this.#attempts) return [resultOf(ending)];
    const endings = ending.conclusion === "failure" || ending.conclusion === "error"
      ? [ending, ...this.#attempts]
      : [...this.#attempts, ending];
    return endings.map(resultOf);
  }

  // The testcase's time is that of the pass after retries, or of the first attempt of a failed
  // test: that of its ending in both cases.
  #ending(): Ending {
    const durationMicroseconds = this.#durationMicroseconds;
    const endings = this.#endings;
    const conclusion = endings && STRENGTH.find((each) => endings.has(each));
    if (conclusion) {
      const message = conclusion === "skipped" ? "" : endings.get(conclusion) ?? "";
      return { conclusion, message, durationMicroseconds };
    }
    // Retries that are not accompanied by a failure tell that the last one passed, whatever word
    // the tool has for that.
    const isOpen = this.attemptCount > 0 && this.#statusConclusion === "unknown";
    return {
      conclusion: isOpen ? "passing" : this.#statusConclusion,
      message: "",
      durationMicroseconds,
    };
  }
}
