import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import fc from "fast-check";
import type { TrackedTest } from "../../../lib/analysis/tracked_test.ts";
import { parseQuery } from "../../../lib/query/parse.ts";
import { TestSearch } from "../../../lib/query/search.ts";

// The same cases each time, so that no run fails by chance.
fc.configureGlobal({ seed: 1 });

const LOGIN: TrackedTest = {
  id: "5f3a9c0e7b12d4a86f01c2e3",
  repositoryId: 1,
  testNo: 1,
  disruptionCount: 1,
  countedResultCount: 2,
  negativeResultCount: 1,
  resultCount: 2,
  timeConsumed: null,
  latestPositive: null,
  quarantine: null,
  suite: "Accounts",
  class: "com.example.LoginTest",
  name: "rejects a wrong password: 100%_sure\\",
  file: "src/test/login_test.kt",
  tags: ["Linux", "nightly"],
  firstDisruptionAt: Date.UTC(2026, 0, 31, 23, 59, 59) / 1000,
  latestDisruption: {
    recordedAt: Date.UTC(2026, 1, 10) / 1000,
    commitOid: "c0ffee",
    buildUrl: "",
    message: "",
  },
};

function found(q: string, test: Partial<TrackedTest> = {}): boolean {
  const { terms, errors } = parseQuery(q);
  assert.deepEqual(errors, []);
  return new TestSearch([{ ...LOGIN, ...test }]).find(terms, [0]).length === 1;
}

describe("words", () => {
  it("are found in each of the four fields, as a part and in any case", () => {
    for (const word of ["ACCOUNT", "login_", "Wrong", "example.logintest"]) {
      assert.ok(found(word), word);
    }
    assert.ok(!found("logout"));
  });

  it("must all be found, not all in one field", () => {
    assert.ok(found("kt accounts password"));
    assert.ok(!found("kt accounts username"));
  });

  it("do not match across two fields", () => {
    const fields = { suite: "ab", name: "cd", file: "ef", class: "gh" };
    for (const pair of ["bc", "de", "fg", "ha"]) assert.ok(!found(pair, fields), pair);
  });

  it("stay within their line where a name has several", () => {
    assert.ok(!found("ab", { name: "a\nb" }));
    assert.ok(found("a b", { name: "a\nb" }));
  });

  it("take the wildcards of SQL literally", () => {
    assert.ok(found("100%_sure\\"));
    for (const word of ["rej%ts", "reject_", "%", "_", "\\"]) {
      assert.equal(found(word, { name: "rejects", file: "" }), false, word);
    }
  });

  it("with NUL are not found", () => {
    assert.ok(!found("\0"));
    assert.ok(!found("accounts\0"));
  });

  it("are found whatever Unicode's case does to their letters", () => {
    assert.ok(found("ÜBER", { name: "über" }));
    assert.ok(found("straße", { name: "STRAẞE" }));
    assert.ok(found("i\u0307zm", { name: "İZMİR" }));
    assert.ok(!found("izmir", { name: "İZMİR" }));
    // The end of the word searched for is in the middle of the name: no final sigma there.
    assert.ok(found("ΣΑΣ", { name: "σασσασα" }));
    assert.ok(found("λόγος", { name: "ΛΌΓΟΣ" }));
    assert.ok(!found("strasse", { name: "straße" }));
  });
});

describe("tags", () => {
  it("need one of the list, whole and in any case", () => {
    assert.ok(found("tags:linux"));
    assert.ok(found("tags:windows,NIGHTLY"));
    assert.ok(!found("tags:windows,mac"));
    assert.ok(!found("tags:night"));
  });

  it("need one of each list", () => {
    assert.ok(found("tags:linux,mac tags:nightly"));
    assert.ok(!found("tags:linux tags:mac"));
  });

  it("are not text, and text is not a tag", () => {
    assert.ok(!found("nightly"));
    assert.ok(!found("tags:accounts"));
  });
});

