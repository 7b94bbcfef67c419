import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "@std/testing/bdd";
import {
  readReportFiles,
  type ReadReportFilesOptions,
} from "../../../lib/report/read_report_files.ts";
import type { ReportFile } from "../../../lib/report/report_files.ts";

const report = (name: string) => `<testsuite name="s"><testcase name="${name}"/></testsuite>`;

describe("readReportFiles", () => {
  let root = "";
  const file = (name: string, isNamed = false): ReportFile => ({ path: join(root, name), isNamed });
  const quietly: ReadReportFilesOptions = { onResult: () => {} };

  before(async () => {
    root = await mkdtemp(join(tmpdir(), "read_reports_"));
    await writeFile(join(root, "a.xml"), report("a"));
    await writeFile(join(root, "b.xml"), report("b"));
    await writeFile(join(root, "copy_of_a.xml"), report("a"));
    await writeFile(join(root, "coverage.xml"), "<coverage/>");
    await writeFile(join(root, "broken.xml"), "<testsuite></testcase>");
    await writeFile(
      join(root, "cut.xml"),
      '<testsuite><testcase name="cut"/><testcase name="b">fai',
    );
    await writeFile(join(root, "none.xml"), "<testsuites/>");
    await writeFile(join(root, "lost.xml"), '<testsuites><testsuite tests="3"/></testsuites>');
    await writeFile(
      join(root, "check.xml"),
      '<testsuites xmlns="http://check.sourceforge.net/ns"><suite><title>S</title>' +
        '<test result="success"><id>a</id></test></suite></testsuites>',
    );
    await writeFile(join(root, "empty.xml"), "");
  });
  after(() => rm(root, { recursive: true }));

  it("reads file by file in the order in which they are given", async () => {
    const calls: string[] = [];
    const read = await readReportFiles([file("b.xml"), file("a.xml")], {
      onResult: ({ name }) => calls.push(name),
      onFile: ({ path }) => calls.push(path.slice(root.length + 1)),
    });
    assert.deepEqual(calls, ["b.xml", "b", "a.xml", "a"]);
    assert.equal(read.resultCount, 2);
  });

  it("has the same digest for the same contents, whatever the order and the names", async () => {
    const digest = async (...names: string[]) =>
      (await readReportFiles(names.map((name) => file(name)), quietly)).digest;
    const both = await digest("a.xml", "b.xml");
    assert.match(both, /^[0-9a-f]{64}$/);
    assert.equal(await digest("b.xml", "copy_of_a.xml"), both);
    assert.equal(await digest("b.xml", "coverage.xml", "a.xml"), both);
    assert.notEqual(await digest("a.xml"), both);
    assert.notEqual(await digest("a.xml", "copy_of_a.xml"), await digest("a.xml"));
  });

  it("skips XML of another kind that was only found, with a note", async () => {
    const notes: string[] = [];
    const read = await readReportFiles([file("a.xml"), file("coverage.xml")], {
      ...quietly,
      onNote: (note) => notes.push(note),
    });
    assert.equal(read.resultCount, 1);
    assert.deepEqual(notes, [
      `${join(root, "coverage.xml")}:1:1: found <coverage> as the outermost element: a coverage ` +
      "report, as of Cobertura or Clover, expected it as coverage: --coverage FILE, or the part " +
      "coverage of a form: skipped",
    ]);
  });

  it("refuses XML of another kind that was named", async () => {
    await assert.rejects(readReportFiles([file("a.xml"), file("coverage.xml", true)], quietly), {
      kind: "not-junit",
      message: /coverage\.xml:1:1: found <coverage>/,
    });
  });

  it("refuses when nothing is left", async () => {
    await assert.rejects(readReportFiles([file("coverage.xml")], quietly), {
      kind: "not-junit",
      message: `${
        join(root, "coverage.xml")
      }: found no JUnit report here or in the other XML files, expected at least one`,
    });
  });

  it("leaves out a report with a picture in an attribute, and reads the others", async () => {
    const huge = `<testsuite><testcase name="a"><failure message="${"A".repeat(18_000_000)}"/>` +
      "</testcase></testsuite>";
    const notes: string[] = [];
    const bytes = (text: string) => new Blob([text]).stream();
    const given = [["good.xml", '<testsuite><testcase name="b"/></testsuite>'], ["huge.xml", huge]];
    const { resultCount } = await readReportFiles(
      ReadableStream.from(given.map(([path, text]) => (
        { path: path!, isNamed: true, mayBeIncomplete: true, bytes: bytes(text!) }
      ))),
      { onResult: () => {}, onNote: (note) => notes.push(note) },
    );
    assert.equal(resultCount, 1);
    assert.match(
      notes.join(),
      /^huge\.xml:1:.*message="AAA.*at most 16777216 characters: left out$/,
    );
  });

  it("leaves out what is empty or cut off and was only found, with a note", async () => {
    const calls: string[] = [];
    const files = [file("a.xml"), file("cut.xml"), file("b.xml"), file("empty.xml")];
    const { resultCount, digest } = await readReportFiles(files, {
      onResult: ({ name }) => calls.push(name),
      onLeftOut: () => calls.push("left out"),
      onNote: (note) => calls.push(note.slice(root.length + 1)),
    });
    const cut =
      "cut.xml:1:56: found the end of the file inside <testcase>, expected its end: the " +
      "file seems to be cut off: left out";
    const empty = "empty.xml:1:1: found an empty file, expected a JUnit report in XML: left out";
    assert.deepEqual(calls, ["a", "cut", "left out", cut, "b", "left out", empty]);
    assert.equal(resultCount, 2);
    const whole = await readReportFiles([file("a.xml"), file("b.xml")], quietly);
    assert.equal(digest, whole.digest);
  });

  it("refuses an empty or truncated file that was named, or that is the only one", async () => {
    await assert.rejects(readReportFiles([file("a.xml"), file("empty.xml", true)], quietly), {
      kind: "incomplete",
      message: /empty\.xml:1:1: found an empty file/,
    });
    await assert.rejects(readReportFiles([file("coverage.xml"), file("cut.xml")], quietly), {
      kind: "incomplete",
      message: /cut\.xml:1:\d+: found the end of the file/,
    });
  });

  it("notes a report without results, and how many it declares", async () => {
    const notes: string[] = [];
    const onNote = (note: string) => void notes.push(note.slice(root.length + 1));
    await readReportFiles([file("none.xml", true), file("lost.xml")], { ...quietly, onNote });
    assert.deepEqual(notes, [
      "none.xml: found no test result",
      "lost.xml: found no test result, although it declares 3 tests",
    ]);
  });

  it("refuses UTF-32, which cannot be decoded, with the command that converts it", async () => {
    const utf32 = (text: string) =>
      new Uint8Array(Uint32Array.from(text, (sign) => sign.charCodeAt(0)).buffer);
    for (const text of ["<testsuites/>", "\ufeff<testsuites/>"]) {
      await writeFile(join(root, "utf32.xml"), utf32(text));
      await assert.rejects(readReportFiles([file("utf32.xml", true)], quietly), {
        message: /utf32\.xml:1:1: found text in UTF-32, expected UTF-8: iconv -f UTF-32 -t UTF-8/,
      });
    }
  });

  it("refuses a report of Check, whose outermost element is called as that of JUnit", async () => {
    await assert.rejects(readReportFiles([file("check.xml", true)], quietly), {
      kind: "not-junit",
      message: /found <testsuites> .*: Check's own report, expected JUnit: .*TAP::Formatter::JUnit/,
    });
  });

  it("refuses a file that cannot be read, even if it was only found", async () => {
    await assert.rejects(readReportFiles([file("a.xml"), file("broken.xml")], quietly), {
      kind: "malformed",
    });
    await assert.rejects(readReportFiles([file("gone.xml", true)], quietly), { kind: "not-found" });
    await assert.rejects(readReportFiles([{ path: root, isNamed: true }], quietly), {
      kind: "unreadable",
    });
  });

  it("counts the results of all files for the limit", async () => {
    const files = [file("a.xml"), file("b.xml")];
    await readReportFiles(files, { ...quietly, maxResultCount: 2 });
    await assert.rejects(readReportFiles(files, { ...quietly, maxResultCount: 1 }), {
      kind: "limit",
      message: /b\.xml:1:\d+: found more than 2000000 results in one upload/,
    });
  });
});
