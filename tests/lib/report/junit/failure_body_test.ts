/** Bounds of messages and stack traces; what is in them is in `fixtures/reports/`. */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import type { TestResult } from "../../../../lib/report/result.ts";
import { readBytes, readText, repeated } from "../reading.ts";

const START = '<testsuite name="s"><testcase name="t">';
const END = "</testcase></testsuite>";
const only = async (outcomes: string) => (await readText(START + outcomes + END))[0]!;
const messagesOf = ({ message, otherMessages }: TestResult) => [message, ...otherMessages ?? []];

describe("the body of a result", () => {
  it("is bounded, whatever the report has", async () => {
    const failure = "<failure message='broken'>line\nline</failure>";
    const [result] = await readBytes(repeated(START, failure, 4_000_000, END));
    assert.match(result!.body, /^broken\nline\nline\n\nbroken[^]+\n\.\.\. \d+ more characters$/);
    assert.ok(result!.body.length <= 16_384);
  });

  it("is the end of the output if a failure has no text", async () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => `line ${index}`).join("\n");
    const { body, message } = await only(`<failure/><system-out>${lines}</system-out>`);
    assert.ok(body.length <= 16_384);
    assert.match(body, /^\.\.\.\n/);
    assert.match(body, /\nline 4999$/);
    assert.equal(message, "line 4999");
  });
});

describe("the messages of a result", () => {
  it("are at most a hundred; a last one says that there were more", async () => {
    const failures = Array.from({ length: 500 }, (_, index) => `<failure message="a${index}"/>`);
    const messages = messagesOf(await only(failures.join("")));
    assert.equal(messages.length, 101);
    assert.equal(messages.at(-1), "(more failures)");
  });

  it("of a Go test are few if it logged much", async () => {
    const go = async (output: string) => {
      const [result] = await readText(
        '<testsuite><properties><property name="go.version" value="go1.26"/></properties>' +
          `<testcase name="TestCart"><failure message="Failed">=== RUN   TestCart\n${output}\n` +
          "--- FAIL: TestCart (0.00s)</failure></testcase></testsuite>",
      );
      return messagesOf(result!);
    };
    const rounds = Array.from({ length: 300 }, (_, round) => `    cart_test.go:3: round ${round}`);
    assert.equal((await go(rounds.join("\n"))).length, 2);
    const long = await go(`    cart_test.go:3: ${"x".repeat(20_000)}`);
    assert.equal(long.at(-1), "(more failures)");
  });
});
