/** Readers of reports, coverage, archives and causes, with inputs twice as large. */
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { describe, it } from "@std/testing/bdd";
import { failureCause } from "../../../lib/analysis/failure_groups.ts";
import { inspectArchive, parseMetadata } from "../../../lib/report/archive/mod.ts";
import { parseCodeowners } from "../../../lib/report/codeowners.ts";
import { CoverageCollector } from "../../../lib/report/coverage/mod.ts";
import { normalizePath } from "../../../lib/report/coverage/coverage_map.ts";
import { NameNormalizer } from "../../../lib/report/normalize_names.ts";
import { beginsReport } from "../../../lib/report/read_report.ts";
import { ReportError } from "../../../lib/report/report_error.ts";
import { comparePaths } from "../../../lib/analysis/repetition/report_order.ts";
import { threadMs } from "../../thread_time.ts";
import { archiveOf, sourceOf } from "./archive/make_archive.ts";
import { inChunks, readBytes, readText } from "./reading.ts";

/** Sizes begin here, in characters, and grow until the time is long enough to be compared. */
const FIRST_SIZE = 16 * 1024;
const LAST_SIZE = 256 * 1024;
const LONG_ENOUGH_MS = 15;
/** Four times the input takes four times as long in theory, 16 times when it is quadratic. */
const FACTOR = 4;
const MAX_RATIO = 9;
const TRIES = 5;
/** A size may be where an engine changes its ways, once; what grows with the square does so at each. */
const SIZES = 3;

async function milliseconds(read: (size: number) => unknown, size: number): Promise<number> {
  const started = threadMs();
  try {
    await read(size);
  } catch (error) {
    if (!(error instanceof ReportError || error instanceof SyntaxError)) throw error;
  }
  return threadMs() - started;
}

/** The machine may be busy: the best of several runs counts, until they fit at one of some sizes. */
async function isLinear(read: (size: number) => unknown): Promise<void> {
  let size = FIRST_SIZE;
  await milliseconds(read, size);
  let once = await milliseconds(read, size);
  for (; once < LONG_ENOUGH_MS && size < LAST_SIZE; once = await milliseconds(read, size)) {
    size *= 2;
  }
  const slow: string[] = [];
  for (; slow.length < SIZES; size *= 2, once = await milliseconds(read, size)) {
    let more = Infinity;
    for (let attempt = 0; attempt < TRIES; attempt++) {
      more = Math.min(more, await milliseconds(read, FACTOR * size));
      if (more <= MAX_RATIO * Math.max(once, LONG_ENOUGH_MS)) return;
      once = Math.min(once, await milliseconds(read, size));
    }
    slow.push(`${size} characters took ${once} ms, ${FACTOR} times as many ${more} ms`);
  }
  assert.fail(slow.join("\n"));
}

const fill = (unit: string, size: number) => unit.repeat(Math.ceil(size / unit.length));
const numbered = (unit: (n: number) => string, size: number) => {
  const parts: string[] = [];
  for (let n = 0, length = 0; length < size; n++) {
    parts.push(unit(n));
    length += parts.at(-1)!.length;
  }
  return parts.join("");
};

const TEST = "<testsuite><testcase name='a'>";
const END = "</testcase></testsuite>";
const GO =
  '<testsuite name="p" tests="1" failures="1" errors="0" id="0" time="0"><testcase name="a"/>';
