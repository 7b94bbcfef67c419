/** The second rule of repetition: which reports of one upload repeat others. */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { attemptsOfTests } from "../../../../lib/analysis/columns.ts";
import { inOrderOfAttempts } from "../../../../lib/analysis/repetition/report_order.ts";
import { SubmissionBuilder } from "../../../../lib/analysis/submission_content.ts";

const RULE = { meaning: "tests", hasBareAttempts: false } as const;

/**
 * Reads reports by path, each a list of tests such as `a.js/adds+`: a file, a name, and how it ended, with
 * a time that differs everywhere. Returns the attempts of each test, `+` and `-`, and the notes.
 */
function read(reports: Record<string, string>, { attempts = false } = {}) {
  const builder = new SubmissionBuilder();
  let time = 1;
  const given = Object.keys(reports).map((path, index) => ({ path, attempt: index + 1 }));
  for (const { path, attempt } of attempts ? given : inOrderOfAttempts(given)) {
    for (const word of reports[path]!.split(" ")) {
      const [, file = "", name = "", sign, ms] = /^(?:([^/]*)\/)?(.*?)([+-])(\d*)$/.exec(word)!;
      builder.add({
        suite: "",
        class: "",
        file,
        name: name.replaceAll("_", " "),
        conclusion: sign === "+" ? "passing" : "failure",
        durationMicroseconds: ms ? Number(ms) : time++ * 1_000,
        message: sign === "-" ? "it broke" : "",
        body: "",
      });
    }
    const own = attempts ? { attempt } : {};
    builder.endReport({ file: path, tool: "", rule: RULE, surplusCaseCount: 0, ...own });
  }
  const notes: string[] = [];
  const content = builder.finish({ onNote: (note) => notes.push(note) });
  const tests: Record<string, string> = {};
  attemptsOfTests(content).forEach((own, index) => {
    const signs = own.map(({ kind }) => kind === "positive" ? "+" : "-").join("");
    tests[content.identityAt(index).name] = signs;
  });
  return { tests, notes, ambiguous: content.ambiguousTestHashes.length };
}