describe("days", () => {
  const days = ["2026-01-30", "2026-01-31", "2026-02-01"];
  const hits: [operator: string, hits: boolean[]][] = [
    ["", [false, true, false]],
    ["<", [false, false, true]],
    ["<=", [false, true, true]],
    [">", [true, false, false]],
    [">=", [true, true, false]],
  ];

  for (const [operator, expected] of hits) {
    it(`of the first disruption compare with "${operator}" to the last second of the day`, () => {
      assert.deepEqual(days.map((day) => found(`first-seen:${operator}${day}`)), expected);
    });
  }

  it("of the latest disruption begin at midnight UTC", () => {
    assert.ok(found("last-seen:2026-02-10"));
    assert.ok(found("last-seen:>2026-02-09 last-seen:<2026-02-11"));
    assert.ok(!found("last-seen:2026-02-09"));
    assert.ok(!found("last-seen:2026-01-31"));
  });

  it("of a test that was never disruptive match nothing", () => {
    const never = { firstDisruptionAt: null, latestDisruption: null };
    for (const operator of ["", "<", "<=", ">", ">="]) {
      assert.ok(!found(`first-seen:${operator}2026-01-31`, never));
      assert.ok(!found(`last-seen:${operator}2026-01-31`, never));
    }
    assert.ok(found("accounts tags:linux", never));
  });
});

describe("any query", () => {
  it("without terms matches every test", () => assert.ok(found(" ")));

  it("finds the tests that a look at each field finds", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "B", ":", "%", "Σ"), maxLength: 3 });
    const field = fc.string({ unit: fc.constantFrom("A", "b", ":", "%", "ς", " "), maxLength: 5 });
    const fold = (text: string) => [...text].map((c) => c === "ς" ? "σ" : c.toLowerCase()).join("");
    const seen = { hit: 0, miss: 0 };
    fc.assert(fc.property(
      fc.array(word.filter((w) => w !== ""), { maxLength: 3 }),
      fc.record({ suite: field, name: field, file: field, class: field }),
      (words, fields) => {
        const expected = words.every((w) =>
          Object.values(fields).some((value) => fold(value).includes(fold(w)))
        );
        seen[expected ? "hit" : "miss"]++;
        assert.equal(found(words.join(" "), fields), expected);
      },
    ));
    assert.ok(seen.hit > 5 && seen.miss > 5, JSON.stringify(seen));
  });

  it("finds a frequent word in all tests after a search for it in some of them", () => {
    const search = new TestSearch(["a", "b", "a", "b"].map((tag) => ({ ...LOGIN, tags: [tag] })));
    const all = [0, 1, 2, 3];
    assert.deepEqual(search.find(parseQuery("tags:a login").terms, all), [0, 2]);
    assert.deepEqual(search.find(parseQuery("login").terms, all), all);
    assert.deepEqual(search.find(parseQuery("login").terms, [3, 1]), [3, 1]);
  });

  it("finds the same tests in a long list as one by one, in the list's order", () => {
    const word = fc.string({
      unit: fc.constantFrom("a", "b", "C", "ß"),
      minLength: 1,
      maxLength: 6,
    });
    const day = fc.option(fc.integer({ min: 0, max: 3 }));
    const test = fc.record({ name: word, suite: word, tag: fc.constantFrom("x", "Y", "z"), day });
    const term = fc.oneof(
      word,
      fc.constantFrom("tags:x", "tags:y,z", "last-seen:>1970-01-02", "first-seen:<=1970-01-03"),
      fc.constantFrom("last-seen:1970-01-02", "first-seen:>=1970-01-01", "last-seen:<2000-01-01"),
    );
    const seen = { some: 0, none: 0 };
    fc.assert(
      fc.property(
        fc.array(test, { minLength: 256, maxLength: 400 }),
        // Some words come again and again.
        fc.array(fc.array(term, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
        (specs, queries) => {
          const tests = specs.map(({ name, suite, tag, day }): TrackedTest => ({
            ...LOGIN,
            name,
            suite,
            tags: [tag],
            firstDisruptionAt: day === null ? null : day * 86_400,
            latestDisruption: day === null
              ? null
              : { ...LOGIN.latestDisruption!, recordedAt: day * 86_400 },
          }));
          const search = new TestSearch(tests);
          const positions = [...tests.keys()].reverse();
          for (const words of [...queries, ...queries]) {
            const { terms } = parseQuery(words.join(" "));
            const expected = [...tests.keys()].filter((position) =>
              new TestSearch([tests[position]!]).find(terms, [0]).length === 1
            ).reverse();
            seen[expected.length > 0 ? "some" : "none"]++;
            assert.deepEqual(search.find(terms, positions), expected);
          }
        },
      ),
      { numRuns: 30 },
    );
    assert.ok(seen.some > 5 && seen.none > 5, JSON.stringify(seen));
  });
});
