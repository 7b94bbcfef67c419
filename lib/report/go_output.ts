// Tests: tests/lib/report/fixtures_test.ts
/** The output of Go's tests, which `go test -json` and the JUnit of its converters contain. */
import { firstLine } from "./bounded_text.ts";
import { MORE_FAILURES } from "./result.ts";
import type { FailureRules } from "./test_case.ts";

// What `t.Error` and `t.Log` write, testify with the lines that its message announces, and the runtime.
const GO_MESSAGE =
  /^[ \t]*(?:[^\s:]+\.go:\d+: (?=.*\S).*|Error:[ \t](?=.*\S).*(?:\n[ \t]*\t {8,}[ \t]*\S.*){0,3}|(?:panic|fatal error): .*)$/gm;
const CUT_OFF = /\n\.\.\. \d+ more characters$/;

/**
 * What the runtime and `go test` write about a failure of a package; in the output of a test it is one of
 * the test.
 */
export const GO_FAILURE_OUTSIDE =
  /^(?:panic: |fatal error: |signal: |WARNING: DATA RACE|testing: race detected |==\d+==\s*ERROR: |\*\*\* Test ).*/m;

/** What the output of a failed Go test says about its causes. */
export const GO_OUTPUT = {
  isNoise(line) {
    // The last two are testify's.
    return /^(?:# |FAIL\s+\S+ \[|=== (?:RUN|PAUSE|CONT|NAME|FAIL)\b|--- (?:FAIL|PASS|SKIP)\b)/.test(
      line,
    ) ||
      /^[^\s:]+\.(?:go:\d+:|s:\d+)$|^Error Trace:/.test(line);
  },
  // Of testify.
  isAssertion: (line) => /^Error: +\t/.test(line),
  // Failures look like lines of the log: what is only logged may be taken for a failure, not the other way round.
  furtherMessages(text) {
    const messages = (text.match(GO_MESSAGE) ?? [])
      .map((lines) => firstLine(lines.trim().replaceAll(/\s*\n\s*/g, " ")));
    const byForm = new Map(messages.map((line) => [line.replaceAll(/\d+/g, "0"), line]));
    return [...byForm.values(), ...CUT_OFF.test(text) ? [MORE_FAILURES] : []];
  },
} satisfies FailureRules;
