import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { BoundedText, firstLine } from "../../../lib/report/bounded_text.ts";

function textOf(...chunks: string[]): BoundedText {
  const text = new BoundedText();
  for (const chunk of chunks) text.add(chunk);
  return text;
}

const bodyOf = (...chunks: string[]): string => textOf(...chunks).toString();
const ESC = "\x1b";

describe("the text of a failure", () => {
  it("keeps lines and indentation, without blank lines around", () => {
    assert.equal(bodyOf(" \n\n  def a():\n>     b\n\n \n"), "  def a():\n>     b");
    assert.equal(bodyOf("\tone\r\n\ttwo\rthree\u0085four"), "\tone\n\ttwo\nthree\nfour");
    assert.equal(bodyOf(" \n\t "), "");
    assert.equal(bodyOf(), "");
  });

  it("has no terminal escapes", () => {
    assert.equal(bodyOf(`${ESC}[31mred${ESC}[0m ${ESC}[1;38;5;208mbold${ESC}[m`), "red bold");
    assert.equal(bodyOf(`${ESC}[2K${ESC}[1A${ESC}[?25lline${ESC}[?25h`), "line");
    assert.equal(bodyOf(`${ESC}]8;;https://ci.example.com${ESC}\\link${ESC}]8;;${ESC}\\`), "link");
    assert.equal(bodyOf(`${ESC}]0;title\x07text${ESC}(B${ESC}c`), "text");
    assert.equal(bodyOf("\x9b31mred\x9b0m"), "red");
    // As the XML reader and pytest leave them.
    assert.equal(bodyOf("\ufffd[31mred\ufffd[0m\ufffd[K"), "red");
    assert.equal(bodyOf("\ufffd]8;;https://ci.example.com\ufffd\\link\ufffd]8;;\ufffd\\"), "link");
    assert.equal(bodyOf("#x1B[1m#x1B[31mE   broken#x1B[0m"), "E   broken");
  });

  it("keeps text that only resembles an escape sequence", () => {
    assert.equal(
      bodyOf("caf\ufffd[1] \ufffd[here] #x1B [31m"),
      "caf\ufffd[1] \ufffd[here] #x1B [31m",
    );
  });

  it("has no control characters and no unpaired surrogates", () => {
    assert.equal(bodyOf("a\0b\x01\x08c\x0b\x0c\x7f\x80d\te"), "a\ufffdbcd\te");
    assert.equal(bodyOf("a\ud83d b\ude00"), "a\ufffd b\ufffd");
    const every = Array.from({ length: 0x300 }, (_, code) => String.fromCharCode(code)).join("");
    // deno-lint-ignore no-control-regex
    assert.doesNotMatch(bodyOf(every + every), /[\0-\x08\x0b-\x1f\x7f-\x9f]/);
  });

  it("is the same at all chunk boundaries", () => {
    const text = ` \n  a ${ESC}[31m😀${ESC}[0m line\r\n\0 end`;
    for (let at = 0; at <= text.length; at++) {
      assert.equal(bodyOf(text.slice(0, at), text.slice(at)), "  a 😀 line\n\ufffd end");
    }
    assert.equal(bodyOf(...text.split("")), "  a 😀 line\n\ufffd end");
  });

  it("has at most 16,384 characters; the last line counts the others", () => {
    assert.equal(bodyOf("x".repeat(16_384)), "x".repeat(16_384));
    assert.equal(bodyOf("😀".repeat(16_384)), "😀".repeat(16_384));
    assert.equal(bodyOf("x".repeat(16_385)), "x".repeat(16_320) + "\n... 65 more characters");
    assert.equal(
      bodyOf("x" + "😀".repeat(20_000)),
      "x" + "😀".repeat(16_319) + "\n... 3681 more characters",
    );
  });

  it("counts the characters that it does not hold in memory", () => {
    const emoji = "😀".repeat(50_000);
    for (const first of ["", "x", "xy"]) {
      for (const split of [32_767, 65_535, 65_536]) {
        const whole = first + emoji;
        const body = bodyOf(whole.slice(0, split), whole.slice(split), "y".repeat(1_000_000));
        assert.equal(
          body,
          first + "😀".repeat(16_320 - first.length) +
            `\n... ${50_000 + 1_000_000 - 16_320 + first.length} more characters`,
        );
      }
    }
    const escapes = bodyOf(`${ESC}[0m`.repeat(20_000));
    assert.match(escapes, /^\n\.\.\. \d+ more characters$/);
  });

  it("joins texts that are not empty", () => {
    const text = textOf("one\n \n");
    text.join(textOf(" "), "\n\n");
    text.join(textOf("two"), "\n\n");
    assert.equal(text.toString(), "one\n\ntwo");
    const empty = textOf("\n");
    empty.join(textOf("  two"), "\n\n");
    assert.equal(empty.toString(), "  two");
    text.join(textOf("z".repeat(100_000)), "\n");
    assert.equal(
      text.toString(),
      "one\n\ntwo\n" + "z".repeat(16_320 - 9) + `\n... ${100_009 - 16_320} more characters`,
    );
  });

  it("includes a text whose lines it has, whatever the white space between", () => {
    const text = textOf("E   AssertionError: basket\n  differs\nE    +  where 3 = len(a)");
    assert.ok(text.includes(textOf("AssertionError: basket differs\n +  where 3 = len(a)")));
    assert.ok(text.includes(textOf("AssertionError: basket   differs")));
    assert.ok(text.includes(textOf("")));
    assert.ok(!text.includes(textOf("AssertionError: basket differs\n +  where 4 = len(a)")));
    assert.ok(!textOf("").includes(text));
  });
});

describe("firstLine", () => {
  it("is the first line that is not blank, trimmed", () => {
    assert.equal(firstLine(" \n\t\r\n  expected 1 \n was 2"), "expected 1");
    assert.equal(firstLine("one\rtwo"), "one");
    assert.equal(firstLine("one\u2028two"), "one");
    assert.equal(firstLine("\u0085one\u0085two"), "one");
  });

  it("is empty when there are only blanks", () => {
    assert.equal(firstLine(""), "");
    assert.equal(firstLine(" \n \t"), "");
  });

  it("has at most 1,000 characters and cuts none in half", () => {
    assert.equal(firstLine("x".repeat(5_000)), "x".repeat(1_000));
    assert.equal(firstLine("😀".repeat(5_000)), "😀".repeat(1_000));
    assert.equal(firstLine("x" + "😀".repeat(5_000)), "x" + "😀".repeat(999));
    assert.equal(firstLine("x".repeat(999) + " ".repeat(3_000) + "y"), "x".repeat(999));
  });

  it("is the same at all chunk boundaries", () => {
    const text = " \n\n  a line of 😀 text  \n another";
    for (let at = 0; at <= text.length; at++) {
      const collected = new BoundedText();
      collected.add(text.slice(0, at));
      collected.add(text.slice(at));
      assert.equal(collected.message(() => false), "a line of 😀 text");
    }
  });
});
