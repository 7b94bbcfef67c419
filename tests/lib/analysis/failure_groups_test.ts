import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { failureCause, fingerprint, UNKNOWN_CAUSE } from "../../../lib/analysis/failure_groups.ts";
import { CAUSES } from "./failure_messages.ts";
import { type FailedAttempt, groupedFailures } from "./grouped_failures.ts";

const causeOf = (message: string): string => failureCause(message, "");

describe("the cause of a failure", () => {
  it("is shared by messages of one cause, and by no others", () => {
    assert.ok(CAUSES.flat().length >= 60);
    const places = new Map<string, string>();
    for (const messages of CAUSES) {
      const causes = messages.map(causeOf);
      assert.deepEqual(causes, causes.map(() => causes[0]), "expected one cause");
      const other = places.get(causes[0]!);
      assert.equal(other, undefined, `expected "${messages[0]}" to differ from "${other}"`);
      places.set(causes[0]!, messages[0]!);
    }
  });

  it("is that of the body's first line without a message", () => {
    assert.equal(failureCause("", "\n  row 3 is lost\n  got 4"), causeOf("row 5 is lost"));
    assert.equal(failureCause("broken", "expected 3"), "broken");
    assert.equal(failureCause("", ""), "");
  });

  it("keeps its own texts", () => {
    for (const message of CAUSES.flat()) {
      const cause = causeOf(message);
      assert.equal(causeOf(cause), cause);
    }
  });

  it("has a fingerprint that stays the same", () => {
    assert.equal(fingerprint(causeOf("expected 3, got 4")), "70f9019151fe634f");
    assert.match(fingerprint(""), /^[0-9a-f]{16}$/);
  });
});

/** Ids of tests, not in their order. */
const IDS = Array.from({ length: 60 }, (_, test) => `t${String((test * 7) % 60).padStart(2, "0")}`);

function attempt(more: Partial<FailedAttempt>): FailedAttempt {
  return {
    fingerprint: "a",
    test: 1,
    branch: "main",
    recordedAt: 100,
    position: 0,
    isDisruption: false,
    ...more,
  };
}

describe("groups of failures", () => {
  it("are sorted by size, with the fields of their failures", () => {
    const { count, groups } = groupedFailures([
      attempt({ fingerprint: "b", recordedAt: 90 }),
      attempt({ recordedAt: 100, test: 2, branch: "work", isDisruption: true }),
      attempt({ recordedAt: 110, branch: "" }),
      attempt({ recordedAt: 110, test: 2, position: 1, isDisruption: true }),
    ], IDS);
    assert.equal(count, 2);
    assert.deepEqual(groups, [
      {
        fingerprint: "a",
        latest: attempt({ recordedAt: 110, test: 2, position: 1, isDisruption: true }),
        count: 3,
        disruptionCount: 2,
        firstRecordedAt: 100,
        lastRecordedAt: 110,
        branches: ["main", "work"],
        tests: [IDS[2], IDS[1]],
        testCount: 2,
      },
      {
        fingerprint: "b",
        latest: attempt({ fingerprint: "b", recordedAt: 90 }),
        count: 1,
        disruptionCount: 0,
        firstRecordedAt: 90,
        lastRecordedAt: 90,
        branches: ["main"],
        tests: [IDS[1]],
        testCount: 1,
      },
    ]);
    assert.deepEqual(groupedFailures([], []), { count: 0, groups: [] });
  });

  it("of an unknown cause are one each, the latest first", () => {
    const { count, groups } = groupedFailures(
      [1, 2, 3].map((position) =>
        attempt({ fingerprint: UNKNOWN_CAUSE, position, test: position })
      ),
      IDS,
    );
    assert.equal(count, 3);
    assert.deepEqual(groups.map(({ latest, count }) => [latest.position, count]), [[3, 1], [2, 1], [
      1,
      1,
    ]]);
  });

  it("of the same size are ordered by their latest failure, then by fingerprint", () => {
    const { groups } = groupedFailures([
      ...["c", "a", "d", "b"].map((fingerprint) => attempt({ fingerprint })),
      attempt({ fingerprint: "e", recordedAt: 101 }),
    ], IDS);
    assert.deepEqual(groups.map((group) => group.fingerprint), ["e", "a", "b", "c", "d"]);
  });

  it("are at most 50, with at most 20 tests each", () => {
    const attempts = Array.from(
      { length: 60 },
      (_, cause) =>
        Array.from(
          { length: cause + 1 },
          (_, test) => attempt({ fingerprint: String(cause), test }),
        ),
    ).flat();
    const { count, groups } = groupedFailures([
      ...attempts,
      attempt({ fingerprint: "59", test: 17 }),
    ], IDS);
    assert.equal(count, 60);
    assert.equal(groups.length, 50);
    assert.deepEqual([groups[0]!.count, groups[49]!.count], [61, 11]);
    assert.equal(groups[0]!.testCount, 60);
    assert.deepEqual(groups[0]!.tests.slice(0, 3), ["t59", "t00", "t01"]);
    assert.equal(groups[0]!.tests.length, 20);
  });
});
