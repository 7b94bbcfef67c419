import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "@std/testing/bdd";
import { comparePaths } from "../../../lib/analysis/repetition/report_order.ts";
import { findReports } from "../../../lib/report/report_files.ts";

const WRITE_IT =
  "have the tests write it, such as `pytest --junitxml=reports/junit.xml -o junit_family=xunit1`";

async function gzip(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(bytes).arrayBuffer());
}

describe("findReports", () => {
  let root = "";
  const at = (...names: string[]) => join(root, ...names);
  const found = async (...reportArguments: string[]) =>
    (await findReports(reportArguments)).map(({ path, isNamed }) => [
      path.slice(root.length + 1),
      isNamed,
    ]);

  before(async () => {
    root = await mkdtemp(join(tmpdir(), "report_files_"));
    for (const folder of ["out/b", "out/a/deep", "empty", "elsewhere"]) {
      await mkdir(at(folder), { recursive: true });
    }
    const files = [
      "out/b/two.xml",
      "out/a/one.XML",
      "out/a/deep/three.xml",
      "out/a/notes.txt",
      "out/a/[1].xml",
      "elsewhere/four.xml",
    ];
    for (const file of files) await writeFile(at(file), "<testsuites/>");
    await symlink(at("elsewhere"), at("out/link"));
    await symlink(at("elsewhere/four.xml"), at("out/b/link.xml"));
    await symlink(at("out"), at("out/a/loop"));
    await symlink(at("out"), at("results"));
  });
  after(() => rm(root, { recursive: true }));

  it("takes a file as it is named, whatever its ending", async () => {
    assert.deepEqual(await found(at("out/a/notes.txt")), [["out/a/notes.txt", true]]);
    assert.deepEqual(await found(at("out/a/[1].xml")), [["out/a/[1].xml", true]]);
  });

  it("names a bundle of Xcode, and what makes JUnit of it", async () => {
    await mkdir(at("Tests.xcresult"));
    await assert.rejects(findReports([at("Tests.xcresult")]), {
      message: /found Xcode's result bundle, expected JUnit: xcresultparser -o junit/,
    });
  });

  it("reports links and named pipes, which it does not read", async () => {
    await mkdir(at("special"));
    assert.ok(
      (await new Deno.Command("mkfifo", { args: [at("special/pipe.xml")] }).output()).success,
    );
    await symlink(at("elsewhere/four.xml"), at("special/link.xml"));
    await writeFile(at("special/five.xml"), "<testsuites/>");
    for (const argument of [at("special"), at("special/*")]) {
      const skipped: string[] = [];
      const files = await findReports(
        [argument],
        ({ path, reason }) => skipped.push(`${path.slice(at("special").length + 1)} ${reason}`),
      );
      assert.ok(files.some(({ path }) => path === at("special/five.xml")));
      assert.ok(files.every(({ path }) => path !== at("special/pipe.xml")));
      assert.ok(
        skipped.includes("pipe.xml is a named pipe, a socket or a device, which is not read"),
        skipped.join(),
      );
    }
  });

  it("reports what is a report below a folder and has another name than *.xml, unless it is named", async () => {
    const trx = "\ufeff<?xml version='1.0'?>\n<!-- a -->\n<TestRun id='1'/>";
    const go = '{"Action":"run","Package":"acme/x","Test":"TestA"}\n';
    const ctrf = (more: string) => `{\n"reportFormat": "CTRF",\n "results" : { ${more} } }`;
    const tool = ctrf('"tool": { "version": "1", "name": "jest" }');
    const files: [name: string, content: string | Uint8Array<ArrayBuffer>, next: string][] = [
      ["results.trx", trx, "name it, or a pattern such as 'FOLDER/**/*.trx'"],
      ["deep/go.json", go, "name it, or a pattern such as 'FOLDER/**/*.json'"],
      ["go.jsonl", go, "name it, or a pattern such as 'FOLDER/**/*.jsonl'"],
      ["go.log", `go: downloading x\n${go}`, "name it, or a pattern such as 'FOLDER/**/*.log'"],
      ["ctrf.json", tool, "name it, or a pattern such as 'FOLDER/**/*.json'"],
      [
        "summary.json",
        ctrf('"summary": {"tests": 1'),
        "name it, or a pattern such as 'FOLDER/**/*.json'",
      ],
      ["junit.txt", "<testsuites/>", "name it, or a pattern such as 'FOLDER/**/*.txt'"],
      ["junit", "<testsuite name='a'>", "name it"],
      ["junit.xml.1", "<testsuites/>", "name it, or a pattern such as 'FOLDER/**/*.1'"],
      ["junit.xml.gz", await gzip("<testsuites>" + "<testsuite/>".repeat(10_000)), "uncompress it"],
      ["named.trx", trx, ""],
      ["page.html", "<testsuites/>", ""],
      ["a.log", "ran <testsuites> at last", ""],
      ["shot.png", "\x89PNG", ""],
      ["package.json", '{"name":"x","results":{"dir":"out"}}', ""],
      ["jest.json", '{"numTotalTestSuites":1,"testResults":[]}', ""],
      ["other.trx", "<?xml version='1.0'?><log/>", ""],
      ["damaged.gz", new Uint8Array([0x1f, 0x8b, 8, 1, 2, 3]), ""],
      ["coverage.txt", "mode: set\n", ""],
      ["empty.json", "", ""],
    ];
    const folder = at("formats");
    await mkdir(join(folder, "deep"), { recursive: true });
    for (const [name, content] of files) await writeFile(join(folder, name), content);
    await assert.rejects(findReports([folder]), {
      message: /found no \*\.xml file in this folder: .*\.trx is a report/,
    });
    await writeFile(join(folder, "junit.xml"), "<testsuites/>");
    const skipped = new Map<string, string>();
    const found = await findReports(
      [`${folder}/`, join(folder, "named.trx")],
      ({ path, reason }) => skipped.set(path.slice(folder.length + 1), reason),
    );
    assert.deepEqual(found.map(({ path }) => path.slice(folder.length + 1)), [
      "junit.xml",
      "named.trx",
    ]);
    const said = "is a report and was not read: a folder stands for its *.xml files";
    const expected = files.filter(([, , next]) => next !== "")
      .map(([name, , next]): [string, string] => [
        name,
        `${said}; ${next.replace("FOLDER", folder)}`,
      ]);
    assert.deepEqual(Object.fromEntries(skipped), Object.fromEntries(expected));
  });

  it("takes all XML files below a folder, in any case, without following links", async () => {
    assert.deepEqual(await found(at("out")), [
      ["out/a/[1].xml", false],
      ["out/a/deep/three.xml", false],
      ["out/a/one.XML", false],
      ["out/b/two.xml", false],
    ]);
  });

  it("follows a link that is the argument itself", async () => {
    assert.deepEqual(await found(at("results/b")), [["results/b/two.xml", false]]);
    assert.equal((await found(at("results"))).length, 4);
    assert.deepEqual(await found(at("out/b/link.xml")), [["out/b/link.xml", true]]);
  });

  it("finds the files that match a glob, and those below matching folders", async () => {
    assert.deepEqual(await found(at("out/*/*.xml")), [
      ["out/a/[1].xml", false],
      ["out/b/link.xml", false],
      ["out/b/two.xml", false],
    ]);
    assert.deepEqual(await found(at("o*/{a,b}/**/t*.xml")), [
      ["out/a/deep/three.xml", false],
      ["out/b/two.xml", false],
    ]);
    assert.deepEqual(await found(at("out/[ab]")), await found(at("out")));
  });

  it("takes a file once that is reached twice, as named when it is named", async () => {
    assert.deepEqual(
      await found(at("out/b"), at("results/b/two.xml"), at("out/*/two.xml"), at("out/b/../b")),
      [["results/b/two.xml", true]],
    );
    assert.deepEqual(
      await found(at("results/b"), at("out/b")),
      await found(at("out/b"), at("results/b")),
    );
  });

  it("says which argument means nothing", async () => {
    const notFound = (argument: string, message: string) =>
      assert.rejects(findReports([at("out"), argument]), {
        name: "ReportError",
        kind: "not-found",
        message,
      });
    await notFound(
      at("none.xml"),
      `${at("none.xml")}: found nothing there, expected a file, a folder or a glob`,
    );
    await notFound(
      at("out/b/two.xml/three.xml"),
      `${at("out/b/two.xml/three.xml")}: found nothing there, expected a file, a folder or a glob`,
    );
    await notFound(
      at("empty"),
      `${at("empty")}: found no *.xml file in this folder, expected at least one: ${WRITE_IT}`,
    );
    await notFound(
      at("none*.xml"),
      `${
        at("none*.xml")
      }: found no file that matches this glob, expected at least one: ${WRITE_IT}`,
    );
    await notFound("", '"": found an empty name, expected a file, a folder or a glob');
  });
});

describe("paths of reports", () => {
  it("are in natural order: by segments, and numbers by value", () => {
    const inOrder = [
      "a/z.xml",
      "a-1/b.xml",
      "attempt_2.xml",
      "attempt_02.xml",
      "attempt_10.xml",
      "attempt_10b.xml",
      `attempt_${"9".repeat(30)}.xml`,
      `attempt_1${"0".repeat(30)}.xml`,
      "b",
      "b/c",
    ];
    const sorted = inOrder.toReversed().sort(comparePaths);
    assert.deepEqual(
      sorted.filter((path) => path !== "attempt_02.xml"),
      inOrder.filter((path) => path !== "attempt_02.xml"),
    );
    for (const a of inOrder) {
      for (const b of inOrder) {
        assert.equal(comparePaths(a, b) === 0, a === b);
      }
    }
  });
});