describe("a report that repeats others", () => {
  it("says so by a number in its path", () => {
    for (
      const [first, second] of [
        ["attempt_1.xml", "attempt_2.xml"],
        ["attempt-9.xml", "attempt-10.xml"],
        ["junit.xml", "junit-retry1.xml"],
        ["junit.xml", "a-retry-1.xml"],
        ["junit.xml", "rerun_1/junit.xml"],
        ["attempt1/junit.xml", "attempt2/junit.xml"],
        ["run_1_of_2/test.xml", "run_2_of_2/test.xml"],
        ["test_attempts/attempt_1.xml", "test.xml"],
        ["Retries/report.xml", "report.xml"],
        ["Retries/1/report.xml", "report.xml"],
        ["reports\\attempt_1\\a.xml", "reports\\attempt_2\\a.xml"],
      ] as const
    ) {
      for (const [before, after] of [["-", "+"], ["+", "-"]]) {
        const { tests, notes } = read({ [second]: `a${after} b+`, [first]: `a${before} b+` });
        assert.deepEqual(tests, { a: `${before}${after}`, b: "++" }, `${first}, ${second}`);
        assert.deepEqual(notes, []);
      }
    }
  });

  it("repeats those of its series, not those of another", () => {
    const { tests } = read({
      "py310/attempt_1.xml": "a- b-",
      "py310/attempt_2.xml": "a- b+",
      "py313/attempt_1.xml": "a+ b+",
    });
    assert.deepEqual(tests, { a: "--", b: "-+" });
  });

  it("repeats those of its folder, not those of another", () => {
    const cases: Record<string, string>[] = [
      {
        "x/test_attempts/attempt_1.xml": "a- b+",
        "x/test.xml": "a- b+",
        "y/test.xml": "a+ c+",
      },
      {
        "x/shard_1_of_2/test_attempts/attempt_1.xml": "a-",
        "x/shard_1_of_2/test.xml": "a-",
        "x/shard_2_of_2/test.xml": "a+",
      },
      { "x/attempt_1.xml": "a- b+", "y/attempt_2.xml": "a+ c+" },
    ];
    for (const reports of cases) assert.doesNotMatch(read(reports).tests["a"]!, /\+/);
    for (
      const [first, second] of [["x/a/junit.xml", "x/retry-1/junit.xml"], [
        "x/a.xml",
        "retry-1/b.xml",
      ]]
    ) {
      assert.equal(
        read({ [first!]: "a- b+", [second!]: "a+", "z.xml": "c+" }).tests["a"],
        "-+",
        first,
      );
    }
  });

  it("is one of several that the uploader gave in the order of attempts", () => {
    const reports = { "z.xml": "a- b+", "a.xml": "a+ b+" };
    assert.equal(read(reports, { attempts: true }).tests["a"], "-+");
    assert.equal(read(reports).tests["a"], "-");
  });

  it("is a rerun of the tests that failed", () => {
    for (const path of ["junit-rerun.xml", "junit2.xml", "junit-2.xml", "junit.rerun.xml"]) {
      const { tests, notes } = read({ "junit.xml": "x/a- x/b+ y/c+", [path]: "x/a+" });
      assert.deepEqual(tests, { a: "-+", b: "+", c: "+" }, path);
      assert.deepEqual(notes, []);
    }
  });

  it("is a rerun in a folder that says so", () => {
    for (const path of ["rerun/junit.xml", "x/re-runs/junit.xml", "junit-retry/junit.xml"]) {
      const { tests } = read({ "junit.xml": "x/a- x/b+ y/c+", [path]: "x/a+" });
      assert.equal(tests["a"], "-+", path);
    }
  });

  it("is a rerun of a shard", () => {
    const reports = {
      "shard-1/a.xml": "x/a- x/b+",
      "shard-2/a.xml": "y/c+",
      "shard-2/b.xml": "x/a+",
    };
    assert.equal(read(reports).tests["a"], "-");
    const { "shard-2/b.xml": again, ...others } = reports;
    assert.equal(read({ ...others, "shard-1/b.xml": again }).tests["a"], "-+");
  });

  it("is a rerun of the files that had failed", () => {
    const { tests } = read({ "1.xml": "x/a- x/b+ y/c+", "2.xml": "x/a+ x/b+" });
    assert.deepEqual(tests, { a: "-+", b: "++", c: "+" });
  });

  it("is one that repeats several configurations", () => {
    const { tests } = read({ "1.xml": "x/a- x/b+", "2.xml": "x/a+ x/b+", "3.xml": "x/a+" });
    assert.deepEqual(tests, { a: "-+", b: "+" });
  });

  it("is a rerun of one folder, and of no other", () => {
    for (
      const path of [
        "shop/junit-rerun.xml",
        "shop/rerun/junit.xml",
        "shop-rerun/junit.xml",
        "shop/re-runs/1/junit.xml",
        "shop/x/rerun/junit.xml",
      ]
    ) {
      const shop = { "shop/junit.xml": "x/a- x/b+ y/c-", [path]: "x/a+ x/b+" };
      assert.deepEqual(read(shop).tests, { a: "-+", b: "++", c: "-" }, path);
      const cases: [string, string][] = [["x/a- x/b+", "--"], ["x/a+ x/b+", "-+"], ["x/b-", "-+"]];
      for (const [admin, a] of cases) {
        const { tests } = read({ "admin/junit.xml": admin, ...shop });
        assert.equal(tests["a"]!.at(-1), a.at(-1), `${path}, admin ${admin}`);
        assert.equal(tests["b"]!.at(-1), admin.includes("b-") ? "-" : "+", `${path}, ${admin}`);
      }
    }
  });

  it("is no rerun if a test of it failed in another folder only", () => {
    const { tests } = read({
      "admin/1.xml": "y/d-",
      "shop/1.xml": "x/a- y/c- y/d+",
      "shop/2.xml": "x/a+ y/d+",
    });
    assert.deepEqual(tests, { a: "-", c: "-", d: "-" });
  });

  it("is a rerun of what it is named after, where several failed", () => {
    const admin = { "admin.xml": "x/a- x/b+" };
    const shop = { "shop.xml": "x/a+ x/b+ y/c-", "shop-rerun.xml": "y/c+" };
    assert.deepEqual(read({ ...admin, ...shop }).tests, { a: "-", b: "+", c: "-+" });
    const all = { ...shop, "shop.xml": "x/a+ x/b- y/c-", "shop-rerun.xml": "x/a+ x/b+" };
    assert.deepEqual(read({ ...admin, ...all }).tests, { a: "--", b: "-+", c: "-" });
    const unknown = { "1.xml": "x/a- x/b+", "2.xml": "x/a- y/c+", "3.xml": "x/a+" };
    assert.equal(read(unknown).tests["a"], "-", "of several it is not known which");
  });
});

