import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { ReaderPool } from "../../../../lib/intake/receive/reader_pool.ts";

const SMALL = 1_000;
const LARGE = 1_000_000_000;

describe("the pool of readers", () => {
  it("serves in the order of arrival, and keeps a reader free of large uploads", async () => {
    const pool = new ReaderPool(new AbortController().signal);
    const started: string[] = [];
    const gates = new Map<string, () => void>();
    const use = (name: string, byteCount: number) =>
      pool.use(byteCount, async () => {
        started.push(name);
        await new Promise<void>((resolve) => gates.set(name, resolve));
      });
    const settle = () => new Promise((resolve) => setTimeout(resolve, 1));
    const finish = async (name: string) => {
      gates.get(name)!();
      await settle();
    };
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

  it("lends a reader again after an error", async () => {
    const pool = new ReaderPool(new AbortController().signal);
    for (let i = 0; i < 3; i++) {
      await assert.rejects(pool.use(LARGE, () => Promise.reject(new Error("broken"))), /broken/);
    }
    pool.close();
  });
});
