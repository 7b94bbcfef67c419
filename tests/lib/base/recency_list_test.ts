import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import fc from "fast-check";
import { noPlace, RecencyList } from "../../../lib/base/recency_list.ts";

describe("an order of use", () => {
  it("tells what was used longest ago, whatever was used and taken out before", () => {
    const things = ["a", "b", "c", "d"].map((name) => ({ name, ...noPlace() }));
    const action = fc.record({ index: fc.nat(things.length - 1), isRemoved: fc.boolean() });
    fc.assert(fc.property(fc.array(action), (actions) => {
      const list = new RecencyList<typeof things[number]>();
      let expected: typeof things = [];
      for (const { index, isRemoved } of actions) {
        const thing = things[index]!;
        const isIn = expected.includes(thing);
        expected = expected.filter((one) => one !== thing);
        if (!isRemoved) expected.push(thing);
        if (isRemoved && isIn) list.remove(thing);
        if (!isRemoved && isIn) list.use(thing);
        if (!isRemoved && !isIn) list.add(thing);
        assert.equal(list.oldest, expected[0] ?? null);
      }
      for (const thing of expected) {
        assert.equal(list.oldest, thing);
        list.remove(thing);
      }
      assert.equal(list.oldest, null);
    }));
  });
});
