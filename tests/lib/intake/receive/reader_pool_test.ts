import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { ReaderPool } from "../../../../lib/intake/receive/reader_pool.ts";

const SMALL = 1_000;
const LARGE = 1_000_000_000;

describe("the pool of readers", () => {
  /** Uploads that are checked until they are finished. */
  function startPool() {
    const pool = new ReaderPool(new AbortController().signal);
    const started: string[] = [];
    const gates = new Map<string, () => void>();
    const settle = () => new Promise((resolve) => setTimeout(resolve, 1));
    return {
      pool,
      started,
      settle,
      use: (name: string, byteCount = SMALL, tokenId = 1) =>
        pool.use({ byteCount, tokenId }, async () => {
          started.push(name);
          await new Promise<void>((resolve) => gates.set(name, resolve));
        }),
      async finish(name: string) {
        gates.get(name)!();
        await settle();
      },
    };
  }

  it("serves in the order of arrival, and keeps a reader free of large uploads", async () => {
    const { pool, started, settle, use, finish } = startPool();
    const all = [
      use("large 1", LARGE),
      use("large 2", LARGE),
      use("small 1", SMALL),
      use("small 2", SMALL),
      use("large 3", LARGE),
    ];
    await settle();
    assert.deepEqual(started, ["large 1", "small 1"]);
    await finish("small 1");
    assert.deepEqual(started.slice(2), ["small 2"]);
    await finish("large 1");
    assert.deepEqual(started.slice(3), ["large 2"]);
    await finish("small 2");
    await finish("large 2");
    await finish("large 3");
    await Promise.all(all);
    assert.equal(started.length, 5);
    pool.close();
  });

  it("serves the token with the fewest uploads in check first", async () => {
    const { pool, started, settle, use, finish } = startPool();
    const all = [
      ...["a1", "a2", "a3", "a4"].map((name) => use(name, SMALL, 1)),
      ...["b1", "b2"].map((name) => use(name, SMALL, 2)),
      use("c1", SMALL, 3),
    ];
    await settle();
    for (
      const [finished, next] of [
        ["a1", "b1"],
        ["a2", "a3"],
        ["b1", "b2"],
        ["a3", "a4"],
        ["b2", "c1"],
      ] as const
    ) {
      await finish(finished);
      assert.equal(started.at(-1), next);
    }
    await finish("a4");
    await finish("c1");
    await Promise.all(all);
    pool.close();
  });

  it("lends a reader again after an error", async () => {
    const pool = new ReaderPool(new AbortController().signal);
    for (let i = 0; i < 3; i++) {
      await assert.rejects(
        pool.use({ byteCount: LARGE, tokenId: 1 }, () => Promise.reject(new Error("broken"))),
        /broken/,
      );
    }
    pool.close();
  });
});
