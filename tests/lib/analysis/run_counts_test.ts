import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import type { AttemptKind } from "../../../lib/analysis/columns.ts";
import { RunCounts, type RunTotals } from "../../../lib/analysis/run_counts.ts";
import { runOf } from "./run_of.ts";

const LISTS = [[], [3, 0, 1], [1]];

/** A run of a list, each test of which took 1, 2, 3 ... milliseconds, and passed once unless given. */
function run(list: number, kinds: AttemptKind[][] = []) {
  const tests = LISTS[list]!.map((testNo, index) =>
    [
      testNo,
      (kinds[index] ?? ["positive"]).map((kind, attempt, { length }) => ({
        kind,
        durationMicroseconds: attempt === length - 1 ? (index + 1) * 1000 : 0,
      })),
    ] as const
  );
  return runOf(1, new Map(tests));
}

const NOTHING = { added: [], removed: [] };

describe("counts of runs", () => {
  const twice: AttemptKind[] = ["negative", "positive"];
  const skipped: AttemptKind[] = ["skipped"];
  const none = RunCounts.none({ withTime: true });
  const all = (counts: RunCounts) => [0, 1, 2, 3, 4].map((testNo) => counts.of(testNo));

  it("count every test of a list once in each run, but for the exceptions", () => {
    const counts = none.changed({ ...NOTHING, added: [run(1), run(1, [twice, skipped]), run(2)] });
    const of = (key: keyof RunTotals) => all(counts).map((totals) => totals[key]);
    assert.deepEqual(of("countedResultCount"), [1, 3, 0, 3, 0]);
    assert.deepEqual(of("negativeResultCount"), [0, 0, 0, 1, 0]);
    assert.deepEqual(of("resultCount"), [2, 3, 0, 3, 0]);
    assert.deepEqual(of("timeConsumed"), [4_000, 7_000, 0, 2_000, 0]);
  });

  it("count every result of a test, of whatever kind", () => {
    const kinds: AttemptKind[] = ["negative", "unknown", "skipped", "negative", "positive"];
    assert.deepEqual(none.changed({ ...NOTHING, added: [run(2, [kinds])] }).of(1), {
      countedResultCount: 3,
      negativeResultCount: 2,
      resultCount: 5,
      timeConsumed: 1_000,
    });
  });

  it("are without a run that is taken away as if it had never been", () => {
    const kept = none.changed({ ...NOTHING, added: [run(1)] });
    const both = kept.changed({ ...NOTHING, added: [run(1, [twice, skipped])] });
    const back = both.changed({ ...NOTHING, added: [run(2)], removed: [run(1, [twice, skipped])] });
    assert.deepEqual(all(back), all(none.changed({ ...NOTHING, added: [run(1), run(2)] })));
    assert.equal(both.of(3).countedResultCount, 3, "what was counted before stays");
  });

  it("have no times unless requested", () => {
    const counts = RunCounts.none({ withTime: false }).changed({ ...NOTHING, added: [run(1)] });
    assert.equal(counts.of(1).timeConsumed, null);
    assert.equal(counts.byteLength, 48);
  });
});
