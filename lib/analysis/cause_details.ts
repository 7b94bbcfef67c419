import { isNoCause } from "../report/says_nothing.ts";

/** Lines after a message that are looked at: a comparison of long values has its labels in them. */
const MAX_LINES = 24;
/** Lines that belong to a heading, which announces them. */
const MAX_ANNOUNCED = 4;
const MAX_DETAILS = 8;
const MAX_CHARACTERS = 300;

// `Not equal:`, but not a sentence that says what happened before one; `see stacktrace for details`,
// `errors (1 sub-exception)`, `Assertion with == failed`.
const HEADING =
  /^(?!.*[.!?]\s).*[:：]$|\bsee (?:the )?(?:stack ?trace|details|output|log)|\(\d{1,9} (?:sub-exception|failure|error)s?\)$|\bassertion\b.{0,100}\bfailed$|\bpanicked at \S+$/i;
// What was compared, by its label, and the lines of a difference.
const LABELLED =
  /^[^\p{L}\d]{0,30}(?:expected|received|actual|but was|got|want(?:ed)?|left|right|code|reason|locator|where)\b[^:=]{0,20}[:=]/iu;
const DIFFERENCE = /^[-+](?![-+]{2}) *\S/;
// Where a stack begins.
const FRAME =
  /^(?:(?:-> )?at |in |File "|stack ?trace:|stack:|\S{1,500}:\d{1,7}:in\b|Caused by: )/i;
const ROOT = /^[ \t]{0,20}Caused by: (.+)$/gm;
// Code in a trace of Python: of the test, which called it, and at last of what failed.
const PYTHON_CODE = /^(?:>|\S{1,500}:\d{1,7}: in \S{1,500}\n)[ \t]{1,40}(\S.*)$/gm;

/**
 * The lines of a failure that belong to its cause beside the message: what a heading announces, what was compared,
 * and the exception behind an exception. One heading stands over different faults.
 */
export function causeDetails(message: string, body: string): string[] {
  if (body === "" || body === message) return [];
  const at = body.indexOf(message);
  const rest = at < 0 ? body : body.slice(at + message.length);
  // The message may be the beginning of a line.
  const lines = rest.split("\n", MAX_LINES).slice(at < 0 ? 0 : 1).map((line) =>
    line.replace(/^E {2,}/, "").trim()
  );
  const end = lines.findIndex((line) => FRAME.test(line));
  const own = (end < 0 ? lines : lines.slice(0, end)).filter((line) => line !== "");
  const announced = HEADING.test(message.trimEnd())
    ? own.filter((line) => !isNoCause(line)).slice(0, MAX_ANNOUNCED)
    : [];
  const isDifference = own.some((line) => /^-/.test(line) && DIFFERENCE.test(line)) &&
    own.some((line) => /^\+/.test(line) && DIFFERENCE.test(line));
  const compared = own.filter((line) =>
    LABELLED.test(line) || isDifference && DIFFERENCE.test(line)
  );
  const root = body.includes("Caused by: ") ? [...body.matchAll(ROOT)].at(-1)?.[1] : undefined;
  const isCode = message.startsWith(">") || body.includes(": in ");
  const codes = isCode ? Array.from(body.matchAll(PYTHON_CODE), ([, code]) => code!) : [];
  const code = codes.includes(message.replace(/^>\s+/, "")) ? codes.slice(-1) : [];
  const details = new Set([
    ...announced,
    ...compared,
    ...code,
    ...root === undefined ? [] : [root],
  ]);
  return [...details].filter((line) => !message.includes(line)).slice(0, MAX_DETAILS)
    .map((line) => line.slice(0, MAX_CHARACTERS));
}
