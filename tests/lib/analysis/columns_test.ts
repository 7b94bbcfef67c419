import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  decodeTestList,
  encodeDurations,
  encodeTestList,
  ExceptionWriter,
  forEachException,
  type ResultCounts,
  resultCountsAt,
} from "../../../lib/analysis/columns.ts";
import { VarintReader } from "../../../lib/analysis/varint.ts";

const passed: ResultCounts = { positive: 1, negative: 0, skipped: 0, unknown: 0 };
const skipped: ResultCounts = { positive: 0, negative: 0, skipped: 1, unknown: 0 };
const flaky: ResultCounts = { positive: 1, negative: 1, skipped: 0, unknown: 0 };
const odd: ResultCounts = { positive: 300, negative: 2, skipped: 1, unknown: 4 };

function written(outcomes: ResultCounts[]): Uint8Array {
  const writer = new ExceptionWriter();
  outcomes.forEach((outcome, index) => writer.add(index, outcome));
  return writer.finish();
}

describe("the exceptions of a submission", () => {
  it("cost nothing when every test passed once", () => {
    assert.equal(written([passed, passed, passed]).length, 0);
  });

  it("come back with their places", () => {
    const seen: [number, ResultCounts][] = [];
    forEachException(
      written([passed, skipped, odd, passed, flaky]),
      (index, outcome) => seen.push([index, { ...outcome }]),
    );
    assert.deepEqual(seen, [[1, skipped], [2, odd], [4, flaky]]);
  });

  it("take two bytes for a skip nearby", () => {
    assert.equal(written([passed, skipped]).length, 2);
  });

  it("answer for chosen places only, a pass where there is no exception", () => {
    const outcomes = resultCountsAt(written([passed, skipped, flaky]), [0, 2]);
    assert.deepEqual([...outcomes], [[0, passed], [2, flaky]]);
  });
});

describe("a list of tests", () => {
  it("comes back in its order, whatever the order is", () => {
    const testNos = Int32Array.from([5, 6, 7, 0, 2_147_483_647, 3, 3]);
    assert.deepEqual(decodeTestList(encodeTestList(testNos), testNos.length), testNos);
  });

  it("takes one byte a test where numbers ascend by one", () => {
    const testNos = Array.from({ length: 1_000 }, (_, index) => index);
    assert.equal(encodeTestList(testNos).length, 1_000);
  });
});

describe("durations", () => {
  const decoded = ({ durations, durationUnit }: ReturnType<typeof encodeDurations>) => {
    const reader = new VarintReader(durations);
    const values: number[] = [];
    while (!reader.done) values.push(reader.read() * durationUnit);
    return values;
  };

  it("are kept in milliseconds where nothing is lost", () => {
    const encoded = encodeDurations(Float64Array.from([1_000, 0, 45_000]));
    assert.equal(encoded.durationUnit, 1_000);
    assert.deepEqual(decoded(encoded), [1_000, 0, 45_000]);
  });

  it("are kept in microseconds otherwise", () => {
    const encoded = encodeDurations(Float64Array.from([1_000, 1, Number.MAX_SAFE_INTEGER]));
    assert.equal(encoded.durationUnit, 1);
    assert.deepEqual(decoded(encoded), [1_000, 1, Number.MAX_SAFE_INTEGER]);
  });
});
