/** What the attributes and elements of a `testcase` mean: how it ended, and how long it took. */
import type { Conclusion } from "../result.ts";
import { addressesIn } from "../normalize_names.ts";
import { variantOf } from "../variant.ts";
import { type CaseFacts, microsecondsOf, type OutcomeKind } from "../test_case.ts";
import type { XmlAttributes } from "../xml/start_tag.ts";
import type { ToolRow } from "./dialect.ts";

const OUTCOME_KINDS: ReadonlyMap<string, OutcomeKind> = new Map([
  ["failure", { conclusion: "failure", isAttempt: false }],
  ["error", { conclusion: "error", isAttempt: false }],
  ["skipped", { conclusion: "skipped", isAttempt: false }],
  ["flakyFailure", { conclusion: "failure", isAttempt: true }],
  ["flakyError", { conclusion: "error", isAttempt: true }],
  ["rerunFailure", { conclusion: "failure", isAttempt: true }],
  ["rerunError", { conclusion: "error", isAttempt: true }],
]);

/** Elements of a `testcase` that describe it, or hold what it wrote. */
const OTHER_ELEMENTS: ReadonlySet<string> = new Set([
  ...["properties", "property", "metadata", "description", "parameters", "arguments"],
  ...["categories", "traits", "tags", "labels", "links"],
  ...["system-out", "system-err", "output", "stdout", "stderr", "log", "logs"],
  ...["attachments", "attachment", "screenshots", "screenshot"],
]);

/**
 * How a `testcase` with this element, or an attempt of it, ended: `unknown` for an element that is not
 * known, such as `warning` or `timeout`; `null` if the element says nothing about it.
 */
export function outcomeKindOf(element: string): OutcomeKind | null {
  const kind = OUTCOME_KINDS.get(element);
  if (kind || OTHER_ELEMENTS.has(element)) return kind ?? null;
  const conclusion = conclusionOfWord(element);
  return conclusion === "passing" ? null : { conclusion, isAttempt: false };
}

// Attributes that distinguish tests of one name.
const VARIANT_ATTRIBUTES = ["line", "id", "group", "device", "project", "browser"];
// The id of a suite is its place in the report; its host may be a project or a device.
const SUITE_VARIANT_ATTRIBUTES = ["group", "device", "project", "browser", "hostname"];
// By which tools say that a case is a retry, with how many there were before, or with its own number.
const RETRY_ATTRIBUTES = ["retry", "rerun", "retries", "reruns", "retryCount", "retry_count"];
const ATTEMPT_ATTRIBUTES = ["attempt", "attemptNumber", "attempt_number"];

/**
 * What the attributes of a `testcase` say about it.
 *
 * @param options.suiteVariant of {@linkcode variantOfSuite}, for the suite around it
 * @param options.hasFineTimes whether the report has a time of more than three decimals
 */
export function factsOf(
  attributes: XmlAttributes,
  tool: ToolRow,
  { suiteNo, suiteVariant, hasFineTimes }: {
    suiteNo: number;
    suiteVariant: number;
    hasFineTimes: boolean;
  },
): CaseFacts {
  const conclusion = conclusionOfStatus(attributes["status"], attributes["result"]);
  const { name, classname } = attributes;
  const ofNames = variantOf(addressesIn(name, classname), suiteVariant);
  return {
    durationMicroseconds: parseDuration(attributes["time"]),
    conclusion,
    suiteNo,
    isNeverRun: conclusion === "passing" && hasFineTimes &&
      tool.isNeverRun?.(attributes) === true,
    ...hasRareAttribute(attributes)
      ? {
        variant: variantOf(VARIANT_ATTRIBUTES.map((name) => attributes[name]), ofNames),
        isRetry: saysRetry(attributes),
      }
      : { variant: ofNames, isRetry: false },
  };
}

const RARE_ATTRIBUTES: ReadonlySet<string> = new Set(
  [...VARIANT_ATTRIBUTES, ...RETRY_ATTRIBUTES, ...ATTEMPT_ATTRIBUTES],
);

/** Nearly no case has one, and fifteen look-ups in each take longer than this. */
function hasRareAttribute(attributes: XmlAttributes): boolean {
  for (const name in attributes) if (RARE_ATTRIBUTES.has(name)) return true;
  return false;
}

/** A number for what distinguishes tests in the attributes of a suite; 0 without anything. */
export function variantOfSuite(attributes: XmlAttributes): number {
  const texts = SUITE_VARIANT_ATTRIBUTES.map((name) => attributes[name]);
  return variantOf([...texts, ...addressesIn(attributes["name"])]);
}

function saysRetry(attributes: XmlAttributes): boolean {
  return RETRY_ATTRIBUTES.some((name) => isCount(attributes[name], 1)) ||
    ATTEMPT_ATTRIBUTES.some((name) => isCount(attributes[name], 2));
}

function isCount(text: string | undefined, least: number): boolean {
  return text !== undefined && (text === "true" || Number(text) >= least);
}

/**
 * Conclusions by the words in the `status` and `result` attributes of a `testcase`, which count only where
 * no child element says how the test ended, and in the names of such elements. A word that is not here means
 * `unknown`.
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
    .filter((word) => word !== undefined && /[^\s_-]/.test(word))
    .map((word) => conclusionOfWord(word!));
  return STATUS_PRECEDENCE.find((conclusion) => conclusions.includes(conclusion)) ?? "passing";
}

function conclusionOfWord(word: string): Conclusion {
  return STATUS_WORDS.get(word.toLowerCase().replace(/[\s_-]/g, "")) ?? "unknown";
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
