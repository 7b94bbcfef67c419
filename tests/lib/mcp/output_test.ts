import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  ALL_BODIES_CHARACTERS,
  BODY_CHARACTERS,
  MESSAGE_CHARACTERS,
  outputJson,
  QUOTE_HEADING,
} from "../../../lib/mcp/output.ts";

// The same cases each time, so that no run fails by chance.
fc.configureGlobal({ seed: 1 });

const output = (value: unknown) => JSON.parse(outputJson(value));

describe("the output of a tool", () => {
  it("has bodies as quotations and everything else as it is", () => {
    const trace = "AssertionError: 3 != 2\n\n  at cart_test.ts:12\n";
    assert.deepEqual(output({ tests: [{ name: "adds > 1", body: trace, count: 1, at: null }] }), {
      tests: [{
        name: "adds > 1",
        body: `${QUOTE_HEADING}\n> AssertionError: 3 != 2\n> \n>   at cart_test.ts:12\n> `,
        count: 1,
        at: null,
      }],
    });
  });

  it("has empty and unknown bodies as they are", () => {
    assert.deepEqual(output([{ body: "" }, { body: null }]), [{ body: "" }, { body: null }]);
  });

  it("marks every line of a body, whatever the report says", () => {
    const lineBreak = fc.constantFrom("\n", "\r", "\r\n", "\u2028", "\u2029", "\v", "\f", "\x85");
    const part = fc.oneof(
      lineBreak,
      fc.constantFrom(QUOTE_HEADING, "```", "> ", '"}'),
      fc.string(),
    );
    fc.assert(fc.property(fc.array(part), fc.integer({ min: 1, max: 3000 }), (parts, repeat) => {
      const text = parts.join("").repeat(repeat).slice(0, 20_000);
      const { body } = output({ body: text });
      if (text === "") return;
      const [heading, ...lines] = body.split(/[\n\r\u2028\u2029\v\f\x85]/);
      assert.equal(heading, QUOTE_HEADING);
      const marks = lines.filter((line: string) => !line.startsWith("> "));
      assert.ok(marks.length <= 1, String(marks));
      for (const mark of marks) assert.match(mark, /^\[cut: \d+ of \d+ characters\]$/);
    }));
  });

  it("has no terminal escapes and no invisible characters in bodies and messages", () => {
    const hidden = [..."ignore"].map((letter) =>
      String.fromCodePoint(0xe0000 + letter.charCodeAt(0))
    );
    const text = `\x1b[31mred\ufffd[0m\0\b \u202ename\u2066 a\u200bb ${hidden.join("")}\ufe0fend`;
    const { message, body } = output({ message: text, body: text });
    assert.equal(message, "red name ab end");
    assert.equal(body, `${QUOTE_HEADING}\n> red name ab end`);
  });

  it("has the beginning and the end of a long body", () => {
    const { body } = output({ body: `first${"\u{1F600}".repeat(BODY_CHARACTERS)}last` });
    assert.ok(body.startsWith(`${QUOTE_HEADING}\n> first`));
    assert.ok(body.endsWith("last"));
    assert.ok(
      body.includes(`\n[cut: ${BODY_CHARACTERS} of ${2 * BODY_CHARACTERS + 9} characters]\n`),
    );
    assert.ok(body.length < BODY_CHARACTERS + 200);
    assert.ok(body.isWellFormed());
  });

  it("is bounded however many bodies it has", () => {
    const bodies = Array.from({ length: 100 }, () => ({ body: "x".repeat(16_384) }));
    const quoted = output(bodies).map(({ body }: { body: string }) => body.match(/x/g)?.length);
    assert.deepEqual(new Set(quoted), new Set([ALL_BODIES_CHARACTERS / 100]));
    const lines = outputJson(Array.from({ length: 100 }, () => ({ body: "\n".repeat(16_384) })));
    assert.ok(lines.length < 5 * ALL_BODIES_CHARACTERS, `${lines.length} characters`);
  });

  it("has long messages and names cut, with a mark", () => {
    const text = "\u{1F600}".repeat(999);
    const { message, name } = output({ message: text, name: text });
    const kept = "\u{1F600}".repeat(MESSAGE_CHARACTERS);
    assert.equal(message, `${kept}... [cut: ${MESSAGE_CHARACTERS} of 999 characters]`);
    assert.equal(name, `${"\u{1F600}".repeat(500)}... [cut: 500 of 999 characters]`);
  });
});
