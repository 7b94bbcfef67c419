import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { Slots } from "../../../lib/base/slots.ts";

describe("slots", () => {
  it("hold what was added until it is removed", () => {
    const slots = new Slots<string>();
    const a = slots.add("a");
    const b = slots.add("b");
    assert.deepEqual(slots.entries().toArray(), [[a, "a"], [b, "b"]]);
    assert.equal(slots.remove(a, "a"), true);
    assert.deepEqual(slots.entries().toArray(), [[b, "b"]]);
  });

  it("are used again, and then keep what is not meant", () => {
    const slots = new Slots<string>();
    const slot = slots.add("gone");
    slots.remove(slot, "gone");
    assert.equal(slots.add("next"), slot);
    assert.equal(slots.remove(slot, "gone"), false);
    assert.deepEqual(slots.entries().toArray(), [[slot, "next"]]);
  });

  it("can be emptied while they are looked at", () => {
    const slots = new Slots<number>();
    for (let value = 0; value < 5; value++) slots.add(value);
    for (const [slot, value] of slots.entries()) if (value % 2 === 0) slots.remove(slot, value);
    assert.deepEqual(slots.entries().map(([, value]) => value).toArray(), [1, 3]);
  });
});
