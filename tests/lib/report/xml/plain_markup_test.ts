import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import fc from "fast-check";
import { DEFAULT_REPORT_LIMITS, type ReportLimits } from "../../../../lib/report/limits.ts";
import { XmlReader } from "../../../../lib/report/xml/reader.ts";

interface Way {
  /** All of the document at once unless given. */
  pieceCharacters?: number;
  limits?: Partial<ReportLimits>;
  /** After bytes that could not be decoded nothing counts as plain any more. */
  hasLostBytes?: boolean;
}

/** What is told of an element with that content, and what goes wrong. */
function told(
  content: string,
  { pieceCharacters = Infinity, limits = {}, hasLostBytes = false }: Way = {},
): string {
  const text = `${content}<last g="h"/>\n</root>`;
  const heard: string[] = [];
  let depth = 0;
  const reader: XmlReader = new XmlReader({
    file: "x.xml",
    limits: { ...DEFAULT_REPORT_LIMITS, ...limits },
    nameAttributes: new Set(["name"]),
    handler: {
      open(name, attributes) {
        const { line, column } = reader.elementPosition;
        heard.push(`${line}:${column} <${name} ${JSON.stringify({ ...attributes })}`);
        depth++;
        if (name === "wanted") reader.readText((piece) => heard.push(piece));
      },
      close() {
        heard.push(`>${depth--}`);
        reader.readText(null);
      },
    },
  });
  try {
    reader.write({ text: "<root>\ufffd", undecodableAt: hasLostBytes ? [6] : [] });
    for (let start = 0; start < text.length; start += pieceCharacters) {
      reader.write({ text: text.slice(start, start + pieceCharacters), undecodableAt: [] });
    }
    reader.end();
  } catch (error) {
    heard.push((error as Error).message);
  }
  // Text comes in pieces of any size.
  return heard.join("\n").replaceAll(/\n(?![\d>x])/g, "");
}

const byTheParser = (content: string, way: Way = {}) =>
  told(content, { ...way, hasLostBytes: true });

