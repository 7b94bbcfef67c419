import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "@std/testing/bdd";
import fc from "fast-check";
import { SaxesParser } from "saxes";
import { ReportError } from "../../../../lib/report/report_error.ts";
import { XmlReader } from "../../../../lib/report/xml/reader.ts";
import { mutate, Random } from "../mutation/mutator.ts";

// The same cases each time, so that no run fails by chance.
fc.configureGlobal({ seed: 1 });

const FIXTURES = new URL("../../../../fixtures/", import.meta.url);

/** What is in a document, in order; or why the comparison says nothing, or that it is refused. */
type Events = string[] | "refused" | "out of scope";

/** The same for both: text is wanted inside these, and adjacent parts are one. */
class Recorder {
  readonly events: string[] = [];
  readonly #open: string[] = [];
  #text = "";

  open(name: string, attributes: object): void {
    this.#endText();
    this.#open.push(name);
    this.events.push(`<${name} ${JSON.stringify(Object.entries(attributes))}`);
  }

  close(): void {
    this.#endText();
    this.events.push(`</${this.#open.pop()}`);
  }

  text(text: string): void {
    if (this.wantsText) this.#text += text;
  }

  get wantsText(): boolean {
    return /^(?:failure|wanted|testsuite)$/.test(this.#open.at(-1) ?? "");
  }

  #endText(): void {
    if (this.#text !== "") this.events.push(this.#text);
    this.#text = "";
  }
}

/** A decoder never cuts a surrogate pair in two. */
function* chunksOf(text: string, length: number): Generator<string, void> {
  for (let start = 0; start < text.length;) {
    const end = start + length;
    const splitsPair = /[\ud800-\udbff]/.test(text.charAt(end - 1));
    yield text.slice(start, splitsPair ? end + 1 : end);
    start = splitsPair ? end + 1 : end;
  }
}

function byReader(text: string, chunkLength = Infinity): Events {
  const recorder = new Recorder();
  const listen = () => reader.readText(recorder.wantsText ? (part) => recorder.text(part) : null);
  const reader: XmlReader = new XmlReader("x.xml", {
    open(name, attributes) {
      recorder.open(name, attributes);
      listen();
    },
    close() {
      recorder.close();
      listen();
    },
  });
  try {
    for (const chunk of chunksOf(text, chunkLength)) {
      reader.write(chunk);
    }
    reader.end();
    return recorder.events;
  } catch (error) {
    if (!(error instanceof ReportError)) throw error;
    return ["limit", "too-long"].includes(error.kind) ? "out of scope" : "refused";
  }
}

// The reader does not look into declarations and instructions.
const DECLARATION_ERROR =
  /XML declaration|processing instruction|number must match|value must|value required|whitespace required|expected (?:the name|one of)|name\/value pairs/;
// And it takes characters beyond ASCII in names with which XML begins none.
const OTHER_CHARACTER =
  /[^\0-\x7f\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\u{10000}-\u{effff}]/u;

function bySaxes(text: string): Events {
  const recorder = new Recorder();
  const parser = new SaxesParser({ defaultXMLVersion: "1.0", forceXMLVersion: true });
  let sawRoot = false;
  let isOutOfScope = false;
  let isRefused = false;
  parser.on("error", ({ message }) => {
    // What the reader takes all the same.
    if (message.includes('the string "]]>"')) return;
    if (!sawRoot && message.includes("an XML declaration must be at the start")) return;
    isOutOfScope ||= /malformed comment|malformed character entity/.test(message) ||
      DECLARATION_ERROR.test(message) ||
      (message.includes("disallowed character in") && OTHER_CHARACTER.test(text));
    isRefused = true;
  });
  parser.on("opentag", ({ name, attributes }) => {
    sawRoot = true;
    recorder.open(name.slice(name.indexOf(":") + 1), attributes);
  });
  parser.on("closetag", () => recorder.close());
  parser.on("text", (part) => recorder.text(part));
  parser.on("cdata", (part) => recorder.text(part));
  parser.write(text).close();
  return isOutOfScope ? "out of scope" : isRefused ? "refused" : recorder.events;
}

/** @returns false when the two cannot be compared */
function compare(text: string, chunkLength: number): boolean {
  // deno-lint-ignore no-control-regex
  const replaced = text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "\ufffd");
  const expected = bySaxes(replaced);
  const actual = byReader(text);
  if (expected === "out of scope" || actual === "out of scope") return false;
  assert.deepEqual(actual, expected, text.slice(0, 2_000));
  assert.deepEqual(byReader(text, chunkLength), expected, `in chunks: ${text.slice(0, 2_000)}`);
  return true;
}

function fixtures(): Uint8Array[] {
  const names = readdirSync(FIXTURES, { recursive: true, encoding: "utf8" }).sort();
  return names.filter((name) => name.endsWith(".xml"))
    .map((name) => new Uint8Array(readFileSync(new URL(name.replaceAll("\\", "/"), FIXTURES))))
    .filter(({ length }) => length < 20_000);
}

