import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  type CompressedText,
  decodeBody,
  encodeBody,
  type FailureText,
  failureText,
  TextCollector,
} from "../../../lib/analysis/failure_texts.ts";
import { textIdOf } from "./text_ids.ts";
import { Random } from "../../../tools/measure/bench/random.ts";

/** A stack trace of some 3 kB whose line numbers depend on a number. */
function trace(number: number): FailureText {
  const message = `TimeoutError: no answer after ${5000 + number} ms`;
  const frames = Array.from(
    { length: 30 },
    (_, index) =>
      `    at Checkout${index % 7}.step${index * 31 % 17} (/srv/app/src/checkout/part${index}.ts:` +
      `${100 + (index * 37 + number * (index % 5 === 0 ? 1 : 0)) % 900}:${index})`,
  );
  return { message, body: [message, ...frames].join("\n") };
}

function withBody({ message, body }: CompressedText): FailureText {
  return { message, body: decodeBody(body) };
}

function textsOf(collector: TextCollector): CompressedText[] {
  const texts = collector.finish();
  return Array.from({ length: texts.count }, (_, textNo) => failureText(texts, textNo));
}

describe("the body of a failure", () => {
  it("comes back, whatever it is", () => {
    const bodies = [
      "",
      "x",
      "\0",
      "ü€😀\r\n\t",
      "\ufeffbom",
      "€".repeat(99),
      "a".repeat(100),
      "a".repeat(16_384),
      "€".repeat(16_384),
    ];
    for (const body of bodies) assert.equal(decodeBody(encodeBody(body)), body);
  });

  it("takes no bytes if it is empty, and few if it repeats itself", () => {
    assert.equal(encodeBody("").length, 0);
    const { body } = trace(1);
    const { length } = encodeBody(body);
    assert.ok(length < body.length / 3, `${length} of ${body.length} bytes`);
  });
});

describe("the id of a text", () => {
  it("depends on where the message ends", () => {
    assert.notEqual(
      textIdOf({ message: "a", body: "b" }),
      textIdOf({ message: "ab", body: "" }),
    );
    assert.match(textIdOf(trace(1)), /^[0-9a-f]{20}$/);
    assert.equal(textIdOf(trace(1)), textIdOf(trace(1)));
  });
});

describe("the texts of a submission", () => {
  it("are numbered, each once, and come back in order", () => {
    const collector = new TextCollector();
    const texts = [trace(1), trace(2), { message: "", body: "" }, { message: "only", body: "" }];
    const numbers = [0, 1, 0, 2, 3, 2, 1].map((index) => collector.add(texts[index]!));
    assert.deepEqual(numbers, [0, 1, 0, 2, 3, 2, 1]);
    const found = textsOf(collector);
    assert.deepEqual(found.map(withBody), texts);
    assert.deepEqual(found.map(({ textId }) => textId), texts.map(textIdOf));
    for (const { fingerprint } of found) assert.match(fingerprint, /^[0-9a-f]{16}$/);
  });

  it("may be many, in little memory", () => {
    const collector = new TextCollector();
    for (let number = 0; number < 10_000; number++) collector.add(trace(number));
    const found = textsOf(collector);
    const bytes = found.reduce((sum, { body }) => sum + body.length, 0);
    assert.ok(bytes < 4e6, `${bytes} bytes`);
    assert.equal(found.length, 10_000);
    assert.deepEqual(withBody(found[9_999]!), trace(9_999));
  });

  it("are forgotten from a number on, and may be added again", () => {
    const collector = new TextCollector();
    for (let number = 0; number < 100; number++) collector.add(trace(number));
    const { byteCount } = collector;
    collector.truncate(40);
    assert.ok(collector.byteCount < byteCount / 2, `${collector.byteCount} of ${byteCount} bytes`);
    assert.equal(collector.add(trace(39)), 39);
    assert.equal(collector.add(trace(70)), 40);
    assert.equal(collector.add(trace(70)), 40);
    const found = textsOf(collector).map(withBody);
    assert.deepEqual(found, [...Array.from({ length: 40 }, (_, no) => trace(no)), trace(70)]);
  });

  it("keep only their messages beyond a limit", () => {
    const random = new Random(1);
    const collector = new TextCollector({ maxBytes: 300_000 });
    const count = 200;
    const bodies: string[] = [];
    for (let number = 0; number < count; number++) {
      bodies.push(random.hex(16_000));
      collector.add({ message: `failed ${number}`, body: bodies[number]! });
    }
    assert.equal(collector.add({ message: "failed 0", body: bodies[0]! }), 0);
    const texts = textsOf(collector).map(withBody);
    assert.deepEqual(texts.map(({ message }) => message), texts.map((_, n) => `failed ${n}`));
    assert.equal(texts.length, count);
    const whole = texts.findIndex(({ body }) => body.length < 16_000);
    assert.ok(whole > 20 && whole < 60, `${whole} bodies`);
    assert.ok(texts.slice(whole).every(({ body }) => /^\(left out: .*\)$/.test(body)));
  });
});
