import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  endOfManualEntry,
  type QuarantineEvent,
  withEnds,
} from "../../../lib/analysis/quarantine.ts";

/** A change of the entry of test a, b or c; `end` is that of the entry. */
function change(
  at: number,
  action: QuarantineEvent["action"],
  testId: string,
  end: number | null = null,
): QuarantineEvent {
  return {
    at,
    action,
    testId,
    repository: "acme/shop",
    suite: "",
    class: "",
    name: testId,
    file: "",
    author: "ada",
    quarantineType: "manual",
    quarantineReason: null,
    quarantineOwner: null,
    quarantineExpiresAt: end,
    quarantineEnvironment: null,
  };
}

function eventsOf(changes: QuarantineEvent[], now: number): string[] {
  return withEnds(changes, now).map(({ at, action, testId }) => `${at} ${action} ${testId}`);
}

describe("the log of quarantine entries", () => {
  it("has an end from its second on", () => {
    const changes = [change(1, "added", "a", 5)];
    assert.deepEqual(eventsOf(changes, 4), ["1 added a"]);
    assert.deepEqual(eventsOf(changes, 5), ["1 added a", "5 ended a"]);
    assert.equal(withEnds(changes, 5)[1]!.author, "");
  });

  it("has no end of an entry that was removed, or whose end was moved, before", () => {
    const changes = [
      change(1, "added", "a", 5),
      change(1, "added", "b", 5),
      change(2, "removed", "a", 5),
      change(3, "changed", "b", 8),
    ];
    const events = ["1 added a", "1 added b", "2 removed a", "3 changed b"];
    assert.deepEqual(eventsOf(changes, 7), events);
    assert.deepEqual(eventsOf(changes, 8), [...events, "8 ended b"]);
  });

  it("has an end before the next addition, even in the same second", () => {
    const changes = [change(1, "added", "a", 5), change(5, "added", "a", null)];
    assert.deepEqual(eventsOf(changes, 9), ["1 added a", "5 ended a", "5 added a"]);
  });

  it("sorts the ends of several tests among the changes of others", () => {
    const changes = [
      change(1, "added", "a", 9),
      change(2, "added", "b", 3),
      change(6, "added", "c"),
    ];
    assert.deepEqual(eventsOf(changes, 10), [
      "1 added a",
      "2 added b",
      "3 ended b",
      "6 added c",
      "9 ended a",
    ]);
  });
});

describe("the end of a manual entry", () => {
  const entry = (end: number | null, quarantineType: "manual" | "automatic" = "manual") => ({
    quarantinedAt: 1,
    quarantinedBy: "ada",
    quarantineType,
    quarantineReason: null,
    quarantineOwner: null,
    quarantineExpiresAt: end,
    quarantineEnvironment: null,
  });

  it("is the decision of a person once it has passed", () => {
    assert.equal(endOfManualEntry(entry(5), 4), 0);
    assert.equal(endOfManualEntry(entry(5), 5), 5);
  });

  it("does not exist for an entry without an end, an automatic one, or without an entry", () => {
    assert.equal(endOfManualEntry(entry(null), 9), 0);
    assert.equal(endOfManualEntry(entry(5, "automatic"), 9), 0);
    assert.equal(endOfManualEntry(undefined, 9), 0);
  });
});
