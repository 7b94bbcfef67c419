import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import fc from "fast-check";
import { readText } from "../reading.ts";

// The same cases each time, so that no run fails by chance.
fc.configureGlobal({ seed: 1 });

describe("reading JUnit", () => {
  it("takes an element without anything inside for one that ends at once, wherever it is", async () => {
    const elements = fc.array(
      fc.constantFrom(
        ...["testsuites", "testsuite", "testsuite name='s' file='f'", "properties", "failure"],
        ...["testcase name='a' classname='c' time='1.5'", "testcase name='b' status='skipped'"],
        ...["testcase name=''", "testcase", "skipped", "rerunFailure message='m'"],
      ),
      { minLength: 1, maxLength: 6 },
    );
    // Each in the one before, and the last of them without anything inside.
    const report = fc.tuple(elements, fc.nat(3)).map(([elements, count]) => {
      const nameOf = (element: string) => element.split(" ")[0];
      const last = elements.at(-1)!;
      const around = (inside: string) =>
        elements.slice(0, -1).reduceRight(
          (text, each) => `<${each}>${text}</${nameOf(each)}>`,
          inside,
        );
      return {
        short: `<testsuites>${around(`<${last}/>`.repeat(count))}</testsuites>`,
        long: `<testsuites>${around(`<${last}></${nameOf(last)}>`.repeat(count))}</testsuites>`,
      };
    });
    const outcomeOf = async (text: string) => {
      try {
        return await readText(text, { maxResultCount: 2 });
      } catch (error) {
        return (error as Error).message.replace(/:\d+: /, ": ");
      }
    };
    await fc.assert(
      fc.asyncProperty(report, async ({ short, long }) => {
        assert.deepEqual(await outcomeOf(short), await outcomeOf(long));
      }),
      { numRuns: 1_000 },
    );
  });

  it("returns names and messages as well-formed text without NUL", async () => {
    const results = await readText(
      '<testsuite name="&#0;&#xDC00;"><testcase classname="\ud83d" name="\0&#xFFFE;" file="&#1;">' +
        "<failure>\0\ud83d</failure></testcase></testsuite>",
    );
    for (const value of Object.values(results[0]!)) {
      assert.ok(!/\0/.test(String(value)) && String(value).isWellFormed());
    }
  });

  it("notes replacements once per file", async () => {
    const notes: string[] = [];
    await readText('<testsuite name="\x1b\x1b">\n<testcase name="a&#2;"/>\x01</testsuite>', {
      onNote: (note) => notes.push(note),
    });
    assert.deepEqual(notes, [
      "report.xml:1:18: found a character that XML forbids or that cannot be decoded: " +
      "replaced by U+FFFD (4 in this file)",
    ]);
  });

  it("works without a listener for notes", async () => {
    const results = await readText('<testsuite><testcase name="a\x01"/></testsuite>');
    assert.deepEqual(results.map(({ name }) => name), ["a\ufffd"]);
  });

  it("rethrows errors of its listener", async () => {
    const onResult = () => {
      throw new RangeError("enough");
    };
    await assert.rejects(
      readText("<testsuite><testcase name='a'/></testsuite>", { onResult }),
      RangeError,
    );
  });
});
