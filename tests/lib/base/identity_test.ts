import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  caseKey,
  eventId,
  firstSubmissionId,
  organizationUuid,
  parseTestId,
  recordedAtOf,
  repositoryIdPrefix,
  submissionId,
  testHash,
  testId,
} from "../../../lib/base/identity.ts";

// The same cases each time, so that no run fails by chance.
fc.configureGlobal({ seed: 1 });

const SHOP = { organization: "acme", owner: "acme", name: "shop" };
const ADDS = { suite: "Cart", class: "CartTest", name: "adds", file: "cart_test.ts" };
const UPLOADED = ["https://ci.example/1", "abc"];
const EIGHT = 1_769_846_400; // 2026-01-31T08:00:00Z

const prefix = fc.integer({ min: 0, max: 2 ** 44 - 1 });
const hash = fc.maxSafeNat().map((n) => n % 2 ** 52);
const second = fc.integer({ min: 0, max: 2 ** 32 - 1 });

describe("ids", () => {
  // Clients store these ids: changing one of these texts breaks every saved link.
  it("are stable", () => {
    assert.equal(repositoryIdPrefix(SHOP), 0xf75d7fb7cb3);
    assert.equal(repositoryIdPrefix(SHOP, 1), 0x6183ae03d68);
    assert.equal(testHash(ADDS), 0x4dcce7baa5c22);
    assert.equal(
      testId(repositoryIdPrefix(SHOP), testHash(ADDS)),
      "f75d7fb7cb3" + "4dcce7baa5c22",
    );
    assert.equal(submissionId(EIGHT, UPLOADED), "697db6805b60978f0a74b790");
    assert.equal(eventId("697db6805b60978f0a74b790", 7), "697db68058d07bf978d9c851");
  });
});

describe("names", () => {
  it("compare by Unicode's lower case", () => {
    assert.equal(caseKey("ÄPFEL/Straße"), caseKey("äpfel/STRAẞE"));
    assert.notEqual(caseKey("strasse"), caseKey("straße"));
  });
});

describe("the id of a test", () => {
  it("is 24 lower-case hex digits, leading zeros included", () => {
    assert.equal(testId(0, 0), "0".repeat(24));
    assert.equal(testId(1, 2), "00000000001" + "0000000000002");
    assert.equal(testId(2 ** 44 - 1, 2 ** 52 - 1), "f".repeat(24));
  });

  it("is read in either case as the parts that it was made of", () => {
    fc.assert(fc.property(prefix, hash, (idPrefix, testHash) => {
      const id = testId(idPrefix, testHash);
      assert.deepEqual(parseTestId(id), { idPrefix, testHash });
      assert.deepEqual(parseTestId(id.toUpperCase()), { idPrefix, testHash });
    }));
  });

  it("sorts as text like its parts", () => {
    fc.assert(fc.property(prefix, prefix, hash, hash, (p1, p2, h1, h2) => {
      assert.equal(testId(p1, h1) < testId(p2, h2), p1 < p2 || (p1 === p2 && h1 < h2));
    }));
  });

  it("rejects anything else", () => {
    const id = "0123456789abcdef01234567";
    assert.ok(parseTestId(id));
    for (
      const text of ["", id.slice(1), id + "0", id + "\n", ` ${id.slice(1)}`, `g${id.slice(1)}`]
    ) {
      assert.equal(parseTestId(text), null, JSON.stringify(text));
    }
  });

  it("depends on all four names, and on where each ends", () => {
    const tests = [
      ADDS,
      { ...ADDS, suite: "cart" },
      { ...ADDS, class: "" },
      { ...ADDS, name: "adds " },
      { ...ADDS, file: "cart_test.js" },
      { ...ADDS, suite: "CartC", class: "artTest" },
      { ...ADDS, suite: "", class: "CartCartTest" },
      { ...ADDS, suite: "4:Cart", class: "" },
      { ...ADDS, suite: "CartTest", class: "Cart" },
    ];
    assert.equal(new Set(tests.map(testHash)).size, tests.length);
  });

  it("leads to a repository regardless of the case of its names", () => {
    const shouted = { organization: "ACME", owner: "Acme", name: "SHOP" };
    assert.equal(repositoryIdPrefix(shouted), repositoryIdPrefix(SHOP));
  });

  it("leads to another repository when any name or the attempt differs", () => {
    const prefixes = [
      repositoryIdPrefix(SHOP),
      repositoryIdPrefix({ ...SHOP, organization: "acm" }),
      repositoryIdPrefix({ ...SHOP, owner: "acm" }),
      repositoryIdPrefix({ ...SHOP, name: "shop1" }),
      repositoryIdPrefix({ organization: "acmea", owner: "cme", name: "shop" }),
      repositoryIdPrefix(SHOP, 1),
      repositoryIdPrefix(SHOP, 2),
    ];
    assert.equal(new Set(prefixes).size, prefixes.length);
  });
});

describe("the id of a submission", () => {
  it("begins with the second and sorts like it", () => {
    fc.assert(fc.property(second, second, fc.array(fc.string()), (a, b, distinction) => {
      const [one, other] = [submissionId(a, distinction), submissionId(b, ["other"])];
      assert.match(one, /^[0-9a-f]{24}$/);
      assert.equal(recordedAtOf(one), a);
      if (a !== b) assert.equal(one < other, a < b);
    }));
  });

  it("depends on what was uploaded", () => {
    const ids = [UPLOADED, [...UPLOADED].reverse(), [UPLOADED.join("")], [...UPLOADED, ""], []]
      .map((distinction) => submissionId(EIGHT, distinction));
    assert.equal(new Set(ids).size, ids.length);
    assert.equal(submissionId(EIGHT, [...UPLOADED]), submissionId(EIGHT, UPLOADED));
  });

  it("is not less than the first of its second, and greater than all before", () => {
    fc.assert(fc.property(second, fc.array(fc.string()), (recordedAt, distinction) => {
      const id = submissionId(recordedAt, distinction);
      assert.ok(firstSubmissionId(recordedAt) <= id);
      if (recordedAt > 0) {
        assert.ok(submissionId(recordedAt - 1, distinction) < firstSubmissionId(recordedAt));
      }
    }));
    assert.equal(firstSubmissionId(EIGHT), "697db680" + "0".repeat(16));
  });

  it("stays 24 digits for times that its 8 digits cannot tell", () => {
    assert.equal(firstSubmissionId(-1), "0".repeat(24));
    assert.equal(firstSubmissionId(2 ** 32), "ffffffff" + "0".repeat(16));
  });
});

describe("the id of a disruption event", () => {
  it("begins with the second of its submission and depends on the result", () => {
    const submission = submissionId(EIGHT, UPLOADED);
    const ids = [0, 1, 10, 11].map((resultNo) => eventId(submission, resultNo));
    assert.equal(new Set([submission, ...ids]).size, 5);
    for (const id of ids) {
      assert.match(id, /^[0-9a-f]{24}$/);
      assert.equal(recordedAtOf(id), EIGHT);
    }
    assert.notEqual(eventId(submissionId(EIGHT, ["x"]), 0), ids[0]);
  });
});

describe("the UUID of an organization", () => {
  it("is a name-based UUID of its number that never changes", () => {
    assert.equal(organizationUuid(1), "f3dfd6e5-5271-5b5d-aa8b-bcfd401320a1");
    assert.equal(organizationUuid(2), "e01f0cc2-fd67-5bb7-aeb2-3cfce6bbe67a");
  });
});
