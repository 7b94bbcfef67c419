import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import type { ReportOptions } from "../../../lib/report/report_reader.ts";
import type { TestResult } from "../../../lib/report/result.ts";
import { readBytes, readText, repeated } from "./reading.ts";

const MEGABYTE = 1024 * 1024;
const TEST = "<testsuite><testcase name='a'>";

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

async function refused(
  bytes: AsyncIterable<Uint8Array>,
  message: RegExp,
  kind = "limit",
): Promise<void> {
  await assert.rejects(readBytes(bytes), { name: "ReportError", kind, message });
}

/** How much more memory was in use at the worst moment than before, in bytes. */
async function peakMemory(
  bytes: AsyncIterable<Uint8Array>,
  options: Partial<ReportOptions> = {},
): Promise<number> {
  // Text from a decoder may lie outside of the heap.
  const inUse = () => Deno.memoryUsage().heapUsed + Deno.memoryUsage().external;
  const before = inUse();
  let peak = before;
  async function* watched() {
    for await (const piece of bytes) {
      peak = Math.max(peak, inUse());
      yield piece;
    }
  }
  await readBytes(watched(), options);
  return peak - before;
}

describe("limits of a report", () => {
  const withinLimits: [string, string, string, string][] = [
    ["output", "<system-out>", "some line &lt;of&gt; output\n", "</system-out>"],
    ["output in a CDATA section", "<system-out><![CDATA[", "some ]line]] of\n", "]]></system-out>"],
    ["a failure's text", "<failure>", "some line\n", "</failure>"],
    ["a failure's CDATA section", "<failure><![CDATA[", "some line\n", "]]></failure>"],
    ["a comment", "<!--", "some - line\n", "-->"],
    ["a processing instruction", "<?tool ", "some ? line\n", "?>"],
  ];
  for (const [what, start, unit, end] of withinLimits) {
    it(`do not concern 48 MB of ${what}, and memory stays flat`, async () => {
      const bytes = repeated(TEST + start, unit, 48 * MEGABYTE, end + "</testcase></testsuite>");
      assert.ok(await peakMemory(bytes) < 40 * MEGABYTE);
    });
  }

  it("refuse a large document type", async () => {
    const bytes = repeated("<!DOCTYPE x [", "<!ENTITY a 'b'>", MEGABYTE, "]><testsuites/>");
    await refused(bytes, /^report\.xml:1:1: found a DOCTYPE of more than 65536 characters/);
  });

  it("keep stored results without retaining the surrounding text", async () => {
    async function* report() {
      yield encode("<testsuite>");
      for (let n = 0; n < 2_500; n++) {
        const test = `<testsuite name='suite number ${n}'><testcase name='test number ${n}' ` +
          `classname='some class ${n}' file='some/file_${n}.ts'><failure message='message ${n}'/>`;
        yield encode(`${test}${"output\n".repeat(8_000)}</testcase></testsuite>`);
      }
      yield encode("</testsuite>");
    }
    const builder = new SubmissionBuilder();
    const onResult = (result: TestResult) => builder.add(result);
    assert.ok(await peakMemory(report(), { onResult }) < 128 * MEGABYTE);
    assert.equal(builder.finish().identityAt(0).name.slice(0, 11), "test number");
  });

  it("refuse a million attributes", async () => {
    async function* attributes() {
      yield encode("<testsuites");
      for (let n = 0; n < 1e6; n += 1_000) {
        const part = Array.from({ length: 1_000 }, (_, index) => ` a${n + index}="x"`);
        yield encode(part.join(""));
      }
      yield encode("/>");
    }
    await refused(attributes(), /^report\.xml:1:1: found more than 1000 attributes of one element/);
  });

  it("refuse 100 MB in one attribute", async () => {
    const bytes = repeated(TEST + "<failure message='", "abc ", 100 * MEGABYTE, "'/>");
    await refused(
      bytes,
      /found the attribute message="abc .*expected at most 16777216 characters/,
      "too-long",
    );
  });

  it("refuse a name that is too long instead of cutting it", async () => {
    const bytes = repeated("<testsuite><testcase name='", "abc ", MEGABYTE, "'/></testsuite>");
    await refused(
      bytes,
      /found the attribute name="abc .*expected at most 65536 characters/,
      "too-long",
    );
    const long = "n".repeat(65_536);
    const results = await readText(`<testsuite><testcase name="${long}"/></testsuite>`);
    assert.equal(results[0]?.name, long);
  });

  it("keep the first line of an attribute that is long but not too long", async () => {
    const start = TEST + "<failure message='&#10;what went wrong&#10;";
    const bytes = repeated(start, "abc&#10;", 15 * MEGABYTE, "'/></testcase></testsuite>");
    assert.equal((await readBytes(bytes))[0]?.message, "what went wrong");
  });

  it("refuse elements nested without end", async () => {
    const bytes = repeated("<testsuites>", "<testsuite name='s'>", MEGABYTE, "");
    await refused(bytes, /found elements nested more than 1000 deep, expected fewer/);
  });

  for (
    const [what, start] of [
      ["an element", "<testsuites><"],
      ["an end tag", "<testsuites></"],
      ["an attribute", "<testsuites "],
    ] as const
  ) {
    it(`refuse a name of ${what} without end`, async () => {
      const bytes = repeated(start, "abc", 5 * MEGABYTE, "");
      await refused(bytes, /found the name "abcabc.*expected an XML name of at most 1024/);
    });
  }

  it("refuse attempts of one test without end", async () => {
    const bytes = repeated(TEST, "<rerunFailure/>", MEGABYTE, "</testcase></testsuite>");
    await refused(bytes, /found more than 10000 attempts of one test/);
  });

  it("count results over all files of an upload", async () => {
    const text = "<testsuite><testcase name='a'/><testcase name='b'/></testsuite>";
    assert.equal((await readText(text, { maxResultCount: 2 })).length, 2);
    await assert.rejects(readText(text, { maxResultCount: 1 }), {
      kind: "limit",
      message: "report.xml:1:52: found more than 2000000 results in one upload, expected fewer",
    });
  });

  it("end the search for an entity that does not end", async () => {
    const bytes = repeated(TEST + "<failure>a &", " b", MEGABYTE, "");
    await assert.rejects(readBytes(bytes), {
      kind: "malformed",
      message: /^report\.xml:1:42: found "& b b.*, expected "&" to be written as "&amp;"$/,
    });
  });
});
