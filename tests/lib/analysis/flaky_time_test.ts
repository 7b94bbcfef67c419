import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import type { Attempt } from "../../../lib/analysis/columns.ts";
import {
  eventOf,
  type FlakyRun,
  flakyTime,
  timeOfRetries,
} from "../../../lib/analysis/flaky_time.ts";
import { runOf } from "./run_of.ts";

const passed = (seconds: number): Attempt => ({
  kind: "positive",
  durationMicroseconds: seconds * 1_000_000,
});
const failed = (seconds: number): Attempt => ({ ...passed(seconds), kind: "negative" });

/** A run of tests 1 and 2 of one job; a failure of test 1 is a disruption. */
function run(at: number, first: Attempt[], job = "unit", event = "build 1"): FlakyRun {
  const disrupted = new Set(first.some(({ kind }) => kind === "negative") ? [1] : []);
  return runOf(at, { 1: first, 2: [passed(100)] }, {
    job,
    event,
    codeVersion: "tree:1",
    disrupted,
  });
}

/** The same run, as it is before its durations are loaded. */
function untimed(run: FlakyRun): FlakyRun {
  const { durations: _, ...rest } = run;
  return rest;
}

const seconds = (...runs: FlakyRun[]) => flakyTime(runs, [10]).microseconds[0]! / 1_000_000;

describe("the time of flaky failures", () => {
  it("is that of failed attempts, and of jobs that were run again", () => {
    assert.equal(seconds(run(10, [failed(5), passed(3)])), 5);
    assert.equal(seconds(run(10, [failed(5)]), run(11, [passed(4)])), 5 + 104);
    assert.equal(seconds(run(10, [failed(5)]), run(11, [passed(4)], "lint")), 5);
  });

  it("does not include earlier runs, which only show what is repeated", () => {
    assert.equal(seconds(run(9, [failed(5)]), run(10, [passed(4)])), 104);
  });

  it("is not that of another run of the same code, such as a nightly one", () => {
    assert.equal(seconds(run(10, [failed(5)]), run(11, [passed(4)], "unit", "build 2")), 5);
  });

  it("is that of each period by itself", () => {
    const runs = [run(9, [failed(5)]), run(10, [failed(5)]), run(20, [passed(4)])];
    assert.deepEqual(flakyTime(runs, [10, 20]).microseconds, [105_000_000, 104_000_000]);
  });

  it("follows from the disrupted runs alone where each test passed in its run after all", () => {
    const ofCode = (code: string, run: FlakyRun) => ({ ...untimed(run), code, codeVersion: code });
    const runs = [
      ofCode("a", run(8, [failed(1), passed(1)])),
      ofCode("a", run(10, [failed(2), passed(1)])),
      ofCode("b", run(11, [failed(3), passed(1)])),
      ofCode("b", run(21, [failed(4)])),
      ofCode("a", run(22, [failed(5), failed(6), passed(1)])),
    ];
    const { microseconds, repeatable } = timeOfRetries(runs, [10, 20]);
    assert.deepEqual(microseconds, [2_000_000, 11_000_000]);
    assert.deepEqual(repeatable.map(({ recordedAt }) => recordedAt), [11, 21]);
    const ofA = runs.filter(({ code }) => code === "a");
    assert.deepEqual(flakyTime(ofA, [10, 20]), { microseconds, incomplete: [] });
  });

  it("needs the durations of the runs whose time depends on them, and of no others", () => {
    const runs = [
      run(8, [failed(1)], "other"),
      run(10, [failed(5), passed(3)]),
      run(11, [failed(5)], "lint"),
      run(12, [passed(4)], "lint"),
    ];
    const { incomplete, microseconds } = flakyTime(runs.map(untimed), [10]);
    assert.deepEqual(incomplete.map(({ recordedAt }) => recordedAt), [11, 12]);
    assert.deepEqual(microseconds, [5_000_000]);
    assert.deepEqual(flakyTime(runs, [10]).incomplete, []);
  });
});

describe("the event of a run", () => {
  it("is its build on the base branch, and its branch elsewhere", () => {
    const at = (branch: string | null, buildUrl: string, isOnBase = false) =>
      eventOf({ branch, buildUrl, isOnBase });
    assert.notEqual(at("main", "/1", true), at("main", "/2", true));
    assert.equal(at("fix", "/1"), at("fix", "/2"));
    assert.notEqual(at("fix", "/1"), at("other", "/1"));
    assert.notEqual(at(null, "/1"), at(null, "/2"));
    assert.equal(at(null, ""), at(null, ""));
  });
});
