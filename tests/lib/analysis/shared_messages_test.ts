import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { shareMessages } from "../../../lib/analysis/shared_messages.ts";

const failures = (...messages: string[]) => messages.map((message) => ({ message }));

describe("the messages of a submission", () => {
  it("are shared when several failures have them, each once", () => {
    const { messages, placeOf } = shareMessages(failures("a", "b", "a", "c", "c", "a"));
    assert.deepEqual(messages, ["a", "c"]);
    assert.deepEqual(["a", "b", "c"].map(placeOf), [1, null, 2]);
  });

  it("are not shared when all are different, or there are none", () => {
    assert.deepEqual(shareMessages(failures("a", "b")).messages, []);
    assert.deepEqual(shareMessages([]).messages, []);
  });

  it("may be empty", () => {
    const { messages, placeOf } = shareMessages(failures("", ""));
    assert.deepEqual(messages, [""]);
    assert.equal(placeOf(""), 1);
  });

  it("are shared up to a size that is read quickly", () => {
    const many = Array.from({ length: 100 }, (_, number) => `${number} `.padEnd(1_000, "x"));
    const { messages, placeOf } = shareMessages(failures(...many, ...many, "short", "short"));
    assert.deepEqual(messages, many.slice(0, 8));
    assert.equal(placeOf(many[8]!), null);
    assert.equal(placeOf("short"), null);
  });
});