const JUNIT: Record<string, (size: number) => string> = {
  "references": (size) => `${TEST}<failure>${fill("&lt;", size)}</failure>${END}`,
  "forbidden references": (size) => `${TEST}<failure>${fill("&#0;", size)}</failure>${END}`,
  "forbidden references in an attribute": (size) =>
    `${TEST}<failure message='${fill("&#0;", size)}'/>${END}`,
  "forbidden references in output": (size) => `${TEST}<o>${fill("&#0;", size)}</o>${END}`,
  "output of a suite": (size) => `${GO}<system-out>${fill("a&lt;", size)}${fill("\n", size)}`,
  "forbidden characters": (size) => `${TEST}<o>${fill("\0", size)}</o>${END}`,
  "a reference without an end": (size) => `${TEST}<failure>&${fill("a", size)}`,
  "blanks in a tag": (size) => `${TEST}<failure ${fill(" ", size)}/>${END}`,
  "line ends in an attribute": (size) => `${TEST}<failure message='${fill("\r\n", size)}'/>${END}`,
  "an attribute without an end": (size) => `${TEST}<failure message='${fill("a", size)}`,
  "tags that take thought": (size) => TEST + fill(`<a b="&amp;" c='x>y'/>&lt;]`, size) + END,
  "brackets in a CDATA section": (size) => `${TEST}<o><![CDATA[${fill("]]", size)}]]></o>${END}`,
  "hyphens in a comment": (size) => `${TEST}<!--${fill("- -", size)}-->${END}`,
  "a DOCTYPE": (size) => `<!DOCTYPE a [${fill("<!ENTITY a 'b'><!-- -->", size)}]><testsuites/>`,
  "tests": (size) => `<testsuite>${fill("<testcase name='a'/>", size)}</testsuite>`,
  "failures": (size) => TEST + fill("<failure>a</failure>", size) + END,
  "small failures": (size) => TEST + fill("<failure message='a'>b</failure>", size) + END,
  "small parts of a failure": (size) =>
    `${TEST}<failure>${fill("<![CDATA[ a]]>", size)}</failure>${END}`,
  "terminal escapes of a failure": (size) =>
    `${TEST}<failure>${fill("&#27;]8;;&#27;[", size)}</failure>${END}`,
  "messages that texts almost have": (size) => {
    const failure = `<failure message='b${"a".repeat(8_000)}'>${"a".repeat(16_000)}</failure>`;
    return `<testsuite>${fill(`<testcase name='a'>${failure}</testcase>`, size)}</testsuite>`;
  },
  "blank lines of a failure": (size) => `${TEST}<failure>${fill(" \n", size)}</failure>${END}`,
  "tests inside a test": (size) => TEST + fill("<testcase/>", size) + END,
  "tests without a name": (size) => `<testsuite>${fill("<testcase/>", size)}</testsuite>`,
  "failures outside of tests": (size) => `<testsuite>${fill("<failure/>", size)}</testsuite>`,
  "suites": (size) =>
    `<testsuites>${fill("<testsuite name='s' file='f'></testsuite>", size)}</testsuites>`,
  "attributes of many names": (size) =>
    `<testsuites>${numbered((n) => `<a b${n}="c" d${n}="e"/>`, size)}</testsuites>`,
  "elements of many names": (size) =>
    `<testsuites>${numbered((n) => `<a${n}/>`, size)}</testsuites>`,
  "addresses": (size) =>
    `<testsuite>${
      numbered((n) => `<testcase name="&lt;a at 0x${(n + 1e6).toString(16)}>"/>`, size)
    }</testsuite>`,
};

