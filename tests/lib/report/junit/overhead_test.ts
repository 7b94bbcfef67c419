/** The times of suites, through `read_report.ts`. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { readReport } from "../../../../lib/report/read_report.ts";

/** The overheads of a report, each with the name of the first test of its suite. */
async function overheadsOf(report: string): Promise<unknown[]> {
  const found: unknown[] = [];
  await readReport(ReadableStream.from([new TextEncoder().encode(report)]), {
    file: "a.xml",
    onResult: () => {},
    onOverhead: ({ name }, { microseconds, isOneClass }) =>
      found.push([name, microseconds / 1_000, ...isOneClass ? ["class"] : []]),
  });
  return found;
}

const test = (name: string, time: string, more = "") =>
  `<testcase name="${name}" time="${time}" ${more}/>`;

const suite = (time: string, ...content: string[]) =>
  `<testsuite name="s" time="${time}">${content.join("")}</testsuite>`;

describe("the time of a suite beyond its tests", () => {
  it("is its own time without that of its tests and their attempts", async () => {
    const attempts = `<testcase name="b" time="0.2"><flakyFailure time="0.3"/></testcase>`;
    assert.deepEqual(await overheadsOf(suite("1", test("a", "0.1"), attempts)), [
      ["a", 400, "class"],
    ]);
    assert.deepEqual(await overheadsOf(suite("0.25", test("a", "0.25"), attempts)), []);
    assert.deepEqual(await overheadsOf(suite("0.1004", test("a", "0.1"))), []);
    assert.deepEqual(await overheadsOf(suite("", test("a", "0.1"))), []);
    assert.deepEqual(await overheadsOf("<testsuite name='s' time='2'/>"), []);
  });

  it("does not include the suites in it", async () => {
    const inner = suite("0.5", test("b", "0.2"));
    assert.deepEqual(await overheadsOf(suite("1", test("a", "0.1"), inner)), [
      ["b", 300, "class"],
      ["a", 400, "class"],
    ]);
    const all = `<testsuites time="9">${suite("1", test("a", "0.4"))}</testsuites>`;
    assert.deepEqual(await overheadsOf(all), [["a", 600, "class"]]);
  });

  it("is that of a suite of one file, or of one class where there are no files", async () => {
    const [a, b] = [`file="a.js" classname="A"`, `file="a.js" classname="B"`];
    const oneFile = suite("1", test("a", "0.4", a), test("b", "0.4", b));
    assert.deepEqual(await overheadsOf(oneFile), [["a", 200]]);
    const twoFiles = suite("1", test("a", "0.4", a), test("b", "0.4", `file="b.js"`));
    assert.deepEqual(await overheadsOf(twoFiles), []);
    const twoClasses = suite("1", test("a", "0.4", `classname="A"`), test("b", "0.4"));
    assert.deepEqual(await overheadsOf(twoClasses), []);
  });
});
