import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { Cache } from "../../../lib/base/cache.ts";

/** A cache of texts that weigh their length. */
function textCache(maxWeight: number, keys: string[] = []) {
  const cache = new Cache<string, string>({ maxWeight, weigh: (text) => text.length });
  for (const key of keys) cache.set(key, key);
  return cache;
}

describe("an LRU cache", () => {
  it("returns the latest value of a key", () => {
    const cache = textCache(100, ["a", "b"]);
    cache.set("a", "new");
    assert.deepEqual([cache.get("a"), cache.get("b"), cache.get("c")], ["new", "b", undefined]);
  });

  it("evicts the least recently used entries when it becomes too heavy", () => {
    const cache = textCache(4, ["a", "bb", "c"]);
    cache.get("a");
    cache.set("d", "d");
    assert.deepEqual(["a", "bb", "c", "d"].map((key) => cache.get(key)), [
      "a",
      undefined,
      "c",
      "d",
    ]);
  });

  it("does not store a value heavier than its limit, and evicts nothing for it", () => {
    const cache = textCache(3, ["a", "b"]);
    cache.set("a", "heavy");
    assert.deepEqual([cache.get("a"), cache.get("b")], [undefined, "b"]);
  });

  it("frees the weight of replaced and deleted entries", () => {
    const cache = textCache(3, ["a", "bb"]);
    cache.set("bb", "x");
    cache.delete("a");
    cache.delete("none");
    cache.set("cc", "cc");
    assert.deepEqual([cache.get("a"), cache.get("bb"), cache.get("cc")], [undefined, "x", "cc"]);
  });

  it("counts entries without a weight function", () => {
    const cache = new Cache<number, string>({ maxWeight: 2 });
    for (const key of [1, 2, 3]) cache.set(key, "long".repeat(key));
    assert.deepEqual([1, 2, 3].map((key) => cache.get(key) !== undefined), [false, true, true]);
  });
});
