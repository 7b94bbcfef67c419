/** Failures outside of test cases, through `read_report.ts`. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { readReport } from "../../../../lib/report/read_report.ts";

/** The failures of a report that give no result. */
async function outsideOf(report: string): Promise<string[]> {
  const found: string[] = [];
  const bytes = ReadableStream.from([new TextEncoder().encode(report)]);
  await readReport(bytes, {
    file: "a.xml",
    onResult: () => {},
    onFailureOutside: (failure) => found.push(failure),
  });
  return found.map((failure) => failure.replace(/^a\.xml:\d+:\d+: /, ""));
}

const FAILS = `<testcase name="a"><failure/></testcase>`;
const PASSES = `<testcase name="a"/>`;

describe("failures that give no result", () => {
  it("are elements outside of a test, wherever they stand", async () => {
    const [element, inside] = [
      "<error> outside of a <testcase>",
      "<error> not directly in a <testcase>",
    ];
    for (
      const [report, expected] of [
        [`<testsuite>${FAILS}<error/></testsuite>`, [element]],
        [`<testsuites><error/><testsuite>${FAILS}</testsuite></testsuites>`, [element]],
        [`<testsuites><x><error/></x></testsuites>`, [element]],
        [`<testsuite><testcase name="a"><x><error/></x></testcase></testsuite>`, [inside]],
        [
          `<testsuite><testcase name="a"><testcase name="b"><error/></testcase></testcase></testsuite>`,
          [
            inside,
          ],
        ],
        [`<testsuite><testcase><error/></testcase></testsuite>`, [
          "a failure of a <testcase> without a name",
        ]],
        [`<testsuite>${FAILS}<system-out>&lt;error/&gt;</system-out></testsuite>`, []],
      ] as const
    ) assert.deepEqual(await outsideOf(report), expected, report);
  });

  it("in capitals are a note as well, because the test counts as passed", async () => {
    const report = `<testsuite><testcase name="a"><Failure/></testcase></testsuite>`;
    const notes: string[] = [];
    await readReport(ReadableStream.from([new TextEncoder().encode(report)]), {
      file: "a.xml",
      onResult: () => {},
      onNote: (note) => notes.push(note),
    });
    const what = "<Failure> in a <testcase>, expected <failure>";
    assert.deepEqual(notes, [`a.xml:1:31: found ${what}: it is not read`]);
    assert.deepEqual(await outsideOf(report), [what]);
  });

  it("are those that only the totals of a suite or of all suites count", async () => {
    const missing = (declared: number, found: number) => [
      `${declared} failures and errors in the totals, ${found} in tests`,
    ];
    for (
      const [report, expected] of [
        [`<testsuite errors="1">${PASSES}</testsuite>`, missing(1, 0)],
        [`<testsuite failures="1" errors="1">${FAILS}</testsuite>`, missing(2, 1)],
        [`<testsuites failures="1"><testsuite>${PASSES}</testsuite></testsuites>`, missing(1, 0)],
        // Once, although the totals of all suites count it too.
        [
          `<testsuites errors="1" failures="1"><testsuite failures="1">${FAILS}</testsuite>` +
          `<testsuite errors="1"/></testsuites>`,
          missing(1, 0),
        ],
        [`<testsuite failures="1"><testsuite failures="1">${FAILS}</testsuite></testsuite>`, []],
        [`<testsuite failures="1">${FAILS}${FAILS}</testsuite>`, []],
        [`<testsuite failures="1"><testcase name="a" status="failed"/></testsuite>`, []],
        [
          `<testsuite failures="1" errors="1"><testcase name="a"><failure/><error/></testcase>` +
          `</testsuite>`,
          [],
        ],
        [
          `<testsuite failures="2"><testcase name="a"><failure/><rerunFailure/></testcase></testsuite>`,
          [],
        ],
        [
          `<testsuite failures="" errors="many">${PASSES}</testsuite>`,
          ['the total "many" of a suite, expected a number'],
        ],
        [
          `<testsuite failures="-1">${PASSES}</testsuite>`,
          ['the total "-1" of a suite, expected a number'],
        ],
        [
          `<testsuite tests="many">${PASSES}</testsuite>`,
          ['the total "many" of a suite, expected a number'],
        ],
        [`<testsuite failures="1,000" errors="0">${PASSES}</testsuite>`, missing(1_000, 0)],
      ] as const
    ) assert.deepEqual(await outsideOf(report), expected, report);
  });
});
