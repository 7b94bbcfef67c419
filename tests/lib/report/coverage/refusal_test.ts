/** What `mod.ts` refuses, in any format. */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { CoverageCollector, DEFAULT_COVERAGE_LIMITS } from "../../../../lib/report/coverage/mod.ts";
import { ReportError } from "../../../../lib/report/report_error.ts";
import { read, readIn } from "./reading.ts";

async function refused(report: string | Uint8Array, limits = DEFAULT_COVERAGE_LIMITS) {
  try {
    await readIn([report], { limits });
  } catch (error) {
    assert.ok(error instanceof ReportError, String(error));
    return error;
  }
  assert.fail("was taken");
}

describe("files without coverage in them", () => {
  for (
    const [name, report] of [
      ["an empty file", ""],
      ["blanks", " \n\r\n\t"],
      ["blanks without end", " ".repeat(3_000_000)],
      ["a byte order mark", "\ufeff"],
      ["Clover without a project", `<coverage clover="3.2.0"></coverage>`],
      ["Cobertura without packages", `<coverage line-rate="0"/>`],
      ["JaCoCo without packages", `<report name="x"/>`],
      ["Istanbul without files", "{}"],
      ["SimpleCov without files", `{"RSpec":{"coverage":{},"timestamp":1}}`],
      ["a profile without blocks", "mode: set\n"],
      ["an lcov file without sections", "TN:\n"],
    ] as const
  ) {
    it(`${name} has no lines and is not an error`, async () => {
      assert.equal(await read(report), "0/0");
    });
  }
});

