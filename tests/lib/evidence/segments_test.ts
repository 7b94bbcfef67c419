import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import fc from "fast-check";
import { logBeta } from "../../../lib/evidence/beta.ts";
import { changeRange, findSegments, type VersionOutcome } from "../../../lib/evidence/segments.ts";
import { outcomesOf } from "./outcomes.ts";
import { Random } from "../../../tools/measure/bench/random.ts";

/** Versions from a text: a dot passed once, an F failed once. */
function history(text: string): VersionOutcome[] {
  return [...text].map((sign) => ({ runs: 1, failures: sign === "F" ? 1 : 0 }));
}

/** `runs` runs that fail with a probability. */
function constant(random: Random, { runs, rate }: { runs: number; rate: number }) {
  return Array.from(
    { length: runs },
    () => ({ runs: 1, failures: random.next() < rate ? 1 : 0 }),
  );
}

/** Starts of the segments of a history. */
function starts(versions: readonly VersionOutcome[]): number[] {
  return findSegments(outcomesOf(versions)).map(({ first }) => first);
}

/** The logarithm of how probable a partition is, by the definition. */
function score(versions: readonly VersionOutcome[], places: readonly number[]): number {
  const all = [...places, versions.length];
  let sum = (places.length - 1) * Math.log(0.01) +
    (versions.length - places.length) * Math.log(0.99);
  for (const [index, first] of places.entries()) {
    const part = versions.slice(first, all[index + 1]);
    const runs = part.reduce((total, one) => total + one.runs, 0);
    const failures = part.reduce((total, one) => total + one.failures, 0);
    sum += logBeta(0.3 + failures, 0.5 + runs - failures) - logBeta(0.3, 0.5);
  }
  return sum;
}

/** All partitions of a history, by the starts of their segments. */
function partitions(count: number): number[][] {
  return Array.from({ length: 2 ** (count - 1) }, (_, bits) => [
    0,
    ...Array.from({ length: count - 1 }, (_, index) => index + 1)
      .filter((place) => bits & (1 << (place - 1))),
  ]);
}

const versionsOf = (maxLength: number) =>
  fc.array(
    fc.tuple(fc.constantFrom(0, 0.5, 1), fc.integer({ min: 1, max: 30 })),
    { minLength: 1, maxLength },
  ).map((versions) =>
    versions.map(([share, runs]) => ({ runs, failures: Math.floor(share * runs) }))
  );

describe("segments of a history", () => {
  it("are the most probable of all partitions", () => {
    fc.assert(fc.property(versionsOf(10), (versions) => {
      const greatest = Math.max(
        ...partitions(versions.length).map((places) => score(versions, places)),
      );
      assert.ok(Math.abs(score(versions, starts(versions)) - greatest) < 1e-9);
    }));
  });

  it("cover all versions, each once", () => {
    fc.assert(fc.property(versionsOf(200), (versions) => {
      const segments = findSegments(outcomesOf(versions));
      assert.deepEqual(segments.map(({ first }) => first), [
        0,
        ...segments.slice(0, -1).map(({ end }) => end),
      ]);
      assert.equal(segments.at(-1)!.end, versions.length);
      const failures = versions.reduce((sum, one) => sum + one.failures, 0);
      assert.equal(segments.reduce((sum, one) => sum + one.failures, 0), failures);
    }));
  });

  it("do not exist without a run", () => assert.deepEqual(findSegments(outcomesOf([])), []));

  it("show five red runs among eight hundred green ones", () => {
    const versions = history(".".repeat(400) + "FFFFF" + ".".repeat(395));
    assert.deepEqual(starts(versions), [0, 400, 405]);
  });

  it("show a test that is broken since its last three runs", () => {
    assert.deepEqual(starts(history(".".repeat(100) + "FFF")), [0, 100]);
  });

  it("do not begin with a single failure", () => {
    assert.deepEqual(starts(history(".".repeat(50) + "F" + ".".repeat(50))), [0]);
  });

  it("are one in 98 of 100 histories of constant rate", () => {
    const random = new Random(271128);
    let changes = 0;
    for (const rate of [0, 0.01, 0.03, 0.1, 0.5]) {
      for (let no = 0; no < 200; no++) {
        if (starts(constant(random, { runs: 300, rate })).length > 1) changes++;
      }
    }
    assert.ok(changes <= 20, `${changes} of 1,000 histories have a change`);
  });

  it("end in half of the cases where 3 % became nothing 300 runs ago", () => {
    const random = new Random(271129);
    let found = 0;
    for (let no = 0; no < 100; no++) {
      const versions = [
        ...constant(random, { runs: 600, rate: 0.03 }),
        ...constant(random, { runs: 300, rate: 0 }),
      ];
      const last = findSegments(outcomesOf(versions)).at(-1)!;
      if (last.first > 0 && last.failures === 0) found++;
    }
    assert.ok(found >= 45, `found ${found} of 100`);
  });
});

describe("the range of a change", () => {
  it("is the 99 % interval of its place, by the definition", () => {
    fc.assert(fc.property(versionsOf(40), (versions) => {
      const segments = findSegments(outcomesOf(versions));
      for (const [index, after] of segments.entries()) {
        const before = segments[index - 1];
        if (!before) continue;
        const part = versions.slice(before.first, after.end);
        const weights = part.slice(1).map((_, at) =>
          Math.exp(score(part, [0, at + 1]) - score(part, [0, after.first - before.first]))
        );
        const total = weights.reduce((sum, one) => sum + one, 0);
        const below = (count: number) =>
          weights.slice(0, count).reduce((sum, one) => sum + one, 0) / total;
        const { from, to } = changeRange(outcomesOf(versions), before, after);
        assert.ok(below(from - before.first) < 0.005 + 1e-9);
        assert.ok(below(from - before.first + 1) >= 0.005 - 1e-9);
        assert.ok(below(to - before.first) >= 0.995 - 1e-9);
        assert.ok(below(to - before.first - 1) < 0.995 + 1e-9);
      }
    }));
  });

  it("is one step where a test that always passed always fails", () => {
    const versions = history(".".repeat(300) + "F".repeat(200));
    const [before, after] = findSegments(outcomesOf(versions));
    assert.deepEqual(changeRange(outcomesOf(versions), before!, after!), { from: 299, to: 300 });
  });

  it("is wide where rare failures end", () => {
    const versions = history((".".repeat(30) + "F").repeat(12) + ".".repeat(600));
    const [before, after] = findSegments(outcomesOf(versions));
    const { from, to } = changeRange(outcomesOf(versions), before!, after!);
    assert.ok(from <= 372 && to >= 400, `${from} to ${to}`);
  });
});
