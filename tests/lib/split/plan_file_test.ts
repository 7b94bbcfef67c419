import { describe, it } from "@std/testing/bdd";
import fc from "fast-check";
import assert from "node:assert/strict";
import { shareByWeight, weigh } from "../../../lib/split/plan.ts";
import { fitPlan, readPlan, type SplitPlan, writePlan } from "../../../lib/split/plan_file.ts";

// The same cases each time, so that no run fails by chance.
fc.configureGlobal({ seed: 1 });

function planOf(weights: Record<string, number>, nodeCount: number): SplitPlan {
  const items = weigh(Object.entries(weights).map(([name, weight]) => ({ name, weight })));
  return {
    repository: "acme/shop",
    asOf: "2026-01-31T08:00:00Z",
    by: "file",
    unit: "microseconds",
    nodes: shareByWeight(items, nodeCount),
  };
}

const namesOf = ({ nodes }: SplitPlan) => nodes.map(({ items }) => items.map(({ name }) => name));

describe("a plan file", () => {
  const plan = planOf({ a: 30, b: 20, c: 10 }, 2);

  it("is read as it was written", () => assert.deepEqual(readPlan(writePlan(plan)), plan));

  it("is refused when something else wrote it", () => {
    const refused: [string, RegExp][] = [
      ["", /is not JSON/],
      ["[]", /no valid version/],
      [writePlan(plan).replace('"version": 1', '"version": 2'), /no valid version/],
      [writePlan(plan).replace('"weight": 30', '"weight": -1'), /no valid nodes\.0\.0\.weight/],
      [writePlan(plan).replace('"name": "c"', '"name": "a"'), /has a name twice/],
    ];
    for (const [text, message] of refused) assert.throws(() => readPlan(text), message);
  });

  it("gives the files that are there to the nodes that have them, and new ones to the others", () => {
    assert.deepEqual(namesOf(plan), [["a"], ["b", "c"]]);
    const fitted = fitPlan(plan, ["new", "c", "a"]);
    assert.deepEqual(namesOf(fitted), [["a"], ["c", "new"]]);
    assert.deepEqual(fitted.newNames, ["new"]);
  });

  it("has a file that is now spelled in another way, as it is spelled now", () => {
    const fitted = fitPlan(plan, ["./c", "b", ".//a"]);
    assert.deepEqual(namesOf(fitted), [[".//a"], ["./c", "b"]]);
    assert.deepEqual(fitted.newNames, []);
    // Written before spellings were compared.
    const twice = planOf({ a: 30, "./a": 20 }, 2);
    assert.deepEqual(namesOf(fitPlan(twice, ["a"])).flat(), ["a"]);
  });

  it("has each file exactly once, whatever is there", () => {
    const name = fc.constantFrom(..."abcdefghij");
    const weights = fc.dictionary(name, fc.nat());
    fc.assert(
      fc.property(weights, fc.array(name), fc.integer({ min: 1, max: 5 }), (all, names, n) => {
        const fitted = fitPlan(planOf(all, n), names);
        assert.deepEqual(namesOf(fitted).flat().sort(), [...new Set(names)].sort());
      }),
    );
  });
});