const COVERAGE: Record<string, (size: number) => string> = {
  "lcov": (size) => numbered((n) => `SF:${n}\nDA:1,1\nend_of_record\n`, size),
  "lcov of one file": (size) => `SF:a\n${fill("DA:1,1\n", size)}end_of_record\n`,
  "lcov without line ends": (size) => `SF:${fill("a/../", size)}`,
  "comments before anything": (size) => `${fill("# a\n", size)}SF:a\nend_of_record\n`,
  "blanks before anything": (size) => `${fill(" \n", size)}SF:a\nend_of_record\n`,
  "Go": (size) => `mode: set\n${numbered((n) => `a${n}.go:1.1,2.2 1 1\n`, size)}`,
  "Go with colons": (size) => `mode: set\n${fill("a:1.1,", size)}`,
  "Cobertura": (size) =>
    `<coverage line-rate="1">${
      numbered((n) => `<class filename="f${n}"><line number="1" hits="1"/></class>`, size)
    }</coverage>`,
  "Cobertura of one file": (size) =>
    `<coverage line-rate="1">${
      fill('<class filename="f"><method><line number="9" hits="1"/></method></class>', size)
    }</coverage>`,
  "Cobertura's methods with distant lines": (size) =>
    `<coverage line-rate="1">${
      fill('<class filename="f"><method><line number="9999999" hits="1"/></method></class>', size)
    }</coverage>`,
  "JaCoCo": (size) =>
    `<report name="a"><package name="p">${
      numbered((n) => `<sourcefile name="s${n}"><line nr="1" mi="0" ci="1"/></sourcefile>`, size)
    }</package></report>`,
  "JaCoCo's groups": (size) => `<report name="a">${fill('<group name="b">', size / 100)}`,
  "Clover": (size) =>
    `<coverage clover="1"><project>${
      fill('<file name="a"><line num="1" type="stmt" count="1"/></file>', size)
    }</project></coverage>`,
  "Clover's methods": (size) =>
    `<coverage generated="1"><project><file name="a">${
      fill('<line num="1" type="method" count="1"/>', size)
    }<line num="2" type="stmt" count="1"/><metrics statements="99999"/></file></project></coverage>`,
  "Istanbul": (size) =>
    `{"a":{"statementMap":{${
      numbered((n) => `"${n}":{"start":{"line":${n + 1}}},`, size)
    }"x":{}},"s":{}}}`,
  "Istanbul's summary": (size) =>
    `{${numbered((n) => `"${n}":{"lines":{"total":1,"covered":1}},`, size)}"x":{}}`,
  "SimpleCov": (size) => `{"a":{"coverage":{"b":[${fill("1,null,", size)}1]}}}`,
  "coverage.py": (size) =>
    `{"meta":{},"files":{"a":{"executed_lines":[${numbered((n) => `${n},`, size)}1]}}}`,
  "JSON strings": (size) => `{"a":"${fill("\\n", size)}"}`,
  "JSON blanks": (size) => `{${fill(" \n", size)}}`,
  "JSON levels": (size) => `{"a":${fill("[", size)}`,
  "JSON objects": (size) => `{"a":[${fill("{},", size)}0]}`,
  "JSON digits": (size) => `{"a":${fill("1", size)}}`,
};

const METADATA: Record<string, (size: number) => string> = {
  "keys": (size) => fill(":a: b\n", size),
  "anchors and aliases": (size) =>
    `a0: &a0 [x]\n${numbered((n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]\n`, size)}`,
  "levels": (size) => `:a: ${fill("[", size)}`,
  "tags": (size) => `:tags: [${fill("a, ", size)}]`,
  "a tag": (size) => `:tags: ${fill("a ", size)}`,
  "lines of a text": (size) => `:commit: a${fill("\n b", size)}`,
  "blank lines": (size) => fill("\n", size),
  "comments": (size) => fill("#\n", size),
  "quotes": (size) => `:commit: "${fill("\\n", size)}`,
  "documents": (size) => fill("---\n", size),
};

const CODEOWNERS: Record<string, (size: number) => string> = {
  "patterns": (size) => fill("/a/*b* @x\n", size),
  "owners": (size) => `* ${fill("@a ", size)}`,
  "words": (size) => `* ${fill("a ", size)}`,
  "sections": (size) => numbered((n) => `[${n}] @a\n`, size),
  "open brackets": (size) => fill("[", size),
  "backslashes": (size) => fill("\\", size),
  "stars": (size) => fill(`${"**/a/".repeat(50)}b @x\n`, size),
  "stars in a segment": (size) => fill(`${"*a".repeat(120)}b @x\n`, size),
};

const NAMES: Record<string, (size: number) => string> = {
  "addresses": (size) => fill("<a at 0x7f0000000000>", size),
  "almost addresses": (size) => fill("@1a.B$", size),
  "packages": (size) => `${fill("a.", size)}B@12345678`,
  "zeros": (size) => `0x${fill("0", size)}`,
  "folders": (size) => fill("/_work/1/s", size),
  "workspaces": (size) => `/workspace/${fill("@1", size)}`,
  "digits": (size) => `a-${fill("1", size)}`,
};

