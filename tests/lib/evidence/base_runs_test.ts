import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { countedRuns } from "../../../lib/evidence/base_runs.ts";

/** Runs of a job, each of a code version of its own: `.` passed, `O` was an outage. */
function runsOf(signs: string, job = "ci") {
  return [...signs].map((sign, place) => ({
    submissionId: `${job} ${place}`,
    recordedAt: place,
    isOutage: sign === "O",
    code: `${job} ${place}`,
    job,
    environment: "",
    shard: "",
  }));
}

describe("the runs that count", () => {
  const counted = (runs: ReturnType<typeof runsOf>) =>
    countedRuns(runs).map(({ isOutage }) => isOutage ? "O" : ".").join("");

  it("are those of no outage", () => {
    assert.equal(counted(runsOf("..OOO.O.")), "....");
    assert.equal(counted(runsOf("..OO")), "..");
  });

  it("are those of an outage that goes on, too, from three code versions on", () => {
    assert.equal(counted(runsOf(".O.OOO")), "..OOO");
    const again = runsOf("..OOO").map((run) => run.isOutage ? { ...run, code: "same" } : run);
    assert.equal(counted(again), "..");
  });

  it("are judged per job", () => {
    assert.equal(counted([...runsOf(".OOO", "unit"), ...runsOf("OO.", "e2e")]), ".OOO.");
  });
});