describe("the XML reader says the same as saxes of", () => {
  const DOCUMENTS = [
    `<a b="1" c='2'/>`,
    `\n<a>\r\n  <b\tc = "d"\r/>\r</a >\n`,
    `<?xml version="1.1" encoding='utf-8' standalone="no" ?><!-- <x> --><?go on?><a/><!----><?x?>`,
    `<wanted>a &amp; &#60;&#x62; <![CDATA[<b>]]]]><![CDATA[>]]><i>no</i>\r\nc\rd</wanted>`,
    `<wanted b="1\n2\r\n3\t4&#10;5&#9;6&#13;7">&#13;\r</wanted>`,
    `<a b="'>'" c='">"'><b><!-- - -> --><![CDATA[ ]] ]>]]></b>]]></a>`,
    `<a constructor="1" __proto__="2" toString="3" valueOf="4"/>`,
    `<p:a p:b="1" xmlns:p="q"><é ü="2"></é><_.-1/><\u{10000} \u{20000}="😀"/></p:a>`,
    `<!DOCTYPE a [<!ENTITY b "]>"> <!-- ' ]> --> <?x ']> ?> <!ATTLIST a b CDATA ">">]><a/>`,
    `<!DOCTYPE a SYSTEM ">"><a/>`,
    ...[`<a b="1" b="2"/>`, `<a b="1"c="2"/>`, `<a b=1/>`, `<a b/>`, `<a b="<"/>`, `<a b="c/>`],
    ...[`<a / b="c">`, `<a><b></a>`, `<a/></a>`, `<a></a b>`, `<a>&b;</a>`, `<a>& b</a>`],
    ...[`<a>&lt</a>`, `<a b="&lt" c=";"/>`, `<a>&;</a>`, `<a b="&"/>`],
    ...[
      `<a/>b`,
      `b<a/>`,
      `<a/><b/>`,
      `<a/><![CDATA[b]]>`,
      `<![CDATA[b]]><a/>`,
      `<>`,
      `< a/>`,
      `<1/>`,
    ],
    ...[`<a><!DOCTYPE a></a>`, `<!DOCTYPE a><!DOCTYPE a><a/>`, `<!ENTITY a><a/>`, `<a><!b></a>`],
    ...[`<?a`, `<a`, `<a>`, `<a></a`, ``, ` `, `<!-- a`, `<a><![CDATA[b]]</a>`, `<a><!-- b -></a>`],
  ];
  for (const text of DOCUMENTS) {
    it(JSON.stringify(text), () => {
      assert.ok(compare(text, 1));
      for (let chunkLength = 2; chunkLength < text.length; chunkLength++) {
        compare(text, chunkLength);
      }
    });
  }

  it("generated documents", () => {
    const text = fc.constantFrom(
      "",
      "a",
      " \n",
      "x > y",
      "&lt;",
      "&#x1F600;",
      "é😀",
      "\r\n",
      "]]",
      ";",
    );
    const other = fc.constantFrom("<!-- a -->", "<![CDATA[<a>&b;]]>", "<?a b?>", "<![CDATA[]]>");
    const texts = fc.array(text, { maxLength: 3 }).map((parts) => parts.join(""));
    const attribute = fc.record({
      name: fc.constantFrom("a", "b", "c:d", "é", "__proto__"),
      blank: fc.constantFrom(" ", " ", "\n", "  ", ""),
      equals: fc.constantFrom("=", "=", "=", " = "),
      quote: fc.constantFrom('"', '"', "'"),
      value: fc.constantFrom("", "1", "2 3", "4\n5", "&amp;", "'", "<", "6\t\r\n7", "&x;"),
    });
    const { element } = fc.letrec<{ element: string }>((tie) => ({
      element: fc.record({
        name: fc.constantFrom("a", "wanted", "failure", "p:wanted", "é"),
        attributes: fc.array(attribute, { maxLength: 4 }),
        before: texts,
        inside: fc.array(fc.oneof({ depthSize: "small" }, texts, other, tie("element")), {
          maxLength: 4,
        }),
        end: fc.constantFrom("", "", "", " ", "\n", "x"),
      }).map(({ name, attributes, before, inside, end }) => {
        const written = attributes.map(({ blank, name, equals, quote, value }) =>
          `${blank}${name}${equals}${quote}${value.replaceAll(quote, "")}${quote}`
        ).join("");
        return inside.length === 0
          ? `<${name}${written}${end}/>`
          : `<${name}${written}>${before}${inside.join("")}</${name}${end}>`;
      }),
    }));
    let compared = 0;
    fc.assert(
      fc.property(element, fc.integer({ min: 1, max: 40 }), (document, chunkLength) => {
        if (compare(document, chunkLength)) compared++;
      }),
      { numRuns: 2_000 },
    );
    assert.ok(compared > 1_500);
  });

  it("fixtures, and damaged ones", () => {
    const files = fixtures();
    const decoder = new TextDecoder();
    let comparedCount = 0;
    for (const file of files) compare(decoder.decode(file), 100);
    for (let seed = 0; seed < 1_500; seed++) {
      const random = new Random(seed);
      const text = decoder.decode(mutate(random.of(files), random, files));
      if (compare(text, 1 + random.below(200))) comparedCount++;
    }
    assert.ok(comparedCount > 1_000, `${comparedCount} compared`);
  });
});

describe("the XML reader", () => {
  it("skips instructions and XML declarations, whatever they say", () => {
    for (const skipped of [`<?xml?>`, `<?xml version="2.0"?>`, `<?XML a?>`, `<? a?>`]) {
      assert.deepEqual(byReader(`${skipped}<a>${skipped}</a>`, 1), ["<a []", "</a"]);
    }
  });

  it("knows where an element begins, whatever the chunks", () => {
    const text = `<a>\n  <b/>\r\n\r😀é<c\n d="e"/>text\n<f/></a>`;
    for (let chunkLength = 1; chunkLength <= text.length; chunkLength++) {
      const positions: string[] = [];
      const reader: XmlReader = new XmlReader("x.xml", {
        open(name) {
          const { line, column } = reader.elementPosition;
          positions.push(`${name} ${line}:${column}`);
        },
        close() {},
      });
      for (const chunk of chunksOf(text, chunkLength)) {
        reader.write(chunk);
      }
      reader.end();
      assert.deepEqual(positions, ["a 1:1", "b 2:3", "c 4:4", "f 6:1"]);
    }
  });
});