describe("files that are not coverage reports", () => {
  for (
    const [report, found] of [
      [`<testsuites><testsuite name="x"/></testsuites>`, /<testsuites> as the outermost element/],
      [`<coverage version="1"><file path="a"/></coverage>`, /<coverage> .* and <file> inside/],
      [`<report><table/></report>`, /<report> .* and <table> inside/],
      [`<${"long".repeat(99)}/>`, /<long(long){9}\.\.\.> as the outermost element/],
      [`<!-- nothing -->`, /XML without an element/],
      [`{"name":"shop","scripts":{"coverage":"nyc"}}`, /JSON with "name", "scripts"/],
      [`[1,2]`, /found "\[1,2\]"/],
      ["# Title\n\nSome words\n", /found "Some words"/],
      ["hello", /found "hello"/],
    ] as const
  ) {
    it(`says what ${report.slice(0, 40).replaceAll("\n", " ")} is`, async () => {
      const error = await refused(report);
      assert.equal(error.kind, "not-coverage");
      assert.match(
        error.message,
        /^report 1.* expected a coverage report \(lcov, Go cover profile, Cobertura/,
      );
      assert.match(error.message, found);
    });
  }
});

describe("broken coverage reports", () => {
  const files = `{"a":{"statementMap":{"0":{"start":{"line":`;
  for (
    const [report, place, problem] of [
      ["SF:a\nDA:x,1\n", "2:1", /found "x" as line number/],
      ["SF:a\nDA:1\n", "2:1", /found nothing as execution count/],
      ["TN:\nDA:1,1\n", "2:1", /found "DA:1,1" outside of a section/],
      ["SF:a\nDA:1,1\n", "3:1", /found the end of the file inside "a"/],
      ["SF:a\nSF:b\nend_of_record\n", "2:1", /found "SF" inside "a"/],
      ["SF:\nend_of_record\n", "1:1", /found the path ""/],
      ["SF:a\nLF:2\nLH:3\nend_of_record\n", "4:1", /found 3 covered lines of 2/],
      ["TN:\n\u0000\u0001\n", "2:1", /expected a line such as/],
      ["mode: fast\n", "1:1", /found "mode: fast"/],
      ["mode: set\na.go:1.1,2.2 1 -1\n", "2:1", /or a block such as/],
      ["mode: set\na.go:5.1,2.2 1 1\n", "2:1", /from line 5 to 2/],
      [`<coverage line-rate="1">\n<packages>`, undefined, /end of the file inside <packages>/],
      [
        `<coverage line-rate="1">\n<line number="1" hits="1"/></coverage>`,
        "2:1",
        /outside of a class/,
      ],
      [
        `<coverage line-rate="1"><class filename="a">\n <line number="1"/></class></coverage>`,
        "2:2",
        /found nothing as "hits" of a line/,
      ],
      [`<report><package name="p">\n<sourcefile/></package></report>`, "2:1", /without "name"/],
      [`<coverage clover="1"><project>\n<file/></project></coverage>`, "2:1", /without "name"/],
      [`${files}1.5}}},"s":{}}}`, undefined, /found "1.5" as start line/],
      [`${files}\n1}}},"s":{"0":1}`, undefined, /found invalid JSON \(.+\), expected a complete/],
      [`{"a":\u001b}`, undefined, /found invalid JSON \([\x20-\x7e]+\), expected a complete/],
      [`{"a":1}x`, undefined, /found invalid JSON/],
      [`${files}[[1]]}}},"s":{}}}`, undefined, /found an object or array as start line of "a"/],
      [`{"a":{"lines":{"total":"x"}}}`, undefined, /found "undefined" as covered lines of "a"/],
      [`{"a":{"lines":{"total":"x","covered":1}}}`, undefined, /found "x" as total lines of "a"/],
      [`{"R":{"coverage":{"a":["x"]}}}`, undefined, /found "x" as count of line 1 of "a"/],
    ] as const
  ) {
    it(`refuses ${JSON.stringify(report).slice(0, 60)} with its place`, async () => {
      const error = await refused(report);
      assert.match(error.kind, /^(malformed|incomplete)$/);
      assert.match(error.message, problem);
      if (place !== undefined) assert.equal(`${error.line}:${error.column}`, place);
      assert.ok(error.message.startsWith("report 1:"), error.message);
    });
  }
});

describe("hostile coverage reports", () => {
  it("share one limit of Go block lines in an upload", async () => {
    const collector = new CoverageCollector({
      ...DEFAULT_COVERAGE_LIMITS,
      goBlockLineCount: 1_000,
    });
    const add = (file: string) => {
      const report = new TextEncoder().encode("mode: set\n" + "a.go:1.1,60.2 1 1\n".repeat(10));
      return collector.add(ReadableStream.from([report]), { file });
    };
    await add("first.out");
    await assert.rejects(add("second.out"), {
      message: /^second\.out:\d+.*more than 1000 lines, expected fewer$/,
    });
  });

  const limits = DEFAULT_COVERAGE_LIMITS;
  const lcov = (path: string, line: string) => `SF:${path}\nDA:${line},1\nend_of_record\n`;
  const nested = (depth: number) => "<package>".repeat(depth);

  for (
    const [name, report, changed] of [
      ["a line number beyond reason", lcov("a", "99999999999999999999"), {}],
      ["a Go block over all lines", "mode: set\na.go:1.1,4000000000.1 1 1\n", {}],
      [
        "Go blocks that repeat many lines",
        "mode: set\n" + "a.go:1.1,90.2 1 1\n".repeat(20),
        { goBlockLineCount: 1_000 },
      ],
      [
        "many long files",
        Array.from({ length: 20 }, (_, at) => lcov(`f${at}`, "9000")).join(""),
        { storedBytes: 100_000 },
      ],
      ["a line of text without end", "SF:" + "x".repeat(3_000_000), {}],
      ["deep XML", `<coverage line-rate="1">` + nested(1_500), {}],
      [
        "an attribute without end",
        `<coverage line-rate="1"><class filename="${"x".repeat(20e6)}`,
        {},
      ],
      [
        "many attributes",
        `<coverage line-rate="1"><class ${
          Array.from({ length: 5_000 }, (_, at) => `a${at}=""`)
            .join(" ")
        }/></coverage>`,
        {},
      ],
      [
        "many lines in the methods of a Cobertura class",
        `<coverage line-rate="1"><class filename="a"><method>${
          [1, 2, 3].map((number) => `<line number="${number}" hits="1"/>`).join("")
        }</method></class></coverage>`,
        { methodLineCount: 2 },
      ],
      [
        "many long files without a name",
        `<coverage line-rate="1">${
          `<class><line number="9000" hits="1"/></class>`.repeat(20)
        }</coverage>`,
        { storedBytes: 100_000 },
      ],
      [
        "methods without end",
        `<coverage generated="1"><project><file name="a">${
          [1, 2, 3].map((num) => `<line num="${num}" type="method" count="1"/>`).join("")
        }</file></project></coverage>`,
        { methodLineCount: 2 },
      ],
      ["a total beyond reason", `{"total":{"lines":{"total":1e15,"covered":1}}}`, {}],
    ] as const
  ) {
    it(`refuses ${name}`, async () => {
      const error = await refused(report, { ...limits, ...changed });
      const expected = name === "an attribute without end" ? "too-long" : "limit";
      assert.equal(error.kind, expected, error.message);
    });
  }

  it("skips what an Istanbul report embeds, such as sources, whatever its length and depth", async () => {
    const source = "x\\n".repeat(2_000_000);
    const nested = "[".repeat(100_000) + "]".repeat(100_000);
    const report = `{"a":{"statementMap":{"0":{"start":{"line":1}}},"s":{"0":1},` +
      `"inputSourceMap":{"sourcesContent":["${source}"],"x":${nested}}}}`;
    assert.equal(await readIn([report], { chunkBytes: 50_000 }), "1/1");
  });
  it("refuses a JSON report beyond the limit, and says what to do", async () => {
    const report = `{"a":{"statementMap":{},"s":{}}}`;
    const error = await refused(report, { ...limits, jsonCharacters: 20 });
    assert.equal(error.kind, "limit");
    assert.equal(
      error.message,
      "report 1: found a JSON coverage report of more than 20 characters, expected fewer: " +
        "split it, or use lcov or XML, which have no such limit",
    );
    const exact = { ...limits, jsonCharacters: report.length };
    assert.equal(await readIn([report], { limits: exact }), "0/0");
  });
  it("expands no entity", async () => {
    const report = `<!DOCTYPE coverage [<!ENTITY e SYSTEM "file:///etc/passwd">]>` +
      `<coverage line-rate="1"><class filename="&e;"/></coverage>`;
    assert.equal((await refused(report)).kind, "malformed");
  });
});
