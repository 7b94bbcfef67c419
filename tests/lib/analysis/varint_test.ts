import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { VarintReader, VarintWriter } from "../../../lib/analysis/varint.ts";

describe("varints", () => {
  it("come back as they were written, up to the largest safe integer", () => {
    const values = [0, 1, 127, 128, 300, 2 ** 31, 2 ** 32 + 5, 2 ** 52, Number.MAX_SAFE_INTEGER];
    const writer = new VarintWriter();
    for (const value of values) writer.write(value);
    const reader = new VarintReader(writer.finish());
    assert.deepEqual(values.map(() => reader.read()), values);
    assert.equal(reader.done, true);
  });

  it("take one byte below 128 and two below 16,384", () => {
    const length = (value: number) => {
      const writer = new VarintWriter();
      writer.write(value);
      return writer.finish().length;
    };
    assert.deepEqual([127, 128, 16_383, 16_384].map(length), [1, 2, 2, 3]);
  });

  it("grow without bound", () => {
    const writer = new VarintWriter();
    for (let value = 0; value < 10_000; value++) writer.write(value);
    const reader = new VarintReader(writer.finish());
    for (let value = 0; value < 10_000; value++) assert.equal(reader.read(), value);
  });

  it("can be passed over", () => {
    const writer = new VarintWriter();
    for (const value of [5, 300, 2 ** 40, 7]) writer.write(value);
    const reader = new VarintReader(writer.finish());
    reader.skip(0);
    reader.skip(3);
    assert.equal(reader.read(), 7);
    assert.equal(reader.done, true);
  });

  it("can be read from the end, even if the bytes begin inside a number", () => {
    const writer = new VarintWriter();
    for (const value of [300, 2 ** 40, 0, 7]) writer.write(value);
    const bytes = writer.finish();
    const fromEnd = (count: number, skipped = 0) => {
      const reader = new VarintReader(bytes.subarray(skipped));
      reader.seekFromEnd(count);
      return reader.read();
    };
    assert.deepEqual([0, 1, 2, 3].map((count) => fromEnd(count)), [7, 0, 2 ** 40, 300]);
    assert.deepEqual([0, 1, 2].map((count) => fromEnd(count, 1)), [7, 0, 2 ** 40]);
    assert.deepEqual([0, 1, 2].map((count) => fromEnd(count, 2)), [7, 0, 2 ** 40]);
    assert.throws(() => fromEnd(4), RangeError);
  });

  it("that end inside a number are refused", () => {
    assert.throws(() => new VarintReader(new Uint8Array([0x80])).read(), RangeError);
    assert.throws(() => new VarintReader(new Uint8Array([0x80])).skip(1), RangeError);
  });
});
