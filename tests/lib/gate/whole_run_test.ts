import { NO_GAPS } from "../../../lib/report/report_gaps.ts";
import { afterEach, beforeEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findMissingPlaces } from "../../../lib/cli/gate_run/missing_places.ts";
import {
  missingPlaces,
  placesInAll,
  placesOf,
  sayNotWhole,
  type TestPlace,
} from "../../../lib/gate/whole_run.ts";

const test = (file: string, className: string, suite = "") => ({
  suite,
  class: className,
  name: "a",
  file,
});

const place = (file: string, className: string, suite = ""): TestPlace => ({
  suite,
  class: className,
  file,
});

describe("a place that is expected in a run", () => {
  it("is a file, or a class of tests without one, that is in each of the earlier runs", () => {
    const runs = [
      [place("pay.ts", "Pay"), place("cart.ts", "B"), place("cart.ts", "A"), place("", "Tax")],
      [place("", "Tax"), place("", "Pay"), place("cart.ts", "C"), place("gone.ts", "Gone")],
    ];
    assert.deepEqual(placesInAll(runs), [place("", "Tax"), place("cart.ts", "A")]);
  });

  it("is missing when no test of its file is in the reports", () => {
    const expected = [place("cart.ts", "Cart"), place("pay.ts", "Pay")];
    const reported = placesOf([test("cart.ts", "Other"), test("new.ts", "Pay")]);
    assert.deepEqual(missingPlaces(expected, reported), [place("pay.ts", "Pay")]);
  });

  it("is a class where tests have no file", () => {
    const expected = [place("", "Cart"), place("", "Pay")];
    assert.deepEqual(missingPlaces(expected, placesOf([test("", "Cart")])), [place("", "Pay")]);
  });

  it("is a suite where tests have neither file nor class", () => {
    const tests = [test("", "", "pay"), test("", "", "cart"), test("", "Tax", "x")];
    const expected = [place("", "", "cart"), place("", "", "pay"), place("", "Tax")];
    assert.deepEqual(placesInAll([tests, tests, tests]), expected);
    assert.deepEqual(missingPlaces(expected, placesOf(tests)), []);
    const missing = missingPlaces(expected, placesOf([test("", "Tax", "pay"), tests[1]!]));
    assert.deepEqual(missing, [place("", "", "pay")]);
    // It has its file now.
    assert.deepEqual(missingPlaces([place("", "", "pay")], placesOf([test("a", "", "pay")])), []);
    // As a service of an earlier version says.
    assert.deepEqual(missingPlaces([place("", "")], placesOf(tests)), []);
    assert.deepEqual(missingPlaces([place("", "")], placesOf([test("", "Tax")])), [place("", "")]);
  });

  it("is found by its class where only one of the two names the file", () => {
    assert.deepEqual(missingPlaces([place("cart.ts", "Cart")], placesOf([test("", "Cart")])), []);
    assert.deepEqual(missingPlaces([place("", "Cart")], placesOf([test("cart.ts", "Cart")])), []);
  });
});

describe("a missing file", () => {
  let folder: string;
  const earlier = { expectedPlaces: [place("cart.ts", "Cart"), place("pay.ts", "Pay")] };
  const places = placesOf([test("cart.ts", "Cart")]);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "test-analytics-missing-"));
    await writeFile(join(folder, "cart.ts"), "");
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("is missing when it is there to run", async () => {
    await writeFile(join(folder, "pay.ts"), "");
    assert.deepEqual(await findMissingPlaces(earlier, { places, folder }), [
      place("pay.ts", "Pay"),
    ]);
  });

  it("is not missing when it was deleted in the checkout", async () => {
    assert.deepEqual(await findMissingPlaces(earlier, { places, folder }), []);
  });

  it("is missing when reports do not name files as the checkout does, or without a checkout", async () => {
    const others = placesOf([test("src/other.ts", "Other"), test("cart.ts", "Cart")]);
    await rm(join(folder, "cart.ts"));
    const missing = [place("pay.ts", "Pay")];
    assert.deepEqual(await findMissingPlaces(earlier, { places: others, folder }), missing);
    assert.deepEqual(await findMissingPlaces(earlier, { places, folder: "" }), missing);
  });

  it("is unknown where the service does not say what is expected", async () => {
    assert.deepEqual(await findMissingPlaces({ expectedPlaces: null }, { places, folder }), []);
    assert.deepEqual(await findMissingPlaces(null, { places, folder }), []);
  });
});

describe("a run that is not whole", () => {
  const say = (places: number, cutOffReportCount: number, missing: string | null = null) => {
    const missed = Array.from({ length: places }, (_, index) => place(`${index}.ts`, ""));
    return sayNotWhole({ ...NO_GAPS, missing, places: missed, cutOffReportCount });
  };

  it("is said with what is missing, and the processes that ended without a report", () => {
    assert.equal(say(0, 0), null);
    assert.equal(
      say(0, 3, "212 of about 482 tests ran"),
      "212 of about 482 tests ran; 3 test processes ended without a report",
    );
    assert.equal(
      say(4, 1),
      "5 test processes ended without a report, unlike the last 3 runs on the base branch: 0.ts, 1.ts, 2.ts, ...",
    );
  });

  it("is said with what its reports hide", () => {
    const none = { ...NO_GAPS, missing: null, places: [] };
    assert.equal(
      sayNotWhole({ ...none, unlistedSuiteCount: 1, outsideFailureCount: 2, unreadReportCount: 1 }),
      "1 suite declares more tests than it lists; 2 failures outside of a test; 1 report could not be read",
    );
    assert.equal(
      sayNotWhole({ ...none, unlistedSuiteCount: 2 }),
      "2 suites declare more tests than they list",
    );
    assert.equal(sayNotWhole({ ...none, emptyReportCount: 1 }), null);
  });
});
