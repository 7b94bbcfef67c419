/** Lines of a failure that only say that a test failed, or where: they are no cause. */

// What some tools write in place of a message.
const PLACEHOLDER = new RegExp(
  "^(?:" + [
    /(?:the )?(?:(?:test|case|test case|assertion|expectation)s? )?(?:has )?fail(?:ed|ure)?[.!:]?/,
    /test error|\d+ (?:assertion|expectation|test)(?:\(s\)|s)? failed[.!]?/,
    /(?:[\w$]+\.){0,20}assertion(?:failed)?error:?/,
    /null|undefined|none|nil|\{\}|\[\]|""|''/,
  ].map(({ source }) => source).join("|") + ")$",
  "i",
);
// Lines of Go's tests.
const OF_GO =
  /^(?:(?:=== (?:RUN|PAUSE|CONT|NAME|FAIL)|--- (?:FAIL|PASS|SKIP))\b|FAIL\s+\S+ \[(?:build|setup) failed\])/;
// The bare class of an exception: `java.lang.IllegalStateException`, `RSpec::...::NotMetError`.
const EXCEPTION =
  /^(?:[\w$]{1,100}(?:\.|::|\\)){0,20}[\w$]{0,100}(?:Error|Exception|Failure|Fault):?$/;
// What follows it in a stack trace, before or in place of a message.
const TRACE =
  /^(?:at\s|Traceback \(most recent call last\):$|File ".*", line \d|\S{1,500}:\d{1,7}:(?:in\b| in \S+$)|\[gw\d+\] |(?:async )?def \w+\(.*\).*:$|[-#]\s+(?:file|line|at)\b(?:\s*:|.* line \d))/;

// A place in a file of source code, not a port of a host.
const PLACE = "(?:[^\\s:]{1,500}\\.(?:[cm]?[jt]sx?|py|rb|go|rs|java|kts?|scala|groovy|cs|fs|vb|" +
  "cpp|cc|cxx|c|h|hpp|mm?|swift|php|exs?|erl|clj[cs]?|dart|lua|pl|t|hs|ml|sh|bats|feature|robot|ps1|r|jl|" +
  "vue|svelte):\\d{1,7}(?::\\d{1,7})?)";
const AT_START = new RegExp(`^(?:(?:at|in) )?${PLACE}(?::\\s*|$)`, "i");
const AT_END = new RegExp(
  `\\s(?:(?:at|in|on) |\\()?(?:${PLACE}|(?<=(?:at|in|on) )line \\d{1,7})\\)?[.:]?$`,
  "i",
);

// The way to a test from its place: `1) [chromium] › cart.spec.js:8:3 › cart › pays by card › step`.
const WAY = new RegExp(`^(?:\\d{1,9}\\) )?(?:\\[[^\\]]{1,200}\\] [›>] )?${PLACE} [›>] `, "i");

/** Whether a line says nothing about the cause of a failure, of whatever test. */
export function isNoCause(line: string): boolean {
  // Nearly every line has no digit there.
  const text = /:\d|line \d/i.test(line) ? line.replace(AT_START, "").replace(AT_END, "") : line;
  return text === "" || PLACEHOLDER.test(text) || OF_GO.test(line) || EXCEPTION.test(text) ||
    TRACE.test(line) || WAY.test(line);
}

const PLACE_BEFORE = /^\S{1,500}:\d{1,7}(?::\d{1,7})?:?\s+(?:[›>-]\s+)?/;
const RULE_AFTER = /[\s─━=-]{3,}$/;
// That the test failed, before or after its title.
const FAILED_BEFORE =
  /^(?:not ok \d{1,9}(?: -)? |#\s{1,9}Failed test '|(?:(?:the )?test(?: case)? )?fail(?:ed|ure)?:? |[✕✖✗×] )/i;
const FAILED_AFTER = /(?:'| (?:has )?failed[.!]?|:\d{1,7}| \(\d{1,9}(?:\.\d{1,9})? ?m?s\))$/i;

// The project in a name.
const PROJECT = /^\[[^\]]{1,200}\] (?=.)/;

/** Whether a line is the title of a test, with or without its project, its place and that it failed. */
export function isTitle(line: string, className: string, name: string): boolean {
  const plain = name.replace(PROJECT, "");
  return isTitleOf(line, className, name) || plain !== name && isTitleOf(line, className, plain);
}

function isTitleOf(line: string, className: string, name: string): boolean {
  const place = line.replace(PLACE_BEFORE, "").replace(RULE_AFTER, "");
  // The title may leave out the suites in the name.
  if (place !== line && place !== "" && ` ${name}`.endsWith(` ${place}`)) return true;
  const shortened = place.replace(FAILED_BEFORE, "");
  return [place, shortened, shortened.replace(FAILED_AFTER, "")].some((title) => {
    if (!title.endsWith(name)) return false;
    const before = title.slice(0, -name.length);
    return before === "" || title !== line && /[›>]\s*$/.test(before) ||
      before.startsWith(className) && /^[\s.:#>›-]*$/.test(before.slice(className.length));
  });
}
