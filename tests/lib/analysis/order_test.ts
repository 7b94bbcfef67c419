import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { sortTests, type TestOrder } from "../../../lib/analysis/order.ts";
import type { TrackedTest } from "../../../lib/analysis/tracked_test.ts";

/** `latest` is the second of the latest disruption. */
function test(
  id: string,
  [disruptionCount, countedResultCount]: [number, number],
  latest: number | null,
): TrackedTest {
  return {
    id,
    repositoryId: 1,
    testNo: 1,
    suite: "",
    class: "",
    name: id,
    file: "",
    tags: [],
    disruptionCount,
    countedResultCount,
    negativeResultCount: 0,
    resultCount: countedResultCount,
    timeConsumed: 0,
    firstDisruptionAt: latest,
    latestDisruption: latest === null
      ? null
      : { recordedAt: latest, commitOid: "", buildUrl: "", message: "" },
    latestPositive: null,
    quarantine: null,
  };
}

function order(by: TestOrder, tests: TrackedTest[]): string {
  const sorted = sortTests(tests, by).map(({ id }) => id).join("");
  assert.equal(sortTests(tests.toReversed(), by).map(({ id }) => id).join(""), sorted);
  return sorted;
}

describe("the order of tests", () => {
  it("is that of the exact ratio, where three decimals are the same", () => {
    const tests = [test("a", [333, 1000], 9), test("b", [1, 3], 1), test("c", [1, 1], 1)];
    assert.equal(order("disruptivenessRatio", tests), "cba");
    const close = [test("a", [1_000_000, 2_000_001], 9), test("b", [999_999, 1_999_998], 1)];
    assert.equal(order("disruptivenessRatio", close), "ba");
  });

  it("is that of the latest disruption for recency", () => {
    const tests = [test("a", [9, 9], 1), test("b", [1, 9], 3), test("c", [5, 9], 2)];
    assert.equal(order("recency", tests), "bca");
  });

  it("gives ties to the latest disruption, then to the smaller id", () => {
    const tests = [test("c", [1, 2], 5), test("b", [2, 4], 5), test("a", [1, 2], 4)];
    assert.equal(order("disruptivenessRatio", tests), "bca");
    assert.equal(order("recency", tests), "bca");
  });

  it("puts tests that were never disruptive last", () => {
    const tests = [
      test("a", [0, 100], null),
      test("b", [0, 0], null),
      test("c", [0, 5], 0),
      test("d", [0, 0], 7),
    ];
    assert.equal(order("disruptivenessRatio", tests), "dcab");
    assert.equal(order("recency", tests), "dcab");
  });

  it("leaves the given array as it is", () => {
    const tests = [test("b", [0, 1], 1), test("a", [1, 1], 1)];
    sortTests(tests, "disruptivenessRatio");
    assert.equal(tests[0]?.id, "b");
  });
});
