// Tests: tests/lib/gate/final_attempts_test.ts tests/lib/gate/rule_test.ts
/** Tests that fail because a subtest failed: of Go, pytest, node:test, and Deno's steps. */
import { type CompressedText, decodeBody } from "./failure_texts.ts";
import type { TestIdentity } from "../base/identity.ts";

/** Separates the name of a test from the name of its subtest. */
const SEPARATORS = ["/", " > "];

/** The lines by which these tools, and no others, say so. */
const SUBTEST_LINE =
  /^(--- FAIL: .*|\d+ (subtests?|test steps?) failed\.?|contains \d+ failed subtests?)$/;
/** The names of Go's tests, of which converters leave nothing but `Failed`. */
const GO_TEST = /^(Test|Fuzz|Benchmark|Example)(?!\p{Ll})\S*$/u;

/** The lines of a failure that says nothing but that a subtest failed. */
const EMPTY_LINE =
  /^(=== (RUN|CONT|PAUSE|NAME)\b.*|--- FAIL: .*|FAIL|Failed|\d+ (subtests?|test steps?) failed\.?|contains \d+ failed subtests?)?$/;

/** Whether a line of a failure says nothing but that a subtest failed. */
export function isEmptyLine(line: string): boolean {
  return EMPTY_LINE.test(line.trim());
}

/** Whether a test failed, by what its failure says, only because a subtest did. */
export function failedWithSubtest(
  { name }: Pick<TestIdentity, "name">,
  { message, body }: Pick<CompressedText, "message" | "body">,
): boolean {
  const lines = [message, ...decodeBody(body).split("\n")].map((line) => line.trim());
  return lines.every(isEmptyLine) &&
    lines.some((line) => SUBTEST_LINE.test(line) || line === "Failed" && GO_TEST.test(name));
}

/** Whether a test is a subtest of another, at any depth. */
export function isSubtest(test: TestIdentity, parent: TestIdentity): boolean {
  return test.suite === parent.suite && test.class === parent.class && test.file === parent.file &&
    SEPARATORS.some((separator) => test.name.startsWith(parent.name + separator));
}
