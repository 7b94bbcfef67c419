/** What the attributes and elements of a `testcase` mean: how it ended, and how long it took. */
import type { Conclusion } from "../result.ts";
import { type CaseFacts, microsecondsOf, type OutcomeKind } from "../test_case.ts";
import type { XmlAttributes } from "../xml/start_tag.ts";
import type { ToolRow } from "./dialect.ts";

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

// Lines are stored as 32-bit integers.
const MAX_LINE = 2 ** 31;

/** What the attributes of a `testcase` say about it. */
export function factsOf(attributes: XmlAttributes, tool: ToolRow): CaseFacts {
  const conclusion = conclusionOfStatus(attributes["status"], attributes["result"]);
  const line = tool.hasLines ? Number(attributes["line"]) : 0;
  return {
    durationMicroseconds: parseDuration(attributes["time"]),
    conclusion,
    isNeverRun: conclusion === "passing" && tool.isNeverRun?.(attributes) === true,
    line: line > 0 && line < MAX_LINE ? Math.floor(line) : 0,
  };
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
  if (OTHER_BASE.test(time)) return 0;
  return microsecondsOf(seconds);
}
