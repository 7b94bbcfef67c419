import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  forEachPackedDuration,
  packDurations,
  typicalDurations,
} from "../../../lib/analysis/packed_durations.ts";
import { encodeDurations } from "../../../lib/analysis/columns.ts";
import { Random } from "../../bench/random.ts";

function unpacked(bytes: Uint8Array, options: { typical: Uint8Array; durationUnit: number }) {
  const durations: number[] = [];
  forEachPackedDuration(bytes, options, (duration) => durations.push(duration));
  return durations;
}

/** Packs durations in units against typical ones in microseconds, and asserts that they come back. */
function packed(durations: number[], typicalMicroseconds: number[], durationUnit = 1_000): number {
  const typical = typicalDurations(Float64Array.from(typicalMicroseconds));
  const bytes = packDurations(Float64Array.from(durations), { typical, durationUnit });
  assert.deepEqual(unpacked(bytes, { typical, durationUnit }), durations);
  return bytes.length;
}

describe("packed durations", () => {
  const random = new Random(7);
  const typical = Array.from({ length: 5_000 }, () => Math.exp(3 + random.normal()));
  const around = (spread: number, unit = 1_000) =>
    typical.map((ms) => Math.round(ms * Math.exp(spread * random.normal()) * 1_000 / unit));

  it("take two thirds of a byte for times of a test that vary by a quarter", () => {
    const size = packed(around(0.25), typical.map((ms) => ms * 1_000));
    assert.ok(size < 5_000 * 0.67, `${size} bytes`);
    const alone = encodeDurations(Float64Array.from(around(0.25), (ms) => ms * 1_000));
    assert.ok(alone.durations.length > 5_000);
  });

  it("take less for times that vary less, and never lose anything by those that vary more", () => {
    const expected = typical.map((ms) => ms * 1_000);
    const [steady, usual, wild] = [0.02, 0.25, 2].map((spread) => packed(around(spread), expected));
    assert.ok(steady! < usual! && usual! < wild!, `${steady} ${usual} ${wild}`);
  });

  it("come back in microseconds, against what is typical of milliseconds", () => {
    packed(around(0.25, 1), typical.map((ms) => Math.round(ms) * 1_000), 1);
  });

  it("come back whatever they are and whatever is typical", () => {
    const values = [0, 1, 2, 3, 127, 128, 2 ** 20, 2 ** 24, 2 ** 29, 2 ** 30 - 1, 2 ** 30, 2 ** 31];
    values.push(2 ** 32, 2 ** 48, 2 ** 52 + 1, Number.MAX_SAFE_INTEGER);
    for (const unit of [1, 1_000]) {
      for (const expected of values) packed(values, values.map(() => expected), unit);
      packed(values, values, unit);
      for (const value of values) packed([value], [0], unit);
    }
    packed([], []);
    for (let round = 0; round < 200; round++) {
      const some = Array.from(
        { length: 1 + random.below(20) },
        () => Math.floor(random.next() * 2 ** random.below(53)),
      );
      packed(some, some.map(() => Math.floor(random.next() * 2 ** random.below(53))), 1);
    }
  });

  it("that were cut off are not read", () => {
    const typicalBytes = typicalDurations(Float64Array.of(20_000, 20_000, 20_000));
    const options = { typical: typicalBytes, durationUnit: 1_000 };
    const bytes = packDurations(Float64Array.of(20, 2 ** 40, 20), options);
    assert.deepEqual(unpacked(bytes, options), [20, 2 ** 40, 20]);
    for (let length = 1; length < bytes.length; length++) {
      assert.throws(() => unpacked(bytes.subarray(0, length), options), RangeError, `${length}`);
    }
  });
});
