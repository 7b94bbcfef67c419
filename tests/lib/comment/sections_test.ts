import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import fc from "fast-check";
import { parseTimeZone } from "../../../lib/base/time_zone.ts";
import { jobSection, type ReportedTest } from "../../../lib/comment/job_section.ts";
import {
  commentBody,
  headline,
  MAX_COMMENT_CHARACTERS,
  mergeSections,
  parseComment,
  type Section,
} from "../../../lib/comment/sections.ts";

// The same cases each time, so that no run fails by chance.
fc.configureGlobal({ seed: 1 });

function section(changes: Partial<Section> = {}): Section {
  return {
    job: "unit",
    run: [1, 1],
    runner: "",
    writtenAt: 1,
    failed: 0,
    yours: 0,
    unknown: 0,
    flaky: 0,
    broken: 0,
    unclear: 0,
    text: "#### unit",
    ...changes,
  };
}

const sections = fc.array(
  fc.record({
    job: fc.constantFrom("a", "b"),
    run: fc.tuple(fc.integer({ min: 1, max: 2 }), fc.integer({ min: 1, max: 2 })),
    runner: fc.constantFrom("", "x"),
    writtenAt: fc.integer({ min: 1, max: 2 }),
    text: fc.constantFrom("one", "two"),
  }).map(section),
  { maxLength: 6 },
);

describe("the sections of a comment", () => {
  it("are merged in any order, and repeatedly, with the same outcome", () => {
    fc.assert(fc.property(sections, sections, sections, (a, b, c) => {
      const merge = (...lists: Section[][]) => mergeSections(lists.flat());
      const all = merge(a, b, c);
      assert.deepEqual(merge(merge(a, b), c), all);
      assert.deepEqual(merge(a, merge(b, c)), all);
      assert.deepEqual(merge(c, b, a), all);
      assert.deepEqual(merge(all, all), all);
    }));
  });

  it("are read back from the comment, even after it was edited in a browser", () => {
    const written = [section({ job: "a → ü", text: "one\ntwo" }), section({ job: "b", text: "" })];
    assert.deepEqual(parseComment(commentBody(written)), written);
    assert.deepEqual(parseComment(commentBody(written).replaceAll("\n", "\r\n")), written);
  });

  it("are left out where a mark is damaged", () => {
    const body = commentBody([section({ job: "a" }), section({ job: "b" })]);
    for (const damaged of ["x", "bnVsbA", Buffer.from('{"job":1}').toString("base64url")]) {
      const changed = body.replace(/section [\w-]+/, `section ${damaged}`);
      assert.deepEqual(parseComment(changed).map(({ job }) => job), ["b"]);
    }
    assert.deepEqual(parseComment("anything"), []);
  });

  it("fit into the comment, however many and long they are", () => {
    for (const count of [1, 20, 100, 500]) {
      const many = Array.from(
        { length: count },
        (_, index) =>
          section({
            job: `job ${String(index).padStart(3, "0")}`,
            failed: 1,
            text: "- `x`\n".repeat(12_000),
          }),
      );
      const body = commentBody(many);
      assert.ok(body.length <= MAX_COMMENT_CHARACTERS, `${count}: ${body.length}`);
      assert.equal(parseComment(body).length, Math.min(count, 100));
      assert.match(body, /\n- and more, which did not fit\n/);
      assert.match(body, new RegExp(`\\*\\*${count} tests? failed`));
    }
  });

  it("add up to a first line that says whose failures they are", () => {
    const cases: [Partial<Section>[], string][] = [
      [[{ failed: 4, yours: 1 }], "4 tests failed: 1 is probably yours, 3 are not."],
      [
        [{ failed: 3, yours: 1, unclear: 1 }, { failed: 1, yours: 1 }],
        "4 tests failed: 2 are probably yours, 1 is unclear, 1 is not.",
      ],
      [[{ failed: 1 }], "1 test failed: it is not yours."],
      [[{ failed: 2, unknown: 2 }], "2 tests failed: it is unknown whether they are yours."],
      [
        [{ failed: 3, yours: 1, unknown: 1 }],
        "3 tests failed: 1 is probably yours, 1 is not, 1 is unknown.",
      ],
      [[{ flaky: 2 }], "No test failed. 2 tests passed only on a retry."],
      [[{ broken: 1 }], "1 problem of the reports."],
      [
        [{ failed: 1, yours: 1, broken: 2 }],
        "1 test failed: it is probably yours. 2 problems of the reports.",
      ],
      [[{}], "No test failed."],
      [[{ isPart: true }], "Not all tests ran. No test failed."],
    ];
    for (const [changes, line] of cases) assert.equal(headline(changes.map(section)), line);
    assert.match(
      commentBody([section({})]),
      /\n\*\*Resolved: the tests that failed here pass\.\*\*/,
    );
  });
});

describe("the section of a job", () => {
  it("lists failures by verdict with cause, last failure, owner and page", () => {
    const test = (name: string, changes: Partial<ReportedTest>): ReportedTest => ({
      suite: "shop",
      class: "Cart",
      name,
      file: "cart.ts",
      verdict: "new",
      message: "",
      page: "",
      last: null,
      owners: [],
      blame: null,
      said: "",
      evidenceUrl: "",
      ...changes,
    });
    const { text, ...counts } = jobSection({
      job: "CI / unit",
      run: [7, 1],
      runner: "",
      writtenAt: 1,
      zone: parseTimeZone("Asia/Tokyo"),
      commit: "0123456789abcdef",
      page: "",
      buildUrl: "https://ci.example/7",
      failed: [
        test("flaky", {
          verdict: "flaky",
          blame: "not_yours",
          said: "not yours: it also passed on the same code",
          evidenceUrl: "https://ci.example/2",
          message: "timed out",
          page: "https://flaky.example/tests/1",
          last: { recorded_at: "2026-01-30T15:00:00Z", build_url: "https://ci.example/3" },
          owners: ["@acme/cart"],
        }),
        test("new", {
          message: "expected 1, found 2",
          blame: "yours",
          said: "probably yours: never failed in 30 runs on `main`",
        }),
      ],
      flaky: [test("retried", {})],
      problems: [],
      serviceProblem: null,
      notWhole: null,
      redExitCode: null,
      outage: null,
    });
    assert.equal(
      text,
      `#### \`CI / unit\`: 2 failed, 1 flaky at \`0123456\`, [build](https://ci.example/7)

**Probably yours** (1)

- \`shop > Cart > new (cart.ts)\`
  \`expected 1, found 2\` · probably yours: never failed in 30 runs on \`main\`

**Not yours** (1)

- \`shop > Cart > flaky (cart.ts)\`
  \`timed out\` · not yours: it also passed on the same code ([run](https://ci.example/2)) · last seen [2026-01-31](https://ci.example/3) · owner \`@acme/cart\` · [history](https://flaky.example/tests/1)

**Passed only on a retry** (1)

- \`shop > Cart > retried (cart.ts)\``,
    );
    assert.deepEqual([counts.failed, counts.yours, counts.flaky], [2, 1, 1]);
  });
});
