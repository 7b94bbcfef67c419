/** Tests that failed in several jobs, in the comment of a pull request. */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { parseTimeZone } from "../../../lib/base/time_zone.ts";
import { jobSection, type ReportedTest } from "../../../lib/comment/job_section.ts";
import {
  commentBody,
  headline,
  MAX_COMMENT_CHARACTERS,
  parseComment,
  type Section,
} from "../../../lib/comment/sections.ts";
import type { Blame } from "../../../lib/evidence/shares.ts";

function failed(name: string, blame: Blame | null, more: Partial<ReportedTest> = {}): ReportedTest {
  return {
    suite: "",
    class: "",
    name,
    file: "",
    verdict: "new",
    message: `${name} broke`,
    page: "",
    last: null,
    owners: [],
    blame,
    said: "",
    evidenceUrl: "",
    ...more,
  };
}

function job(name: string, failed: ReportedTest[], flaky: ReportedTest[] = []): Section {
  return jobSection({
    job: name,
    run: [1, 1],
    runner: name,
    writtenAt: 1,
    zone: parseTimeZone("UTC"),
    commit: "",
    page: "",
    buildUrl: "",
    failed,
    flaky,
    problems: [],
    serviceProblem: null,
    notWhole: null,
    redExitCode: null,
    outage: null,
  });
}

/** The lines of a comment that a reader sees. */
function visible(body: string): string[] {
  return body.replaceAll(/<!--[^]*?-->/g, "").split("\n").map((line) => line.trim())
    .filter((line) => line !== "");
}

describe("a test that failed in several jobs", () => {
  const four = () => ["a", "b", "c", "d"].map((name) => failed(name, "yours"));

  it("counts once in the headline", () => {
    assert.match(headline([job("ubuntu", four()), job("macos", four())]), /^4 tests failed: 4 are/);
  });

  it("counts as yours if it is yours in one of them", () => {
    const jobs = [job("ubuntu", [failed("a", "not_yours")]), job("macos", [failed("a", "yours")])];
    assert.equal(headline(jobs), "1 test failed: it is probably yours.");
    assert.equal(headline(jobs.toReversed()), "1 test failed: it is probably yours.");
  });

  it("counts as failed if it passed on a retry in another one", () => {
    const jobs = [job("ubuntu", [], [failed("a", null)]), job("macos", [failed("a", "yours")])];
    assert.equal(headline(jobs), "1 test failed: it is probably yours.");
  });

  it("counts once where the jobs have more tests than the comment has room for", () => {
    const many = () => Array.from({ length: 300 }, (_, number) => failed(`t${number}`, "yours"));
    assert.match(headline([job("ubuntu", many()), job("macos", many())]), /^300 tests failed/);
  });

  it("counts in each job that has written its section with an earlier version", () => {
    const { tests: _, ...earlier } = job("ubuntu", four());
    assert.match(headline([earlier, job("macos", four())]), /^8 tests failed/);
  });

  it("is one line with the names of the other jobs, whatever is yours in them", () => {
    const body = commentBody([
      job("macos", [failed("a", "yours"), failed("b", "yours")]),
      job("ubuntu", [failed("c", "yours"), failed("a", "unclear")]),
    ]);
    assert.deepEqual(visible(body), [
      "**3 tests failed: 3 are probably yours.**",
      "#### `macos`: 2 failed",
      "**Probably yours** (2)",
      "- `a`",
      "`a broke` · also in `ubuntu`",
      "- `b`",
      "`b broke`",
      "#### `ubuntu`: 2 failed",
      "**Probably yours** (1)",
      "- `c`",
      "`c broke`",
      "**Unclear** (1)",
      "- 1 more, listed under another job",
    ]);
  });

  it("is listed by another job once the first has passed", () => {
    const jobs = [job("macos", four()), job("ubuntu", four())];
    const read = parseComment(commentBody(jobs));
    assert.deepEqual(read, jobs);
    const body = commentBody([job("macos", []), read[1]!]);
    assert.deepEqual(visible(body).slice(2), [
      "#### `ubuntu`: 4 failed",
      "**Probably yours** (4)",
      ...["a", "b", "c", "d"].flatMap((name) => [`- \`${name}\``, `\`${name} broke\``]),
    ]);
  });

  it("is read back, whatever it is called and says", () => {
    const marks = ["<!-- test-analytics also -->", "<!-- -->", "a`b", "- and 3 more", "x\n\ny"];
    const hostile = marks.flatMap((mark) => [
      failed(mark, "yours", { message: "" }),
      failed("z", null, { message: `${mark} · ${mark}` }),
    ]);
    const jobs = ["a", "b", "c <!-- test-analytics also -->"].map((name) => job(name, hostile));
    assert.deepEqual(parseComment(commentBody(jobs)), jobs);
  });

  it("makes no comment too large", () => {
    const many = Array.from({ length: 200 }, (_, number) => failed(`test ${number}`, "yours"));
    const jobs = Array.from({ length: 120 }, (_, number) => job(`job ${number}`, many));
    const body = commentBody(jobs);
    assert.ok(body.length <= MAX_COMMENT_CHARACTERS, `${body.length} characters`);
    assert.match(headline(parseComment(body)), /^200 tests failed/);
  });

  it("is left out if what hides it is damaged", () => {
    const body = commentBody([job("a", four()), job("b", four())]);
    const damaged = body.replace(/(listed )[\w-]+( -->)/, "$1eHg$2");
    assert.deepEqual(parseComment(damaged).map((one) => one.job), ["a", "b"]);
  });
});