describe("plain markup tells of elements, attributes and places just as the parser does:", () => {
  const contents: [string, string][] = [
    ["tags on one line", `<a b="1" c='2'/><d></d><e f="">text</e>`],
    ["tags on lines", `\n<a>\n  <b c="d"/>\n</a>\n`],
    ["Windows' line ends", `\r\n<a>\r\n<b c="d"/>\r\r\n</a>`],
    ["blanks in tags", `<a  b="1"   c="2"  /><d ></d ><e\n f="1"\r\n\tg="2"/>`],
    ["characters of two units", `é😀<a b="😀é"/>😀<c/>`],
    ["references", `&amp;<a b="&lt;&#65;"/>x &gt; y<c/>&#1;<d/>`],
    ["what values do not keep", `<a b="1\n2\r\n3\t4"/><c/>`],
    ["other quotes and angles in values", `<a b="'>'" c='">"'/>`],
    ["sections, comments and instructions", `<![CDATA[ ]] ]>< ]]]><a/><!-- <b/> --><?c <d/>?><e/>`],
    ["text that is wanted", `<wanted>a &amp; <![CDATA[b]]><i/></wanted><a/>tail<wanted/>more`],
    ["names with prefixes and of other letters", `<p:a p:b="1"/><é ü="2"></é><_.-1/>`],
    ["names that every object has", `<a constructor="1" __proto__="2" toString="3"/>`],
    ["an attribute that comes twice", `<b/>\n<a b="1" b="2"/>`],
    ["two attributes without a blank", `<a b="1"c="2"/>`],
    ["an attribute without quotes", `<a b=1/>`],
    ["an attribute without a value", `<a b/>`],
    ["a value with an angle", `<a b="<"/>`],
    ["a value that does not end", `<a b="c><d/>`],
    ["a slash that does not end", `<a / b="c">`],
    ["an end that does not fit", `<a>\n<b></a>`],
    ["an end too many", `</root></root>`],
    ["an end with more behind it", `<a></a b>`],
    ["an entity that nobody knows", `\n<a/> 😀&b;`],
    ["tags that are written alike", `<a b="1" c="2"/><a b="" c="3"></a><a b="4" c='5'/>`],
    ["tags with more and fewer attributes", `<a b="1"/><a b="2" c="3"/><a b="4"/><a b="5" d="6"/>`],
    ["an attribute that comes twice in a tag like one before", `<a b="1"/>\n<a b="1" b="2"/>`],
    ["a reference in a tag like one before", `<a b="1" c="2"/><a b="&lt;" c="2"/><a b="3" c="4"/>`],
    ["an angle in a tag like one before", `<a b="1"/><a b="<"/>`],
    ["an end of the file", `<a><b c="d"`],
  ];
  for (const [what, content] of contents) {
    it(what, () => {
      assert.equal(told(content), byTheParser(content));
    });
  }

  it("limits", () => {
    const content = `<abcdef g="hijklm" n="o" p="q"><r><s/></r></abcdef>`;
    const limits: Partial<ReportLimits>[] = [
      { elementDepth: 3 },
      { attributeCount: 2 },
      { attributeCharacters: 5 },
      { markupNameCharacters: 5 },
    ];
    for (const limit of limits) {
      assert.equal(told(content, { limits: limit }), byTheParser(content, { limits: limit }));
      assert.match(told(content, { limits: limit }), /expected/);
    }
  });

  it("any tags, whatever came before them", () => {
    const tag = (values: string[], blanks: string[], ends: string[]) => {
      const attribute = fc.record({
        blank: fc.constantFrom(...blanks),
        name: fc.constantFrom("b", "c", "d"),
        quote: fc.constantFrom('"', '"', "'"),
        value: fc.constantFrom(...values),
      });
      const attributes = fc.uniqueArray(attribute, { selector: ({ name }) => name });
      return fc.tuple(attributes, fc.constantFrom(...ends)).map(([attributes, end]) => {
        const written = attributes.map(({ blank, name, quote, value }) =>
          `${blank}${name}=${quote}${value.replaceAll(quote, "")}${quote}`
        );
        return `<a${written.join("")}${end}`;
      });
    };
    const values = ["", "1", "23", "4'5", '6"7', "8\n9", "&lt;"];
    const right = tag(values, [" ", " ", "  ", "\n"], ["/>", "/>", " />", "></a>"]);
    const wrong = tag(["1", "<", "too long"], [" ", " ", ""], ["/>", " /", "b/>", ' b="1"/>']);
    const limits = { attributeCharacters: 5 };
    // Tags of a few kinds come again and again.
    const document = fc.array(right, { minLength: 1, maxLength: 12 }).chain((kinds) =>
      fc.tuple(fc.array(fc.constantFrom(...kinds), { maxLength: 30 }), wrong)
    ).map(([tags, last]) => [...tags, last].join(""));
    fc.assert(
      fc.property(document, (content) => {
        assert.equal(told(content, { limits }), byTheParser(content, { limits }));
      }),
      { numRuns: 500 },
    );
  });

  it("pieces that end anywhere", () => {
    const content = `\r\n<a b="1"/>\n😀<c>x</c>&amp;<![CDATA[]]]]><wanted>y</wanted>\r\n`;
    for (let pieceCharacters = 1; pieceCharacters < content.length; pieceCharacters++) {
      assert.equal(told(content, { pieceCharacters }), byTheParser(content));
    }
  });
});

describe("plain markup", () => {
  // Looking for the next line end from each of them would take minutes.
  it("takes time in proportion, also when much has to be left to the parser", () => {
    const content = `<a b="&amp;" c='x>y'/>&lt;]`.repeat(100_000);
    const started = performance.now();
    told(content);
    assert.ok(performance.now() - started < 20_000);
  });
});
