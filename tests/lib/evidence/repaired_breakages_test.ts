import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { encodeResults } from "../../../lib/analysis/columns.ts";
import { RunResults, TestList } from "../../../lib/analysis/run.ts";
import { findRepairedBreakages } from "../../../lib/evidence/repaired_breakages.ts";

const TESTS = new TestList(Int32Array.of(7));

/** The attempts of a run by its sign: `o` is a failed run of an outage. */
const ATTEMPTS: Record<string, number[]> = { ".": [0], F: [1], o: [1], r: [1, 0], s: [2] };

/** Breakages of a test, given its runs, oldest first. */
function breakagesIn(signs: string) {
  const runs = [...signs].map((sign, recordedAt) => {
    const kinds = ATTEMPTS[sign]!;
    const columns = encodeResults(1, {
      testIndexes: new Uint32Array(kinds.length),
      kinds: Uint8Array.from(kinds),
      durations: new Float64Array(kinds.length),
    });
    const submissionId = recordedAt.toString(16).padStart(24, "0");
    return {
      submissionId,
      recordedAt,
      isOutage: sign === "o",
      results: new RunResults(TESTS, columns),
    };
  });
  return findRepairedBreakages(runs.reverse(), { testNos: [7] }).get(7) ?? [];
}

const CALM = ".".repeat(20);

describe("a repaired breakage of a test", () => {
  it("is three failed runs in a row with twenty passes after them", () => {
    assert.deepEqual(breakagesIn(`..FFF${CALM}`), [{ start: 2, end: 4 }]);
    assert.deepEqual(breakagesIn(`FFFFs${CALM}F.${CALM}FFF${CALM}..`), [
      { start: 0, end: 3 },
      { start: 47, end: 49 },
    ]);
  });

  it("is not of fewer failures, of failures with passes between, or of passed retries", () => {
    assert.deepEqual(breakagesIn(`..FF${CALM}`), []);
    assert.deepEqual(breakagesIn(`FF.F${CALM}`), []);
    assert.deepEqual(breakagesIn(`FFrF${CALM}`), []);
    assert.deepEqual(breakagesIn(`FFoF${CALM}`), [{ start: 0, end: 3 }]);
    assert.deepEqual(breakagesIn(`FFo${CALM}`), []);
  });

  it("is not one that goes on, or after which a run failed within twenty", () => {
    assert.deepEqual(breakagesIn("..FFFFFF"), []);
    assert.deepEqual(breakagesIn(`FFF${CALM.slice(1)}`), []);
    assert.deepEqual(breakagesIn(`FFF${CALM.slice(1)}F${CALM}`), []);
    assert.deepEqual(breakagesIn(`FFF${CALM.slice(1)}r${CALM}`), []);
  });
});
