import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "@std/testing/bdd";
import { readResults, readUploadFiles } from "../../../lib/intake/read_files.ts";
import { NO_GAPS } from "../../../lib/report/report_gaps.ts";

const CASES = '<testcase name="a"/><testcase name="b"/>';
const WHOLE = `<testsuite name="s" tests="2">${CASES}</testsuite>`;

/** What reports hide of an upload of them and of a whole one. */
async function gapsOf(...texts: string[]) {
  const streamed = async function* () {
    for (const [index, text] of [WHOLE, ...texts].entries()) {
      const bytes = ReadableStream.from([new TextEncoder().encode(text)]);
      yield { path: `${index}.xml`, isNamed: true, mayBeIncomplete: true, bytes };
    }
  };
  const { gaps } = await readResults(streamed(), {}, { note() {} });
  return gaps;
}

describe("what the reports of an upload hide", () => {
  const cases: [title: string, text: string, gaps: Partial<typeof NO_GAPS>][] = [
    ["nothing", WHOLE.replaceAll('name="a"', 'name="c"'), {}],
    ["a report that is cut off", WHOLE.slice(0, -9), { cutOffReportCount: 1 }],
    ["an empty report", "", { cutOffReportCount: 1 }],
    [
      "a suite that declares more tests than it lists",
      WHOLE.replace('"2"', '"80"'),
      { unlistedSuiteCount: 1 },
    ],
    [
      "an error outside of a test",
      WHOLE.replace("</testsuite>", '<error message="crash"/></testsuite>'),
      { outsideFailureCount: 1 },
    ],
    ["a report without results", '<testsuite name="s"/>', { emptyReportCount: 1 }],
  ];
  for (const [title, text, gaps] of cases) {
    it(`is counted: ${title}`, async () => {
      assert.deepEqual(await gapsOf(text), { ...NO_GAPS, ...gaps });
    });
  }

  it("is counted once for a report that is cut off after an error", async () => {
    const text = `<testsuites>${cases[4]![1]}<testsuite`;
    assert.deepEqual(await gapsOf(text, WHOLE), { ...NO_GAPS, cutOffReportCount: 1 });
  });
});

describe("the files of an upload", () => {
  it("are noted when they are reports that a folder does not stand for, unless they are old", async () => {
    const folder = await Deno.makeTempDir({ prefix: "test-analytics-unread-" });
    const path = join(folder, "results.trx");
    await Deno.writeTextFile(join(folder, "junit.xml"), WHOLE);
    await Deno.writeTextFile(path, "<TestRun/>");
    const jobStart = { startedAt: Date.now() / 1_000, checkout: null };
    const notes = async () =>
      (await readUploadFiles({ reports: [folder], coverage: [], jobStart }, { note() {} })).notes;
    assert.deepEqual(await notes(), [
      `${path}: is a report and was not read: a folder stands for its *.xml files; ` +
      `name it, or a pattern such as '${folder}/**/*.trx'`,
    ]);
    await Deno.utime(path, jobStart.startedAt - 600, jobStart.startedAt - 600);
    assert.deepEqual(await notes(), []);
    await Deno.remove(folder, { recursive: true });
  });
});
