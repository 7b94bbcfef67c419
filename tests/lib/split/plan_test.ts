import { describe, it } from "@std/testing/bdd";
import fc from "fast-check";
import assert from "node:assert/strict";
import {
  longestTotal,
  type Share,
  shareByNumber,
  shareByWeight,
  type SplitItem,
  usefulNodeCount,
  weigh,
  type WeighedItem,
} from "../../../lib/split/plan.ts";

// The same cases each time, so that no run fails by chance.
fc.configureGlobal({ seed: 1 });

const item: fc.Arbitrary<SplitItem> = fc.record({
  name: fc.oneof(fc.string(), fc.constantFrom("a", "b", "a/b", "__proto__")),
  weight: fc.option(fc.oneof(fc.nat(), fc.nat(10), fc.constant(0))),
});

const nodeCount = fc.integer({ min: 1, max: 40 });

const lengthOf = (shares: { items: readonly unknown[] }[]) =>
  shares.map(({ items }) => items.length);

/** The lightest heaviest share of all distributions. */
function bestPossible(items: readonly WeighedItem[], nodes: number): number {
  const totals = new Array<number>(nodes).fill(0);
  function best(index: number): number {
    if (index === items.length) return Math.max(...totals);
    let least = Infinity;
    for (let node = 0; node < nodes; node++) {
      totals[node]! += items[index]!.weight;
      least = Math.min(least, best(index + 1));
      totals[node]! -= items[index]!.weight;
    }
    return least;
  }
  return best(0);
}

describe("shares of equal weight", () => {
  it("contain each item exactly once, for any number of nodes", () => {
    fc.assert(fc.property(fc.array(item), nodeCount, (items, nodes) => {
      for (const share of [shareByWeight, shareByNumber]) {
        const shares = share(weigh(items), nodes);
        assert.equal(shares.length, nodes);
        const names = shares.flatMap((one) => one.items.map(({ name }) => name)).sort();
        assert.deepEqual(names, [...new Set(items.map(({ name }) => name))].sort());
      }
    }));
  });

  it("are the same for any order of the items", () => {
    const distinct = fc.uniqueArray(item, { selector: ({ name }) => name });
    const shuffled = distinct.chain((items) =>
      fc.tuple(
        fc.constant(items),
        fc.shuffledSubarray(items, { minLength: items.length, maxLength: items.length }),
      )
    );
    fc.assert(fc.property(shuffled, nodeCount, ([items, others], nodes) => {
      assert.deepEqual(shareByWeight(weigh(items), nodes), shareByWeight(weigh(others), nodes));
    }));
  });

  it("are at most 4/3 of the best that is possible", () => {
    const few = fc.array(item, { minLength: 1, maxLength: 7 });
    fc.assert(fc.property(few, fc.integer({ min: 1, max: 3 }), (items, nodes) => {
      const weighed = weigh(items);
      const longest = longestTotal(shareByWeight(weighed, nodes));
      assert.ok(longest <= (4 / 3) * bestPossible(weighed, nodes) + 1e-6);
    }));
  });

  it("have equal numbers of items if no item has a weight", () => {
    const items = weigh(["d", "a", "c", "b", "e"].map((name) => ({ name, weight: 0 })));
    assert.deepEqual(lengthOf(shareByWeight(items, 2)), [3, 2]);
  });

  it("take the median for an item of unknown weight", () => {
    const weighed = weigh([
      { name: "new", weight: null },
      { name: "short", weight: 1 },
      { name: "middle", weight: 10 },
      { name: "long", weight: 1000 },
    ]);
    assert.equal(weighed.find(({ name }) => name === "new")!.weight, 10);
  });

  it("keep the shares that they are added to", () => {
    const [kept] = shareByWeight(weigh([{ name: "old", weight: 5 }]), 1);
    const shares = shareByWeight(weigh([{ name: "new", weight: 5 }]), 2, { kept: [kept!] });
    assert.deepEqual(shares.map(({ items }) => items.map(({ name }) => name)), [["old"], ["new"]]);
  });

  it("have items of one selector together, whose weights add up", () => {
    const items = weigh([
      { name: "a/FooTest", weight: 5 },
      { name: "b/FooTest", weight: 4 },
      { name: "c/BarTest", weight: 6 },
      { name: "d/BazTest", weight: 2 },
    ]);
    const selectorOf = (name: string) => name.slice(2);
    const namesOf = (shares: Share[]) => shares.map(({ items }) => items.map(({ name }) => name));
    assert.deepEqual(namesOf(shareByWeight(items, 2, { selectorOf })), [
      ["a/FooTest", "b/FooTest"],
      ["c/BarTest", "d/BazTest"],
    ]);
    const kept = shareByWeight(items, 2, { selectorOf });
    const more = shareByWeight(weigh([{ name: "z/FooTest", weight: 9 }]), 2, { selectorOf, kept });
    assert.deepEqual(namesOf(more)[0], ["a/FooTest", "b/FooTest", "z/FooTest"]);
  });
});

describe("the useful number of nodes", () => {
  const items = weigh([
    { name: "long", weight: 60 },
    { name: "b", weight: 40 },
    { name: "c", weight: 30 },
    { name: "d", weight: 25 },
    { name: "e", weight: 10 },
  ]);

  it("is where the longest item takes as long as the longest node", () => {
    assert.deepEqual(usefulNodeCount(items), {
      nodeCount: 3,
      longest: { name: "long", weight: 60 },
    });
    assert.equal(longestTotal(shareByWeight(items, 3)), 60);
    assert.ok(longestTotal(shareByWeight(items, 2)) > 60);
  });

  it("is unknown without weights", () => {
    assert.equal(usefulNodeCount([]), null);
    assert.equal(usefulNodeCount(weigh([{ name: "a", weight: null }])), null);
  });

  it("is such that more nodes make nothing faster", () => {
    fc.assert(fc.property(fc.array(item, { minLength: 1, maxLength: 40 }), (items) => {
      const weighed = weigh(items);
      const found = usefulNodeCount(weighed);
      if (!found) return;
      const longest = longestTotal(shareByWeight(weighed, found.nodeCount));
      assert.equal(longest, found.longest.weight);
    }));
  });
});
