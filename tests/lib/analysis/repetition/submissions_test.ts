/** The third rule of repetition as a truth table, and the fourth. */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { findDisruptions } from "../../../../lib/analysis/disruptions.ts";
import type { SetUpGroup } from "../../../../lib/analysis/repetition/implied_passes.ts";
import {
  groupOf,
  groupsOf,
  isSetUp,
  mayMoveToShard,
} from "../../../../lib/analysis/repetition/set_up.ts";
import type { RepeatedRun } from "../../../../lib/analysis/repetition/submissions.ts";
import type { AttemptKind } from "../../../../lib/analysis/columns.ts";
import { runOf } from "../run_of.ts";

const JOB = "unit";

/** A run: `build attempt shard: test ending, ...`, each `?` unknown; endings are `+` and `-`. */
function readRun(text: string, place: number, job: string) {
  const [facts = "", tests = ""] = text.split(": ");
  const [buildUrl = "", attempt = "", shard = ""] = facts.split(" ").map((word) =>
    word === "?" ? "" : word
  );
  const ended: Record<number, AttemptKind[]> = {};
  for (const word of tests.split(" ")) {
    ended[Number(word.slice(0, 1))] = [...word.slice(1)].map((sign) =>
      sign === "+" ? "positive" : "negative"
    );
  }
  const own: RepeatedRun = { job, buildUrl, attempt, shard };
  return { ...runOf(place, ended, { ...own, commitOid: "c" }), ended };
}

/** Which tests are nondeterministic at the code version of these runs. */
function flakyIn(
  texts: string[],
  { job = JOB, hasFile = false, setUps = {} as Record<number, SetUpGroup> } = {},
): number[] {
  const runs = texts.map((text, place) => readRun(text, place + 1, job));
  const negatives = runs.flatMap(({ submissionId, ended }) =>
    Object.entries(ended).flatMap(([testNo, kinds]) =>
      kinds.includes("negative")
        ? [{ submissionId, testNo: Number(testNo), resultNo: 0, message: "", isDisruption: false }]
        : []
    )
  );
  const facts = { hasFile: () => hasFile, setUpOf: (testNo: number) => setUps[testNo] };
  return findDisruptions(runs.toReversed(), negatives, facts).map(({ test }) => test.testNo).sort();
}

describe("a later submission of a code version repeats an earlier one", () => {
  const cases: [string, string[], boolean, { job?: string; hasFile?: boolean }?][] = [
    ["of another build", ["b1 1 ?: 1-", "b2 1 ?: 1+"], true],
    ["of another attempt of the build", ["b1 1 ?: 1-", "b1 2 ?: 1+"], true],
    ["that had passed", ["b1 1 ?: 1+", "b2 1 ?: 1-"], true],
    ["of the build, whose attempt is unknown", ["b1 ? ?: 1-", "b1 ? ?: 1+"], true],
    ["of an unknown attempt of the build", ["b1 1 ?: 1-", "b1 ? ?: 1+"], true],
    ["without a build", ["? 1 ?: 1-", "? 1 ?: 1+"], true],
    ["of the same shard", ["b1 1 1/2: 1-", "b1 2 1/2: 1+"], true],
    ["whose shard is unknown", ["b1 1 1/2: 1-", "b1 2 ?: 1+"], true],
    ["of another shard, if the test has a file", ["b1 1 1/2: 1-", "b1 2 2/2: 1+"], true, {
      hasFile: true,
    }],
    ["of another shard, if the job is unknown", ["b1 1 1/2: 1-", "b1 1 2/2: 1+"], true, {
      job: "",
    }],
    ["not of another shard", ["b1 1 1/2: 1-", "b1 2 2/2: 1+"], false],
    ["not of another shard of the attempt, with a file", ["b1 1 1/2: 1-", "b1 1 2/2: 1+"], false, {
      hasFile: true,
    }],
    ["not without a pass", ["b1 1 ?: 1-", "b2 1 ?: 1-"], false],
    ["unless both are one attempt: unnamed legs", ["b1 1 ?: 1-", "b1 1 ?: 1+"], false],
  ];
  for (const [what, runs, expected, options] of cases) {
    it(what, () => assert.deepEqual(flakyIn(runs, options), expected ? [1] : []));
  }

  it("is not needed where a test failed and passed in one", () => {
    assert.deepEqual(flakyIn(["b1 1 ?: 1-+", "b1 1 ?: 1+"]), [1]);
  });
});

