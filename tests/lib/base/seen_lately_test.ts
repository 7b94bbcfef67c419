import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { SeenLately } from "../../../lib/base/seen_lately.ts";

const texts = Array.from({ length: 100_000 }, (_, number) => `/tests?q=case%20${number}`);

describe("what was seen lately", () => {
  it("is known when it comes again soon", () => {
    const seen = new SeenLately();
    for (const text of ["", "a", "b", ...texts.slice(0, 100)]) {
      assert.equal(seen.see(text), false, text);
      assert.equal(seen.see(text), true, text);
    }
  });

  it("is hardly ever taken for something else", () => {
    const seen = new SeenLately();
    const mistaken = texts.filter((text) => seen.see(text));
    assert.ok(mistaken.length < 5, mistaken.join());
  });

  it("is forgotten after many others", () => {
    const seen = new SeenLately();
    for (const text of texts) seen.see(text);
    assert.ok(texts.slice(-100).filter((text) => seen.see(text)).length > 90);
    assert.ok(texts.slice(0, 1_000).filter((text) => seen.see(text)).length < 5);
  });
});
