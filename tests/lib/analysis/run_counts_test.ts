import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { ExceptionWriter } from "../../../lib/analysis/columns.ts";
import { type Run, RunCounts } from "../../../lib/analysis/run_counts.ts";

const LISTS = new Map([[1, Int32Array.of(3, 0, 1)], [2, Int32Array.of(1)]]);

/** A run of a list, each test of which took 1, 2, 3 ... units of a millisecond. */
function run(testListNo: number, outcomes: Parameters<ExceptionWriter["add"]>[1][] = []): Run {
  const exceptions = new ExceptionWriter();
  outcomes.forEach((outcome, index) => exceptions.add(index, outcome));
  return {
    testListNo,
    exceptions: exceptions.finish(),
    durations: Uint8Array.from(LISTS.get(testListNo)!, (_, index) => index + 1),
    durationUnit: 1000,
  };
}

const NOTHING = { added: [], removed: [], lists: LISTS };

describe("counts of runs", () => {
  const twice = { positive: 1, negative: 1, skipped: 0, unknown: 0 };
  const skipped = { positive: 0, negative: 0, skipped: 1, unknown: 0 };
  const none = RunCounts.none({ withTime: true });

  it("count every test of a list once in each run, but for the exceptions", () => {
    const counts = none.changed({ ...NOTHING, added: [run(1), run(1, [twice, skipped]), run(2)] });
    assert.deepEqual([0, 1, 2, 3, 4].map((testNo) => counts.resultsOf(testNo)), [1, 3, 0, 3, 0]);
    assert.deepEqual(
      [0, 1, 2, 3, 4].map((testNo) => counts.microsecondsOf(testNo)),
      [4_000, 7_000, 0, 2_000, 0],
    );
  });

  it("are without a run that is taken away as if it had never been", () => {
    const kept = none.changed({ ...NOTHING, added: [run(1)] });
    const both = kept.changed({ ...NOTHING, added: [run(1, [twice, skipped])] });
    const back = both.changed({ ...NOTHING, added: [run(2)], removed: [run(1, [twice, skipped])] });
    for (const testNo of [0, 1, 2, 3]) {
      const extra = testNo === 1 ? 1 : 0;
      assert.equal(back.resultsOf(testNo), kept.resultsOf(testNo) + extra);
      assert.equal(back.microsecondsOf(testNo), kept.microsecondsOf(testNo)! + extra * 1_000);
    }
    assert.equal(both.resultsOf(3), 3, "what was counted before stays");
  });

  it("know no times that nobody wants", () => {
    const counts = RunCounts.none({ withTime: false }).changed({ ...NOTHING, added: [run(1)] });
    assert.equal(counts.microsecondsOf(1), null);
    assert.equal(counts.byteLength, 16);
  });
});
