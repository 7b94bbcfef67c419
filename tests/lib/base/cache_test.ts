import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { Cache } from "../../../lib/base/cache.ts";

function textCache(maxWeight: number) {
  const loaded: string[] = [];
  const cache = new Cache<string>({ maxWeight, weigh: (text) => text.length });
  const get = async (key: string) =>
    await cache.get(key, async () => {
      loaded.push(key);
      await Promise.resolve();
      return key;
    });
  return { cache, get, loaded };
}

describe("a cache", () => {
  it("makes a value once, even for many who ask at the same time", async () => {
    const { get, loaded } = textCache(100);
    assert.deepEqual(await Promise.all([get("a"), get("a"), get("b")]), ["a", "a", "b"]);
    await get("a");
    assert.deepEqual(loaded, ["a", "b"]);
  });

  it("drops what was not asked for longest when it becomes too heavy", async () => {
    const { get, loaded } = textCache(2);
    for (const key of ["a", "b", "a", "c", "a", "b"]) await get(key);
    assert.deepEqual(loaded, ["a", "b", "c", "b"]);
  });

  it("can be looked into without asking for a value", async () => {
    const { cache, get, loaded } = textCache(2);
    assert.equal(cache.peek("a"), undefined);
    for (const key of ["a", "b"]) await get(key);
    assert.equal(cache.peek("a"), "a");
    for (const key of ["c", "b"]) await get(key);
    assert.deepEqual(loaded, ["a", "b", "c"], "a was still the one not asked for longest");
  });

  it("does not keep what is heavier than all it may hold, nor drops others for it", async () => {
    const { get, loaded } = textCache(3);
    for (const key of ["a", "heavy", "heavy", "a"]) await get(key);
    assert.deepEqual(loaded, ["a", "heavy", "heavy"]);
  });

  it("keeps all at once, or what was waited for, or nothing that is asked for once", async () => {
    for (const [keptAtOnce, expected] of [["all", "ab"], ["awaited", "aba"], ["none", "abab"]]) {
      const cache = new Cache<string>({
        maxWeight: 10,
        weigh: () => 1,
        keptAtOnce: keptAtOnce as "all",
      });
      let made = "";
      const get = (key: string) =>
        cache.get(key, () => {
          made += key;
          return key === "b" ? Promise.resolve(key) : key;
        });
      for (const key of ["a", "b", "a", "b", "a", "b"]) assert.equal(await get(key), key);
      assert.equal(made, expected, keptAtOnce);
    }
  });

  it("tells a failure to all who wait for it, and tries again for the next", async () => {
    const cache = new Cache<string>({ maxWeight: 10, weigh: () => 1 });
    const fail = () => Promise.reject(new Error("no luck"));
    const first = cache.get("a", fail);
    const second = cache.get("a", () => Promise.resolve("never called"));
    await assert.rejects(async () => await first, /no luck/);
    await assert.rejects(async () => await second, /no luck/);
    assert.equal(await cache.get("a", () => Promise.resolve("luck")), "luck");
  });
});
