import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  fileMatch,
  fileMatchNotes,
  isMistaken,
  unambiguous,
} from "../../../lib/analysis/file_matches.ts";
import { testHash, type TestIdentity } from "../../../lib/base/identity.ts";

const named = (name: string, file = ""): TestIdentity => ({ suite: "s", class: "c", name, file });

/** What an upload of these tests has. */
function content(...tests: TestIdentity[]) {
  return {
    testHashes: Float64Array.from(tests, testHash),
    identityAt: (index: number) => tests[index]!,
  };
}

function match(uploaded: TestIdentity, stored: TestIdentity, isKnown = false) {
  const test = { testHash: testHash(stored), file: stored.file };
  return fileMatch(testHash(uploaded), uploaded, test, { isKnown });
}

describe("matches of tests with and without a file", () => {
  it("are dropped where the upload has several tests of the name", () => {
    const found = [match(named("a", "a.ts"), named("a"))];
    assert.deepEqual(unambiguous(found, content(named("a", "a.ts"))), found);
    assert.deepEqual(unambiguous(found, content(named("a", "a.ts"), named("a", "b.ts"))), []);
    assert.deepEqual(unambiguous(found, content(named("a", "a.ts"), named("a"))), []);
  });

  it("stay where the test was found in this file before", () => {
    const found = [match(named("a", "a.ts"), named("a", "a.ts"), true)];
    const [{ testHash: hash }] = [match(named("a", "a.ts"), named("a"))];
    const known = [{ ...found[0]!, testHash: hash }];
    assert.deepEqual(unambiguous(known, content(named("a", "a.ts"), named("a", "b.ts"))), known);
  });

  it("are noted, with the first of them", () => {
    const added = ["a", "b", "c", "d"].map((name) => match(named(name, `${name}.ts`), named(name)));
    assert.deepEqual(fileMatchNotes(added), [
      'tests with a file count as those that were known without one: "a" (a.ts), "b" (b.ts), ' +
      '"c" (c.ts) and 1 more',
    ]);
    assert.deepEqual(fileMatchNotes([match(named("a"), named("a", "a.ts"))]), [
      'tests without a file count as those that are known with one: "a" (a.ts)',
    ]);
    assert.deepEqual(fileMatchNotes([]), []);
  });

  it("are mistakes if another file has the test within two weeks, and are noted then", () => {
    const fortnight = 14 * 24 * 60 * 60;
    assert.ok(isMistaken(1_000, 1_000 + fortnight));
    assert.ok(!isMistaken(1_000, 1_001 + fortnight));
    assert.ok(isMistaken(1_000, 0));
    assert.ok(!isMistaken(null, 0));
    const mistaken = [{ name: "a", file: "a.ts", testHash: 1, matchedAt: 1_000 }];
    assert.deepEqual(fileMatchNotes([], mistaken), [
      "tests that were known without a file have none again, as another file has a test of the " +
      'same name: "a" (a.ts)',
    ]);
  });
});
