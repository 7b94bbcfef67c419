import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  type Attempt,
  type AttemptKind,
  attemptsOfTests,
  bytesWithout,
  decodeTestList,
  durationAt,
  encodeTestList,
  forEachException,
  type ResultCounts,
} from "../../../lib/analysis/columns.ts";
import { VarintReader } from "../../../lib/analysis/varint.ts";
import { attemptsOf, columnsOf } from "./columns_of.ts";

/** Attempts that took 1, 2, 3 ... milliseconds. */
function attempts(...kinds: AttemptKind[]): Attempt[] {
  return kinds.map((kind, index) => ({ kind, durationMicroseconds: (index + 1) * 1000 }));
}

const passed = attempts("positive");
const skipped = attempts("skipped");
const flaky = attempts("negative", "positive");
const odd = attempts("positive", "negative", "unknown", "skipped", "negative", "positive");
const long = attempts(
  ...Array.from({ length: 9 }, () => "negative" as const),
  "unknown",
  "positive",
);

describe("the exceptions of a submission", () => {
  const exceptionsOf = (...tests: Attempt[][]) => columnsOf(tests).exceptions;

  it("cost nothing when every test passed once", () => {
    assert.equal(exceptionsOf(passed, passed, passed).length, 0);
  });

  it("come back counted, with their places", () => {
    const seen: [number, ResultCounts][] = [];
    forEachException(
      exceptionsOf(passed, skipped, odd, passed, flaky),
      (index, { counts }) => {
        seen.push([index, { ...counts }]);
      },
    );
    assert.deepEqual(seen, [
      [1, { positive: 0, negative: 0, skipped: 1, unknown: 0 }],
      [2, { positive: 2, negative: 2, skipped: 1, unknown: 1 }],
      [4, { positive: 1, negative: 1, skipped: 0, unknown: 0 }],
    ]);
  });

  it("take two bytes for a skip nearby, and one more for the first attempt of a flaky test", () => {
    assert.equal(exceptionsOf(passed, skipped).length, 2);
    assert.equal(exceptionsOf(passed, flaky).length, 3);
  });
});

describe("the attempts of a submission", () => {
  const tests = [passed, skipped, odd, passed, long, flaky, odd, attempts("negative"), passed];

  it("come back in their order with their durations", () => {
    const seen: Attempt[][] = [];
    attemptsOfTests(columnsOf(tests)).forEach((attempts, index) => seen[index] = attempts);
    assert.deepEqual(seen, tests);
  });

  it("come back for a single test", () => {
    tests.forEach((attempts, index) =>
      assert.deepEqual(attemptsOf(columnsOf(tests), index, tests.length), attempts)
    );
  });

  it("come back whatever they are", () => {
    const kinds: AttemptKind[] = ["positive", "negative", "skipped", "unknown"];
    const sequences = [0, 1, 2, 3].flatMap((length) =>
      Array.from(
        { length: 4 ** (length + 1) },
        (_, number) =>
          Array.from({ length: length + 1 }, (_, place) =>
            kinds[Math.floor(number / 4 ** place) % 4]!),
      )
    );
    const all = sequences.map((sequence) => attempts(...sequence));
    const seen: Attempt[][] = [];
    attemptsOfTests(columnsOf(all)).forEach((attempts, index) => seen[index] = attempts);
    assert.deepEqual(seen, all);
    forEachException(columnsOf(all).exceptions, (index, outcome) => {
      for (const kind of kinds) {
        assert.equal(
          outcome.counts[kind],
          sequences[index]!.filter((each) => each === kind).length,
        );
      }
    });
  });

  it("of more time than a total can hold leave the last one without", () => {
    const long = Number.MAX_SAFE_INTEGER;
    const columns = columnsOf([[
      { kind: "negative", durationMicroseconds: long },
      { kind: "positive", durationMicroseconds: long },
    ]]);
    assert.deepEqual(attemptsOf(columns, 0, 1), [
      { kind: "negative", durationMicroseconds: long },
      { kind: "positive", durationMicroseconds: 0 },
    ]);
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
  const decoded = (...durations: number[]) => {
    const columns = columnsOf(
      durations.map((durationMicroseconds) => [{ kind: "positive", durationMicroseconds }]),
    );
    const reader = new VarintReader(columns.durations);
    const values: number[] = [];
    while (!reader.done) values.push(reader.read() * columns.durationUnit);
    return { unit: columns.durationUnit, values };
  };

  it("are kept in milliseconds where nothing is lost", () => {
    const values = [1_000, 0, 45_000];
    assert.deepEqual(decoded(...values), { unit: 1_000, values });
  });

  it("of one test are found in the part of the bytes that is nearer to it", () => {
    const durations = [5, 0, 300, 2 ** 40, 127, 128, 16_384, 0, 1, Number.MAX_SAFE_INTEGER];
    for (let testCount = 1; testCount <= durations.length; testCount++) {
      const tests = durations.slice(0, testCount).map((durationMicroseconds): Attempt[] => [
        { kind: "positive", durationMicroseconds },
      ]);
      const columns = columnsOf(tests);
      for (let index = 0; index < testCount; index++) {
        const { atStart, atEnd } = bytesWithout(index, testCount);
        assert.ok(atStart + atEnd >= Math.floor(testCount / 2));
        const part = columns.durations.slice(atStart, columns.durations.length - atEnd);
        const found = durationAt({ ...columns, durations: part }, index, testCount);
        assert.equal(found, durations[index]);
      }
    }
  });

  it("are kept in microseconds otherwise", () => {
    const values = [1_000, 1, Number.MAX_SAFE_INTEGER];
    assert.deepEqual(decoded(...values), { unit: 1, values });
  });

  it("are kept in microseconds when only the total of a test is in milliseconds", () => {
    const attempts: Attempt[] = [
      { kind: "negative", durationMicroseconds: 1_500 },
      { kind: "positive", durationMicroseconds: 500 },
    ];
    assert.deepEqual(attemptsOf(columnsOf([attempts]), 0, 1), attempts);
  });
});
