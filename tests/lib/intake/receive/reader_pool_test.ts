import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { ReaderPool } from "../../../../lib/intake/receive/reader_pool.ts";

const SMALL = 1_000;
const LARGE = 1_000_000_000;

describe("the pool of readers", () => {
  /** Uploads that are checked until they are finished. */
  function startPool(readers: number) {
    const pool = new ReaderPool({ stop: new AbortController().signal, readers });
    const started: string[] = [];
    const gates = new Map<string, () => void>();
    const settle = () => new Promise((resolve) => setTimeout(resolve, 1));
    return {
      pool,
      started,
      settle,
      use: (name: string, byteCount = SMALL, uploaderId = "a") =>
        pool.use({ byteCount, uploaderId }, async () => {
          started.push(name);
          await new Promise<void>((resolve) => gates.set(name, resolve));
        }),
      async finish(name: string) {
        gates.get(name)!();
        await settle();
      },
    };
  }

  it("serves in the order of arrival, large uploads apart from the others", async () => {
    const { pool, started, settle, use, finish } = startPool(2);
    const all = [
      use("large 1", LARGE),
      use("large 2", LARGE),
      ...["small 1", "small 2", "small 3"].map((name) => use(name)),
    ];
    await settle();
    assert.deepEqual(started, ["large 1", "small 1", "small 2"]);
    await finish("small 2");
    assert.deepEqual(started.slice(3), ["small 3"]);
    await finish("small 1");
    assert.equal(started.length, 4);
    await finish("large 1");
    assert.deepEqual(started.slice(4), ["large 2"]);
    await finish("small 3");
    await finish("large 2");
    await Promise.all(all);
    pool.close();
  });

  it("has the tokens take turns", async () => {
    const { pool, started, settle, use, finish } = startPool(1);
    const all = [
      ...["a1", "a2", "a3", "a4"].map((name) => use(name, SMALL, "a")),
      ...["b1", "b2"].map((name) => use(name, SMALL, "b")),
      use("c1", SMALL, "c"),
    ];
    await settle();
    for (let served = 0; served < all.length; served++) await finish(started[served]!);
    assert.deepEqual(started, ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
    await Promise.all(all);
    pool.close();
  });

  it("lends a reader again after an error", async () => {
    const { pool } = startPool(1);
    for (let i = 0; i < 3; i++) {
      await assert.rejects(
        pool.use({ byteCount: LARGE, uploaderId: "a" }, () => Promise.reject(new Error("broken"))),
        /broken/,
      );
    }
    pool.close();
  });
});