describe("unnamed legs", () => {
  it("prove nothing between submissions of their job, in no attempt and no build", () => {
    const legs = ["b1 1 ?: 1- 2+", "b1 1 ?: 1+ 2+"];
    assert.deepEqual(flakyIn([...legs, "b1 2 ?: 1+ 2+"]), []);
    assert.deepEqual(flakyIn([...legs, "b2 1 ?: 1+ 2-"]), []);
    assert.deepEqual(flakyIn(["b1 1 1/2: 1- 2+", "b1 1 1/2: 2+ 3+", "b2 1 1/2: 1+"]), []);
    assert.deepEqual(flakyIn(["b1 1 1/2: 1- 2+", "b1 1 ?: 2+ 3+", "b2 1 1/2: 1+"]), []);
  });

  it("are not assumed if they ran different tests, or different shards", () => {
    assert.deepEqual(flakyIn(["b1 1 ?: 1-", "b1 1 ?: 2+", "b1 2 ?: 1+"]), [1]);
    assert.deepEqual(flakyIn(["b1 1 1/2: 1- 2+", "b1 1 2/2: 2+", "b1 2 1/2: 1+"]), [1]);
  });
});

describe("a set-up that failed", () => {
  /** Test 9 stands for the set-up of 1 and 2, as 8 does. */
  const setUps = { 9: { tests: [1, 2], setUps: [8, 9] } };

  it("passed where tests of its file or class ran without a case of it", () => {
    for (
      const [run, expected] of [
        ["b2 1 ?: 1+", true],
        ["b2 1 ?: 2-", true],
        ["b2 1 ?: 3+", false],
        ["b2 1 ?: 1+ 8-", false],
        ["b2 1 ?: 1+ 9-", false],
      ] as const
    ) {
      assert.deepEqual(flakyIn(["b1 1 ?: 9-", run], { setUps }), expected ? [9] : [], run);
    }
  });

  it("did not pass in a submission that repeats nothing", () => {
    assert.deepEqual(flakyIn(["b1 1 1/2: 9-", "b1 1 2/2: 1+"], { setUps }), []);
  });

  it("did not pass in another shard, which may have other tests of a file that is split", () => {
    const hook = { suite: "", class: "", name: '"before all" hook', file: "a.js" };
    assert.equal(mayMoveToShard({ ...hook, name: "adds" }), true);
    const options = { setUps, hasFile: mayMoveToShard(hook) };
    assert.deepEqual(flakyIn(["b1 1 1/2: 9-", "b1 2 2/2: 1+"], options), []);
    assert.deepEqual(flakyIn(["b1 1 1/2: 9-", "b2 1 2/2: 1+"], options), []);
    assert.deepEqual(flakyIn(["b1 1 1/2: 9-", "b1 2 1/2: 1+"], options), [9]);
  });

  it("is named as its tool names it", () => {
    const test = { suite: "", class: "", name: "", file: "" };
    for (
      const one of [
        { name: '"before each" hook for "pays by card"' },
        { name: 'cart "after all" hook' },
        { name: "beforeAll hook in Cart" },
        { class: "com.acme.CartTest", name: "com.acme.CartTest" },
        { class: "com.acme.CartTest", name: "initializationError" },
        { class: "Test suite failed to run", name: "/srv/shop/src/a.test.js" },
        { class: "src/a.test.ts", name: "src/a.test.ts", file: "src/a.test.ts" },
        { name: "setUpClass (tests.CartTest)", class: "unittest.suite._ErrorHolder" },
        { suite: "pytest", name: "tests.test_cart" },
        { suite: "github.com/acme/shop", name: "TestMain" },
      ]
    ) assert.ok(isSetUp({ ...test, ...one }), JSON.stringify(one));
    for (
      const one of [
        { name: "hooks into the cart", class: "cart" },
        { name: "sets up a cart", file: "a.js" },
        { name: "TestMainMenu", suite: "shop" },
        { name: "before each order, asks" },
        { name: "runs after each hook" },
        { name: "setup class of a school" },
        { name: "AfterAll the guests leave" },
        { name: "pings", class: "pings" },
        { name: "cart adds an item.", class: "cart adds an item." },
        { name: "cart.adds", class: "cart.adds", file: "cart.test.js" },
        { name: "login", suite: "login" },
      ]
    ) assert.ok(!isSetUp({ ...test, ...one }), JSON.stringify(one));
  });

  it("belongs to its file, its class without one, or its suite without either", () => {
    const test = { suite: "s", class: "c", name: "n", file: "f" };
    assert.equal(groupOf(test), "file f");
    assert.equal(groupOf({ ...test, file: "" }), "class c");
    assert.equal(groupOf({ ...test, file: "", class: "" }), "suite s");
    const unloaded = { ...test, class: "Test suite failed to run", name: "src/a.js", file: "" };
    assert.equal(groupOf(unloaded), "file src/a.js");
    const module = { suite: "pytest", class: "", name: "tests.test_cart", file: "" };
    assert.equal(groupOf(module), "class tests.test_cart");
    const member = { ...module, class: "tests.test_cart.TestCart", name: "test_adds" };
    assert.ok(groupsOf(member).includes(groupOf(module)));
  });
});
