// Tests: tests/lib/gate/final_attempts_test.ts tests/lib/gate/rule_test.ts
/** Tests that fail because a subtest failed: of Go, pytest, and Deno's steps. */
import { type CompressedText, decodeBody } from "./failure_texts.ts";
import type { TestIdentity } from "../base/identity.ts";

/** Separates the name of a test from the name of its subtest. */
const SEPARATORS = ["/", " > "];

/** The lines of a failure that says nothing but that a subtest failed. */
const EMPTY_LINE =
  /^(=== (RUN|CONT|PAUSE|NAME)\b.*|--- FAIL: .*|FAIL|Failed|\d+ (subtests?|test steps?) failed\.?|contains \d+ failed subtests?)?$/;

/** Whether a line of a failure says nothing but that a subtest failed. */
export function isEmptyLine(line: string): boolean {
  return EMPTY_LINE.test(line.trim());
}

/** Whether a failure says nothing of its own, as when only a subtest of a test failed. */
export function saysNothing({ message, body }: Pick<CompressedText, "message" | "body">): boolean {
  return [message, ...decodeBody(body).split("\n")].every(isEmptyLine);
}

/** Whether a test is a subtest of another, at any depth. */
export function isSubtest(test: TestIdentity, parent: TestIdentity): boolean {
  return test.suite === parent.suite && test.class === parent.class && test.file === parent.file &&
    SEPARATORS.some((separator) => test.name.startsWith(parent.name + separator));
}
