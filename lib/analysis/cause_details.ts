import { isNoCause } from "../report/says_nothing.ts";

/** Lines after a message that are looked at: a comparison of long values has its labels in them. */
const MAX_LINES = 40;
/** Lines that belong to a heading, which announces them; of a time-out, whose log differs from run to run. */
const MAX_ANNOUNCED = 4;
const MAX_AFTER_TIME = 2;
const MAX_ERRORS = 4;
const MAX_DETAILS = 10;
const MAX_CHARACTERS = 300;

// `Not equal:`, but not after a sentence that says what happened; `see stacktrace for details`,
// `errors (1 sub-exception)`, `Assertion with == failed`.
const HEADING =
  /^(?!.*\.\s).*[:：]$|\bsee (?:the )?(?:stack ?trace|details|output|log)|\(\d{1,9} (?:sub-exception|failure|error)s?\)$|(?:\bpanicked at \S+|\belements differ|, not|' failed(?: with status \d{1,9})?)$|\bassertion\b.{0,100}\bfailed(?:$|:)/i;
// `Block failed after 5s`, `Assertion condition defined as a lambda expression`.
const TIME = /\btimed? ?out\b|\btimeout\b|\b(?:after|within) \d|\bcondition defined as\b/i;
// What was compared, by its label, what was waited for and requested, and the lines of a difference.
const LABELLED =
  /^[^\p{L}\d]{0,30}(?:(?:expected|received|actual|but was|got|want(?:ed)?|left|right|code|reason|locator|where|panic value|in chain|collection|not found|string)\b[^:=<"'(]{0,40}[:=]|to contain\b)|^(?:- )?[→←] |^-{3,}>? \w/iu;
const WAITING = /\bwaiting for \S/;
const DIFFERENCE = /^[-+](?![-+]{2})\s*\S/;
const ERROR =
  /^(?:E[ \t]+)?[ \t]{0,20}(?:[\w$]{1,60}\.){0,20}[\w$]{0,60}(?:Error|Exception): ?\S.*$/gm;
// Where a stack begins.
const FRAME =
  /^(?:(?:-> )?at |in |File "|".*" (?:daemon )?prio=|stack ?(?:back)?trace:|stack:|\S{1,500}:\d{1,7}:in\b|Caused by: )/i;
// A line of the code that failed, and what points to a place in it.
const SOURCE_LINE = /^>?\s*\d{1,7} ?\||^\|?\s*\^+$/;
const ROOT = /^[ \t]{0,20}Caused by:(?:[ \t]+|[ \t]*\n[ \t]*(?:\d+: )?)(\S.*)$/gm;
const CODE_OF_RUBY = /^[ \t]*Failure\/Error: (.+)$/m;
// Code in a trace of Python: of the test, which called it, and at last of what failed.
const PYTHON_CODE = /^(?:>|\S{1,500}:\d{1,7}: in \S{1,500}\n)[ \t]{1,40}(\S.*)$/gm;

// Words of an assertion, and the values of which many tests have some.
const LITTLE =
  /\b(?:assert(?:ion)?|expect(?:ed|ing)?|actual|value|should|to|be|but|was|is|not|equals?|got|received|true|false|null|none|nil|undefined)\b|[\d\W_]/gi;

/** Whether a message is one that many tests have, as `expected: <1> but was: <2>`. */
export function saysLittle(line: string): boolean {
  return line.length <= 100 && line.replace(LITTLE, "") === "";
}

/** Whether a line announces what follows: it ends with a colon or the like, or only says "Expected". */
function isHeading(line: string): boolean {
  return HEADING.test(line) || /^[A-Za-z ]+$/.test(line) && saysLittle(line);
}

/**
 * The lines of a failure that belong to its cause next to the message: what a heading announces, what was compared
 * or waited for, further errors, and the exception behind an exception. One heading stands over different faults.
 */
export function causeDetails(message: string, body: string): string[] {
  if (body === "" || body === message) return [];
  const at = body.indexOf(message);
  const isAnnounced = isHeading(message.trimEnd());
  const rest = at < 0 ? body : body.slice(at + message.length);
  // The message may be the beginning of a line.
  const lines = rest.split("\n", MAX_LINES).slice(at < 0 ? 0 : 1).map((line) =>
    line.replace(/^E {2,}/, "").trim()
  );
  const end = lines.findIndex((line) => FRAME.test(line));
  // Of a body without the message only what this announces: the rest may say the same in other words.
  const own = at < 0 && !isAnnounced ? [] : (end < 0 ? lines : lines.slice(0, end))
    .filter((line) => line !== "" && !SOURCE_LINE.test(line) && !isNoCause(line));
  const announced = isAnnounced
    ? own.slice(0, MAX_ANNOUNCED)
    : TIME.test(message)
    ? own.slice(0, MAX_AFTER_TIME)
    : [];
  const isDifference = own.some((line) => /^-/.test(line) && DIFFERENCE.test(line)) &&
    own.some((line) => /^\+/.test(line) && DIFFERENCE.test(line));
  const compared = own.filter((line, index) =>
    LABELLED.test(line) || isDifference && DIFFERENCE.test(line) ||
    index > 0 && isHeading(own[index - 1]!)
  );
  const waiting = own.filter((line) => WAITING.test(line)).slice(0, 1);
  const errors = at < 0 ? [] : Array.from(body.matchAll(ERROR), ([line]) => line.trim())
    .filter((line) => !line.includes(message)).slice(0, MAX_ERRORS);
  const root = body.includes("Caused by:") ? [...body.matchAll(ROOT)].at(-1)?.[1] : undefined;
  const isCode = message.startsWith(">") || body.includes(": in ");
  const codes = isCode ? Array.from(body.matchAll(PYTHON_CODE), ([, code]) => code!) : [];
  const shown = saysLittle(message) ? CODE_OF_RUBY.exec(body)?.[1] : undefined;
  const code = codes.includes(message.replace(/^>\s+/, "")) ? codes.slice(-1) : [];
  const details = new Set([
    ...announced,
    ...compared,
    ...waiting,
    ...errors,
    ...code,
    ...[shown, root].filter((line) => line !== undefined),
  ]);
  return [...details].filter((line) => !message.includes(line)).slice(0, MAX_DETAILS)
    .map((line) => line.slice(0, MAX_CHARACTERS));
}

/** A message for people, with the first line that it announces. */
export function sayMessage({ message, body }: { message: string; body: string }): string {
  const [first] = isHeading(message.trimEnd()) ? causeDetails(message, body) : [];
  return first === undefined ? message : `${message} ${first}`;
}