const MESSAGES: Record<string, (size: number) => string> = {
  ...Object.fromEntries(
    [
      ...'a 1 1, 1. : " [1: a@1 1s aaaaaaaa a1b2 10.0. ::1 2026-03- 09:26: Mar /tmp C:/Users/a'
        .split(" "),
      ..."http status 200, 200got errno int8".split(" "),
    ].map((unit) => [`"${unit}"`, (size: number) => fill(unit, size)]),
  ),
  "a hexadecimal number that ends wrong": (size) => `${fill("a1", size)}x`,
  "a number with thousands that ends wrong": (size) => `1${fill(",111", size)}x`,
  "a temporary path": (size) => `/tmp/${fill("a.b/", size)}`,
  "a temporary file": (size) => `/tmp/${fill("a.b", size)}1`,
  "a path of a user": (size) => `C:/Users/${fill("a", size)}/`,
  "quoted letters": (size) => `"${fill("a", size)}"`,
  "quoted digits": (size) => `"${fill("1", size)}"`,
  "words of a comparison": (size) => `200 ${fill("but got ", size)}`,
  "a duration that ends wrong": (size) => `${fill("1s", size)}x`,
};

const BEGINNINGS: Record<string, (size: number) => string> = {
  "comments": (size) => `${fill("<!-- a -->\n", size)}<html>`,
  "a comment without an end": (size) => `<!--${fill("a--", size)}`,
  "results and tests": (size) => `{${fill('"results":{"tests":[{', size)}`,
  "names": (size) => `{"results":{"tool":{${fill('"name', size)}`,
};

function suite(
  what: string,
  inputs: Record<string, (size: number) => string>,
  read: (
    text: string,
  ) => unknown,
): void {
  describe(`the time of ${what} grows with its size:`, () => {
    for (const [name, text] of Object.entries(inputs)) {
      it(name, () => isLinear((size) => read(text(size))));
    }
  });
}

suite("a JUnit report", JUNIT, (text) => readText(text));
suite("a coverage report", COVERAGE, async (text) => {
  const bytes = new TextEncoder().encode(text);
  await new CoverageCollector().add(inChunks(bytes, 64 * 1024), { file: "c" });
});
suite("metadata", METADATA, (text) => parseMetadata(text, "m"));
suite("CODEOWNERS", CODEOWNERS, (text) => {
  const { ownersOf } = parseCodeowners(text);
  for (const path of ["a/b/c", `${"a/".repeat(300)}c`, "a".repeat(600)]) ownersOf(path);
});
suite("a name", NAMES, (text) => {
  const names = new NameNormalizer("/srv");
  names.suite(text, "2026-01-01T00:00:00");
  names.name(text);
  names.file(text);
  normalizePath(text);
  comparePaths(text, `${text}1`);
});
suite("the beginning of a file", BEGINNINGS, beginsReport);
suite("a message", MESSAGES, (text) => failureCause(text, ""));

describe("the time of an archive grows with its size:", () => {
  it("entries", () =>
    isLinear(async (size) => {
      const entries = Array.from(
        { length: Math.ceil(size / 1_000) },
        (_, n) => [`test_results/${n}.xml`, "<testsuite/>"] as const,
      );
      await inspectArchive(sourceOf(await archiveOf(entries), 64 * 1024));
    }));

  it("members of a gzip", () =>
    isLinear(async (size) => {
      const member = gzipSync(new Uint8Array(10));
      const bytes = new Uint8Array(Buffer.concat(Array(Math.ceil(size / 30)).fill(member)));
      await inspectArchive(sourceOf(bytes, 64 * 1024));
    }));

  it("zeros", () =>
    isLinear(async (size) => {
      await inspectArchive(
        sourceOf(new Uint8Array(gzipSync(new Uint8Array(size * 20))), 64 * 1024),
      );
    }));
});

it("a line of go test that comes in small pieces is searched once", async () => {
  const line = `{"Action":"output","Package":"p","Output":"${"a".repeat(LAST_SIZE)}"}\n`;
  const started = threadMs();
  await readBytes(inChunks(new TextEncoder().encode(line), 64), { file: "report.json" });
  // With each piece: three seconds.
  assert.ok(threadMs() - started < 1_000);
});
