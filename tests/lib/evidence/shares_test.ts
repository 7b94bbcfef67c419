import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { EVIDENCE } from "../../../lib/evidence/evidence.ts";
import { sayBlames, sayConclusion } from "../../../lib/evidence/said.ts";
import {
  blameOf,
  brierScores,
  PUBLISHED,
  type Share,
  shareOf,
  type TruthCounts,
} from "../../../lib/evidence/shares.ts";
import { truthAt, type VersionRuns } from "../../../lib/evidence/truth.ts";

function share(notTheChange: number, of: number): Share {
  return { notTheChange, of, from: "repository" };
}

describe("the truth of a failure", () => {
  const failed = (runCount = 1): VersionRuns => ({ runCount, hasPassed: false });
  const passed: VersionRuns = { runCount: 2, hasPassed: true };

  it("is not the change when the same code passed once", () => {
    assert.equal(truthAt([{ runCount: 9, hasPassed: true }], 0), "not_the_change");
  });

  it("is the change after two more runs without a pass", () => {
    assert.equal(truthAt([failed(2)], 0), null);
    assert.equal(truthAt([failed(3)], 0), "the_change");
  });

  it("is the change for each of three code versions in a row", () => {
    const versions = [passed, failed(), failed(), failed(), passed];
    assert.deepEqual([1, 2, 3].map((at) => truthAt(versions, at)), Array(3).fill("the_change"));
    assert.equal(truthAt([failed(), failed(), passed, failed()], 0), null);
    assert.equal(truthAt([failed(), failed(), passed, failed()], 3), null);
  });
});

describe("the share of an evidence", () => {
  const counts = (notTheChange: number, theChange: number, isOnBase = false): TruthCounts[] => [
    { evidence: "first", isOnBase, notTheChange, theChange },
  ];

  it("is the repository's from ten failures on, otherwise the organization's", () => {
    const of = (repository: TruthCounts[]) =>
      shareOf("first", { isOnBase: false, repository, organization: counts(10, 30) });
    assert.deepEqual(of(counts(1, 9)), { notTheChange: 1, of: 10, from: "repository" });
    assert.deepEqual(of(counts(1, 8)), { notTheChange: 10, of: 40, from: "organization" });
    assert.deepEqual(of(counts(1, 9, true)), { notTheChange: 10, of: 40, from: "organization" });
  });

  it("is the published one on the base branch only", () => {
    const none = { repository: [], organization: [] };
    assert.equal(shareOf("first", { isOnBase: false, ...none }), null);
    assert.deepEqual(shareOf("first", { isOnBase: true, ...none }), {
      ...PUBLISHED.first,
      from: "published",
    });
  });
});

describe("blame", () => {
  it("needs no share after a pass on the same code and in an outage", () => {
    assert.equal(blameOf("passed_here", share(0, 10)), "not_yours");
    assert.equal(blameOf("outage", null), "not_yours");
  });

  it("clears by causes seen before, unless fewer than nine of ten were not the change", () => {
    for (const evidence of ["fails_on_base", "seen_elsewhere"] as const) {
      assert.equal(blameOf(evidence, null), "not_yours");
      assert.equal(blameOf(evidence, share(9, 10)), "not_yours");
      assert.equal(blameOf(evidence, share(89, 100)), "unclear");
    }
  });

  it("never clears by other evidence, whatever its share", () => {
    for (const evidence of ["together", "new_cause", "new_test", "first", "few"] as const) {
      assert.equal(blameOf(evidence, share(10, 10)), "unclear");
      assert.equal(blameOf(evidence, share(5, 10)), "unclear");
      assert.equal(blameOf(evidence, share(49, 100)), "yours");
    }
  });

  it("follows the table where no share is known", () => {
    const blames = EVIDENCE.map((evidence) => [evidence, blameOf(evidence, null)]);
    assert.deepEqual(Object.fromEntries(blames), {
      passed_here: "not_yours",
      fails_on_base: "not_yours",
      outage: "not_yours",
      together: "yours",
      seen_elsewhere: "not_yours",
      new_cause: "unclear",
      new_test: "yours",
      first: "yours",
      few: "unclear",
    });
  });
});

describe("the Brier score", () => {
  it("compares what was said with what came out", () => {
    const { brier, baseRate } = brierScores([
      { evidence: "first", share: share(1, 10), truth: "the_change" },
      { evidence: "first", share: null, truth: "not_the_change" },
    ]);
    assert.equal(brier, (0.1 ** 2 + 1) / 2);
    assert.equal(baseRate, 0.25);
  });

  it("is the same to the last digit in whichever order the failures come", () => {
    const failures = [3, 4, 6, 5].map((of) => (
      { evidence: "first", share: share(1, of), truth: "the_change" } as const
    ));
    assert.equal(brierScores(failures.toReversed()).brier, brierScores(failures).brier);
  });

  it("is unknown without failures", () => {
    assert.deepEqual(brierScores([]), { brier: null, baseRate: null });
  });
});

describe("a conclusion in words", () => {
  it("says what it rests on and how often that was right", () => {
    const said = sayConclusion({
      evidence: "seen_elsewhere",
      blame: "not_yours",
      share: share(160, 167),
      baseRunCount: 210,
      baseFailedCount: 3,
    }, { base: "main", lastOn: "12 Nov" });
    assert.equal(
      said,
      "not yours: failed the same way in 3 of 210 runs on main, last on 12 Nov; 96 % of failures like " +
        "this were not the change (160 of 167)",
    );
  });

  it("says a headline whose parts are left out when they are zero", () => {
    assert.equal(
      sayBlames(["not_yours", "yours", "unclear", "not_yours"]),
      "4 tests failed: 1 is probably yours, 1 is unclear, 2 are not.",
    );
    assert.equal(sayBlames(["yours", "yours"]), "2 tests failed: 2 are probably yours.");
    assert.equal(sayBlames(["not_yours", "not_yours"]), "2 tests failed: 2 are not yours.");
  });

  it("says a headline of one test", () => {
    assert.equal(sayBlames(["yours"]), "1 test failed: it is probably yours.");
    assert.equal(sayBlames(["unclear"]), "1 test failed: it is unclear whose it is.");
    assert.equal(sayBlames(["not_yours"]), "1 test failed: it is not yours.");
    assert.equal(
      sayBlames([], { unknown: 1 }),
      "1 test failed: it is unknown whether it is yours.",
    );
  });
});
