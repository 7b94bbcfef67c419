/** Lines of a failure that only say that a test failed, or where: they are no cause. */

// What some tools write in place of a message.
const PLACEHOLDER =
  /^(?:(?:test )?failed[.!]?|test (?:failure|error)|\d+ assertion(?:\(s\)|s)? failed[.!]?|(?:[\w$]+\.){0,20}assertion(?:failed)?error:?)$/i;
// Lines of Go's tests.
const OF_GO =
  /^(?:(?:=== (?:RUN|PAUSE|CONT|NAME|FAIL)|--- (?:FAIL|PASS|SKIP))\b|FAIL\s+\S+ \[(?:build|setup) failed\])/;
// The bare class of an exception: `java.lang.IllegalStateException`, `RSpec::...::NotMetError`.
const EXCEPTION =
  /^(?:[\w$]{1,100}(?:\.|::|\\)){0,20}[\w$]{0,100}(?:Error|Exception|Failure|Fault):?$/;
// What follows it in a stack trace, before or in place of a message.
const TRACE =
  /^(?:at\s|Traceback \(most recent call last\):$|File ".*", line \d|\S{1,500}:\d{1,7}:in\b)/;

/** Whether a line says nothing about the cause of a failure, of whatever test. */
export function isNoCause(line: string): boolean {
  return PLACEHOLDER.test(line) || OF_GO.test(line) || EXCEPTION.test(line) ||
    TRACE.test(line);
}

const PLACE_BEFORE = /^\S{1,500}:\d{1,7}(?::\d{1,7})?:?\s+(?:[›>-]\s+)?/;
const RULE_AFTER = /[\s─━=-]{3,}$/;

/** Whether a line is the title of a test, with or without its place. */
export function isTitle(line: string, className: string, name: string): boolean {
  const title = line.replace(PLACE_BEFORE, "").replace(RULE_AFTER, "");
  // The title may leave out the suites in the name.
  if (title !== line && title !== "" && isEndOf(name, title)) return true;
  if (!title.endsWith(name)) return false;
  const before = title.slice(0, -name.length);
  return before === "" || before === "failed " || title !== line && /[›>]\s*$/.test(before) ||
    before.startsWith(className) && /^[.:#]*$/.test(before.slice(className.length));
}

/** Whether a text ends with another, at the beginning of a word. */
function isEndOf(text: string, end: string): boolean {
  return text === end || text.endsWith(` ${end}`);
}
