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
  /^(?!.*\.\s).*[:：]$|\bsee (?:the )?(?:stack ?trace|details|output|log)|\(\d{1,9} (?:sub-exception|failure|error)s?\)$|(?:\bpanicked at \S+|, not|' failed(?: with status \d{1,9})?)$|\bassertion\b.{0,100}\bfailed(?:$|:)/i;
// Also `Assertion condition defined as a lambda expression`, which Awaitility tried until then.
const TIME = /\btimed? ?out\b|\btimeout\b|\bcondition defined as\b/i;
// What was compared, by its label, an inner exception of .NET, and the lines of a difference.
const LABELLED =
  /^[^\p{L}\d]{0,30}(?:expected|received|actual|but was|got|left|right|code|locator|where|collection|not found|string)\b[^:=<"'(]{0,40}[:=]|^-{3,}>? \w/iu;
const DIFFERENCE = /^[-+](?![-+]{2})\s*\S/;
const ERROR = /^(?:E[ \t]+)?[ \t]{0,20}(?:[\w$]{1,60}\.){0,20}[\w$]{0,60}(?:Error|Exception): ?\S/;
// Where a stack begins.
const FRAME =
  /^(?:(?:-> )?at |in |File "|".*" (?:daemon )?prio=|stack ?(?:back)?trace:|stack:|\S{1,500}:\d{1,7}:in\b|Caused by: )/i;
const ROOT = /^Caused by:(?:[ \t]+|[ \t]*\n[ \t]*(?:\d+: )?)(\S.*)/;
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
 * The lines of a failure that belong to its cause next to the message: what a heading announces, what was compared,
 * further errors, and the exception behind an exception. One heading stands over different faults.
 */
export function causeDetails(message: string, body: string): string[] {
  if (body === "" || body === message) return [];
  const at = body.indexOf(message);
  const hasMessage = at >= 0;
  const isAnnounced = isHeading(message.trimEnd());
  // Of a body without the message only what this announces: the rest may say the same in other words.
  const own = hasMessage
    ? linesBeforeStack(body.slice(at + message.length).replace(/^.*/, ""))
    : isAnnounced
    ? linesBeforeStack(body)
    : [];
  const announced = isAnnounced ? MAX_ANNOUNCED : TIME.test(message) ? MAX_AFTER_TIME : 0;
  const details = [
    ...own.slice(0, announced),
    ...comparedLines(own),
    ...hasMessage ? furtherErrors(message, body) : [],
    ...failedCode(message, body),
    ...exceptionBehind(body),
  ].map((line) => line.slice(0, MAX_CHARACTERS));
  return [...new Set(details)].filter((line) => !message.includes(line)).slice(0, MAX_DETAILS);
}

/** The lines of a text before a stack that say something, trimmed. */
function linesBeforeStack(text: string): string[] {
  const found: string[] = [];
  for (const line of text.split("\n", MAX_LINES)) {
    // What is longer is cut: any text comes here.
    const own = line.slice(0, MAX_CHARACTERS).replace(/^E {2,}/, "").trim();
    if (FRAME.test(own)) break;
    if (own !== "" && !isNoCause(own)) found.push(own);
  }
  return found;
}

/** What was compared, the lines of a difference, and what a heading among the lines announces. */
function comparedLines(own: readonly string[]): string[] {
  const signs = new Set(own.filter((line) => DIFFERENCE.test(line)).map((line) => line[0]));
  return own.filter((line, index) =>
    LABELLED.test(line) || signs.size === 2 && DIFFERENCE.test(line) ||
    index > 0 && isHeading(own[index - 1]!)
  );
}

/** The errors of a text other than that of the message. */
function furtherErrors(message: string, body: string): string[] {
  return body.split("\n")
    .filter((line) =>
      (line.includes("Error:") || line.includes("Exception:")) && ERROR.test(line) &&
      !line.includes(message)
    )
    .slice(0, MAX_ERRORS).map((line) => line.trim());
}

/** The code that failed, of a message that is the code of the test or says little. */
function failedCode(message: string, body: string): string[] {
  if (saysLittle(message)) return CODE_OF_RUBY.exec(body)?.slice(1) ?? [];
  if (!message.startsWith(">") && !body.includes(": in ")) return [];
  const codes = Array.from(body.matchAll(PYTHON_CODE), ([, code]) => code!);
  return codes.includes(message.replace(/^>\s+/, "")) ? codes.slice(-1) : [];
}

/** The last exception behind that of the message. */
function exceptionBehind(body: string): string[] {
  return ROOT.exec(body.slice(Math.max(0, body.lastIndexOf("Caused by:"))))?.slice(1) ?? [];
}

/** A message for people, with the first line that it announces. */
export function sayMessage({ message, body }: { message: string; body: string }): string {
  const [first] = isHeading(message.trimEnd()) ? causeDetails(message, body) : [];
  return first === undefined ? message : `${message} ${first}`;
}
