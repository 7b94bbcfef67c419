import { afterEach, beforeEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { ArchiveReader } from "../../../lib/intake/archive_reader.ts";
import type { UploadToPack } from "../../../lib/intake/pack_upload.ts";
import { inspectArchive } from "../../../lib/report/archive/mod.ts";
import { fileSource } from "../../../lib/storage/folder.ts";
import { isSystemFault } from "../../../lib/intake/system_fault.ts";
import { NOON } from "../cli/run_in_process.ts";
import { archiveOf, reportOf } from "../report/archive/make_archive.ts";
import { threadMs } from "../../thread_time.ts";

const BOUNDARY = "b";
const FORM = `multipart/form-data; boundary=${BOUNDARY}`;
type Part = readonly [part: string, name: string, text: string];

function formOf(parts: readonly Part[]): string {
  const written = parts.map(([part, name, text]) =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${part}"; filename="${name}"\r\n\r\n` +
    `${text}\r\n`
  );
  return `${written.join("")}--${BOUNDARY}--\r\n`;
}

async function countHandles(): Promise<number> {
  return (await Array.fromAsync(Deno.readDir("/proc/self/fd"))).length;
}

/** Watches this thread and the handles of this process while something runs. */
async function watched<T>(work: Promise<T>) {
  const handlesBefore = await countHandles();
  const begun = performance.now();
  let [handles, pauseMs, last] = [0, 0, threadMs()];
  const timer = setInterval(() => {
    const now = threadMs();
    pauseMs = Math.max(pauseMs, now - last);
    last = now;
    handles = Math.max(handles, [...Deno.readDirSync("/proc/self/fd")].length - handlesBefore);
  }, 5);
  const value = await work.finally(() => clearInterval(timer));
  // In this thread, one pause would take two thirds of the time.
  const maxPauseMs = Math.max(250, (performance.now() - begun) / 4);
  assert.ok(pauseMs < maxPauseMs, `computed for ${pauseMs} ms without a pause`);
  return { value, handles };
}

describe("packing an upload in a worker thread", () => {
  const reader = new ArchiveReader();
  let folder = "";

  beforeEach(async () => {
    await reader.start();
    folder = await Deno.makeTempDir({ prefix: "test-analytics-pack-" });
  });
  afterEach(async () => {
    reader.close();
    await Deno.remove(folder, { recursive: true });
  });

  async function pack(
    body: string | Uint8Array,
    { contentType = FORM, keepsResults = true, ...given }: Partial<UploadToPack> = {},
  ) {
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    await Deno.writeFile(join(folder, "body"), bytes);
    return await reader.pack({
      folder,
      contentType,
      organization: "acme",
      parameters: [["commit", "4f2a9c1"]],
      repo: { owner: "acme", name: "shop" },
      ...given,
      now: NOON,
      keepsResults,
    }, bytes.length);
  }

  it("opens few files for a form of many, and does not block this thread", async () => {
    const parts = Array.from(
      { length: 3_000 },
      (_, no) => ["report", `TEST-${no}.xml`, reportOf(`test ${no}`)] as const,
    );
    const packing = pack(formOf(parts));
    const { value, handles } = await watched(packing);
    assert.equal(value.files?.results?.content.resultCount, 3_000);
    const { reports } = await inspectArchive(fileSource(value.archive.path));
    assert.equal(reports.length, 3_000);
    // Other tests of this process open files too.
    assert.ok(handles < 1_000, `${handles} handles`);
  });

  it("does not block this thread for an archive of many entries", async () => {
    const body = await archiveOf(
      Array.from({ length: 6_000 }, (_, no) => [`test-results/${no}.xml`, reportOf(`${no}`)]),
    );
    const { value } = await watched(pack(body, { contentType: "application/gzip" }));
    assert.equal(value.files?.results?.content.resultCount, 6_000);
  });

  it("keeps the names of reports that are found by their beginning", async () => {
    const event = (action: string) => `{"Action":"${action}","Package":"p","Test":"TestA"}\n`;
    const spaced = `${" ".repeat(5_000)}${reportOf("late")}`;
    const { archive } = await pack(formOf([
      ["report", "go-test-rerun.json", event("pass")],
      ["report", "go-test.json", event("fail")],
      ["report", "late", spaced],
    ]));
    const { reports } = await inspectArchive(fileSource(archive.path));
    assert.deepEqual(
      reports.map(({ path }) => path.replace("test-results/", "")),
      ["go-test.json", "go-test-rerun.json", "late.xml"],
    );
  });

  const failed = '<testsuite name="s"><testcase classname="c" name="x"><failure message="m"/>' +
    '</testcase><testcase classname="c" name="y"/><testcase classname="d" name="z"/></testsuite>';
  const passed = '<testsuite name="s"><testcase classname="c" name="x"/>' +
    '<testcase classname="c" name="y"/></testsuite>';
  const configurationsOf = async (body: string | Uint8Array, given?: Partial<UploadToPack>) => {
    const { archive, notes } = await pack(body, given);
    const { reports } = await inspectArchive(fileSource(archive.path));
    const [, files = ""] = /^2 tests stand in several reports, such as "x" in (.*), which do not/
      .exec(notes.join("\n")) ?? [];
    const texts = [...reports.map(({ path }) => path), files];
    return texts.map((text) => text.replaceAll(/(?:\w+: )?test-results\//g, ""));
  };

  it("keeps reports of one name apart: they are of different folders, and no attempts", async () => {
    const names = {
      "junit.xml": "junit.xml",
      "": "report",
      "a/j.xml": "a/j.xml",
      "..\\j.xml": "j.xml",
    };
    for (const [name, path] of Object.entries(names)) {
      assert.deepEqual(
        await configurationsOf(formOf([["report", name, failed], ["report", name, passed]])),
        [`1/${path}`, `2/${path}`, `1/${path} and 2/${path}`],
      );
    }
    const name = "test-results/junit.xml";
    const archive = await archiveOf([[name, failed], [name, passed]]);
    assert.deepEqual(
      await configurationsOf(archive, { contentType: "application/gzip" }),
      ["junit.xml", "junit.xml", "junit.xml and junit.xml"],
    );
  });

  it("takes a name that comes again for the first one of the next folder", async () => {
    const paths = async (...names: string[]) =>
      (await configurationsOf(formOf(names.map((name, no) => ["report", name, reportOf(`${no}`)]))))
        .slice(0, -1);
    assert.deepEqual(
      await paths("a.xml", "a-rerun.xml", "a.xml", "b.xml", "a.xml", "a-rerun.xml"),
      ["1/a.xml", "1/a-rerun.xml", "2/a.xml", "2/b.xml", "3/a.xml", "3/a-rerun.xml"],
    );
    assert.deepEqual(await paths("a.xml", "a-rerun.xml"), ["a.xml", "a-rerun.xml"]);
  });

  it("keeps the parts apart, whatever their sizes and order", async () => {
    const sizes = [0, 1, 70_000, 0, 3_000_000, 5, 262_144, 262_143, 0];
    const texts = sizes.map((size, no) => `<!--${String(no).repeat(size)}-->${reportOf(`${no}`)}`);
    const body = formOf([
      ["codeowners", "CODEOWNERS", "* @acme"],
      ...texts.map((text, no) => ["report", `${no}.xml`, text] as const),
      ["coverage", "empty", ""],
      ["coverage", "lcov.info", "SF:a.ts\nDA:1,1\nend_of_record\n"],
    ]);
    const { archive, files } = await pack(body);
    assert.equal(files?.results?.content.resultCount, sizes.length);
    assert.equal(files?.coverage?.coveredLineCount, 1);
    const contents = await inspectArchive(fileSource(archive.path));
    assert.equal(contents.codeowners, "* @acme");
    assert.deepEqual(
      contents.reports.map(({ path }) => path),
      sizes.map((_, no) => `test-results/${no}.xml`),
    );
    assert.deepEqual(
      contents.coverage.map(({ path }) => path),
      ["coverage/empty", "coverage/lcov.info"],
    );
  });

  it("keeps no results beyond a bound, and none that are not used", async () => {
    const suiteOf = (count: number, content: string) => {
      const cases = Array.from(
        { length: count },
        (_, no) => `<testcase name="${no}">${content}</testcase>`,
      );
      return `<testsuite>${cases.join("")}</testsuite>`;
    };
    const report = (count: number) => suiteOf(count, `<failure message="m"/>`);
    const contentType = "text/xml";
    assert.equal(
      (await pack(report(5_000), { contentType })).files?.results?.content.resultCount,
      5_000,
    );
    assert.equal((await pack(report(5_001), { contentType })).files, null);
    assert.equal((await pack(report(1), { contentType, keepsResults: false })).files, null);
    const { files, archive } = await pack(suiteOf(100_001, ""), { contentType });
    assert.equal(files, null);
    assert.equal((await inspectArchive(fileSource(archive.path))).reports.length, 1);
    const longNames = Array.from(
      { length: 700 },
      (_, no) => `<testcase name="${no}${"é".repeat(25_000)}"/>`,
    ).join("");
    const { files: long } = await pack(`<testsuite>${longNames}</testsuite>`, { contentType });
    assert.equal(long, null, "700 results have names of 35 MB");
  });

  it("reports a full disk as an outage, and what is wrong with an upload with its status", async () => {
    await Deno.symlink("/dev/full", join(folder, "parts"));
    await assert.rejects(pack(formOf([["report", "a.xml", reportOf("a")]])), (error) => {
      assert.ok(isSystemFault(error));
      return /No space left/i.test(String(error));
    });
    await Deno.remove(join(folder, "parts"));
    await assert.rejects(pack(formOf([["junit", "a.xml", ""]])), (error: Error) => {
      assert.equal(error.name, "UploadError");
      return /^unknown part "junit"/.test(error.message);
    });
    const many = Array.from({ length: 10_001 }, () => ["report", "a.xml", ""] as const);
    await assert.rejects(pack(formOf(many)), { status: 413, message: /more than 10000 files/ });
    await assert.rejects(pack(formOf([["report", "a.xml", "<testsuite>"]])), {
      name: "ReportError",
      kind: "incomplete",
    });
  });
});