describe("a report that does not say so", () => {
  const parts = [
    "shard_1_of_2 shard_2_of_2",
    "1-of-2 2-of-2",
    "node0 node1",
    "node20/group-1 node20/group-2",
    "a/worker-1/1-of-2 a/worker-1/2-of-2",
  ];
  const cases: [string, Record<string, string>, Record<string, string>][] = [
    ["runs all of them", { "1.xml": "x/a- x/b+", "2.xml": "x/a+ x/b+" }, { a: "-", b: "+" }],
    [
      "repeats a test that had passed next to one that failed",
      { "1.xml": "x/a- x/b+ x/c+", "2.xml": "x/a+ x/b+" },
      { a: "-", b: "+", c: "+" },
    ],
    [
      "repeats a file without a failure",
      { "1.xml": "x/a- y/b+ y/c+", "2.xml": "x/a+ y/b+" },
      { a: "-", b: "+", c: "+" },
    ],
    ...parts.map((names): [string, Record<string, string>, Record<string, string>] => {
      const [first, second] = names.split(" ");
      const reports = { [`${first}.xml`]: "x/a- x/b+", [`${second}.xml`]: "x/a+" };
      return [`is another part: ${names}`, reports, { a: "-", b: "+" }];
    }),
    [
      "has the name of another in another folder",
      { "a/target/TEST-x.xml": "x/a- x/b+ y/c+", "b/target/TEST-x.xml": "x/a+" },
      { a: "-", b: "+", c: "+" },
    ],
    [
      "has the name of one before a rerun",
      { "a/1.xml": "x/a- x/b+ y/c+", "a/2.xml": "x/a-", "b/1.xml": "x/a+" },
      { a: "--", b: "+", c: "+" },
    ],
    ["comes first", { "again.xml": "x/a+", "junit.xml": "x/a- x/b+" }, { a: "-", b: "+" }],
    [
      "fails where the file's other tests were repeated and it had passed",
      { "1.xml": "x/a- x/b+ y/c+", "2.xml": "x/a+ x/b-" },
      { a: "-+", b: "-", c: "+" },
    ],
    [
      "has a word without a number in its path",
      { "a/RetryTest.xml": "a- b+", "b/RetryTest.xml": "a+ b+" },
      { a: "-", b: "+" },
    ],
    [
      "has the same number",
      { "py310/attempt_1.xml": "a- b+", "py313/attempt_1.xml": "a+ b+" },
      { a: "-", b: "+" },
    ],
  ];
  for (const [what, reports, expected] of cases) {
    it(`is a configuration: it ${what}`, () => assert.deepEqual(read(reports).tests, expected));
  }

  it("is noted with two paths and what tells them apart", () => {
    const { notes, ambiguous } = read({ "py310.xml": "a- b+", "py313.xml": "a+ b+" });
    assert.equal(notes.length, 1);
    assert.match(
      notes[0]!,
      /^2 tests stand in several reports, such as "a" in py310\.xml and py313\.xml.*--environment/,
    );
    assert.equal(ambiguous, 2);
  });
});

describe("a report that was merged from others", () => {
  it("counts once together with its parts", () => {
    const { tests, notes } = read({
      "all.xml": "x/a-100 x/b+200 y/c+300",
      "x.xml": "x/a-100 x/b+200",
      "y.xml": "y/c+300",
    });
    assert.deepEqual(tests, { a: "-", b: "+", c: "+" });
    assert.deepEqual(notes, [
      "x.xml: all its results stand in all.xml as well: counted once",
      "y.xml: all its results stand in all.xml as well: counted once",
    ]);
  });
});

describe("a set-up that failed", () => {
  const HOOK = '"before each" hook for "pays by card"'.replaceAll(" ", "_");

  it("passed in a later attempt that ran tests of its file without it", () => {
    const { tests } = read({
      "attempt_1.xml": `x/${HOOK}- x/other+`,
      "attempt_2.xml": "x/pays_by_card+ x/other+",
    });
    assert.equal(tests['"before each" hook for "pays by card"'], "-+");
  });

  it("passed in a rerun of its file alone", () => {
    const { tests } = read({ "1.xml": "x.js/x.js- y.js/b+ y.js/c+ y.js/d+", "2.xml": "x.js/a+" });
    assert.deepEqual(tests, { "x.js": "-+", a: "+", b: "+", c: "+", d: "+" });
  });

  it("passed where its tests ran whose class and name are equal by default", () => {
    const { tests } = read({
      "attempt_1.xml": "a.js/a.js- y/b+",
      "attempt_2.xml": "a.js/adds+ y/b+",
    });
    assert.equal(tests["a.js"], "-+");
  });

  it("did not pass in a rerun of another folder", () => {
    const { tests } = read({
      "admin/1.xml": "x.js/x.js-",
      "shop/1.xml": "x.js/a- x.js/b+ y.js/c+",
      "shop/2.xml": "x.js/a+",
    });
    assert.equal(tests["x.js"], "-");
  });

  it("did not pass where no test of its file ran, or another set-up failed", () => {
    for (const second of ["y/other+", `x/pays+ x/${HOOK.replace("card", "cash")}-`]) {
      const { tests } = read({ "attempt_1.xml": `x/${HOOK}-`, "attempt_2.xml": second });
      assert.equal(tests['"before each" hook for "pays by card"'], "-", second);
    }
  });
});
