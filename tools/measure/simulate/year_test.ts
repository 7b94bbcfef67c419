import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { DEFAULT_POLICY } from "../../../lib/analysis/quarantine_policy.ts";
import { simulate } from "./year.ts";

describe("a simulated half year with the default policy", () => {
  for (const retries of [0, 2]) {
    it(`quarantines flaky tests and no others, with ${retries} retries`, () => {
      const outcome = simulate({
        seed: 7,
        days: 182,
        buildsPerDay: 10,
        testCount: 300,
        flakyCount: 10,
        retries,
        brokenDays: 3,
        hiccups: 5,
        cutShare: 0.05,
        mayReturn: true,
      }, DEFAULT_POLICY);
      assert.deepEqual(outcome.brokenEntries, []);
      assert.deepEqual(outcome.healthyEntries, []);
      assert.ok(outcome.caughtCount >= 6, `${outcome.caughtCount} caught`);
      assert.ok(outcome.daysUntilFree.length > 0);
      const longest = DEFAULT_POLICY.expires / 86_400;
      assert.ok(Math.max(...outcome.daysUntilFree) <= longest, `${outcome.daysUntilFree}`);
      assert.ok(outcome.mostAtOnce <= DEFAULT_POLICY.maxTests);
      assert.ok(outcome.faultCount > 50, `${outcome.faultCount} faults`);
      assert.ok(outcome.channel.messages > 0);
      assert.ok(outcome.channel.mostInHour <= 3, `${outcome.channel.mostInHour} in an hour`);
      // Two healthy tests with a broken twin of the same name, and one broken from outside.
      assert.ok(outcome.channel.wrong.length <= 3, `${outcome.channel.wrong}`);
      const share = outcome.excusedFaults / outcome.faultCount;
      assert.ok(share < 0.05, `${outcome.excusedFaults} of ${outcome.faultCount} excused`);
    });
  }
});
