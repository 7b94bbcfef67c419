/** What the parser complains about, in words that name what was found and what was expected. */
import { quote, shorten } from "../report_error.ts";

/** What the parser was reading when it complained. */
export interface ParserContext {
  /** The text of the current piece up to where the parser stopped. */
  source: string;
  /** Name of the element in question. */
  tag: string;
  /** Name of the attribute in question. */
  attribute: string;
}

/** The two halves of an error message. */
export interface Explanation {
  found: string;
  expected: string;
  /** Where in the source it was found, when that is not where the parser stopped. */
  offset?: number;
}

/**
 * True for complaints about what has only one meaning all the same: `]]>` in a text, `--` in a
 * comment, blanks before the XML declaration.
 */
export function isHarmless(message: string, sawRoot: boolean): boolean {
  const complaint = withoutPlace(message);
  return complaint.startsWith('the string "]]>"') || complaint === "malformed comment." ||
    (!sawRoot && complaint === "an XML declaration must be at the start of the document.");
}

type Explain = (context: ParserContext, detail: string) => Explanation;

const EXPLANATIONS: readonly (readonly [RegExp, Explain])[] = [
  [/^unclosed tag: (.*)$/, (_, name) => ({
    found: `the end of the file inside <${shorten(name)}>`,
    expected: `</${shorten(name)}>: the file seems to be cut off`,
  })],
  [/^unexpected end\.$/, () => ({
    found: "the end of the file inside a tag, a comment or a CDATA section",
    expected: "its end: the file seems to be cut off",
  })],
  [/^document must contain a root element\.$/, () => ({
    found: "no element",
    expected: "<testsuites> or <testsuite>",
  })],
  [/^unexpected close tag\.$/, (context) => ({
    found: lastMarkup(context.source),
    expected: `</${shorten(context.tag)}>`,
  })],
  [/^unmatched closing tag: (.*)\.$/, (_, name) => ({
    found: `</${shorten(name)}>`,
    expected: "the end of the file",
  })],
  [/^documents may contain only one root\.$/, (context) => ({
    found: lastMarkup(context.source),
    expected: "the end of the file: a report has one outermost element",
  })],
  [/^text data outside of root node\.$/, ({ source }) => {
    const start = source.lastIndexOf(">") + 1;
    // Text with a > in it begins somewhere before.
    const text = source.slice(start).replace(/<$/, "").trim() || source.slice(-20).trim();
    return {
      found: `text outside of the outermost element: ${quote(text)}`,
      expected: "none",
      offset: source.lastIndexOf(text),
    };
  }],
  [/^disallowed character in tag name\.?$/, (context) => ({
    found: lastMarkup(context.source),
    expected: 'a tag, or "<" to be written as "&lt;"',
  })],
  [/^disallowed character\.$/, (context) => ({
    found: `"<" in the value of the attribute ${shorten(context.attribute)}`,
    expected: 'its closing quote, or "<" to be written as "&lt;"',
  })],
  [/^duplicate attribute: (.*)\.$/, (context, name) => ({
    found: `the attribute ${shorten(name)} twice in <${shorten(context.tag)}>`,
    expected: "it once",
  })],
  [/^(attribute without value|unquoted attribute value)\.$/, (context) => ({
    found: lastMarkup(context.source),
    expected: 'an attribute with a value in quotes, such as name="value"',
  })],
  [/attribute|forward-slash/, (context) => ({
    found: lastMarkup(context.source),
    expected: 'attributes such as name="value" with blanks between them, then > or />',
  })],
  [/^(incorrect syntax|inappropriately located doctype declaration)\.$/, (context) => ({
    found: lastMarkup(context.source),
    expected: "a comment, a CDATA section, or a DOCTYPE before the outermost element",
  })],
  [/closing tag|close tag/, (context) => ({
    found: lastMarkup(context.source),
    expected: `</${shorten(context.tag)}>`,
  })],
  [/XML declaration|encoding|version|standalone|name|value|whitespace/, (context) => ({
    found: lastMarkup(context.source),
    expected: 'an XML declaration such as <?xml version="1.0" encoding="UTF-8"?>',
  })],
];

/** The parser's complaint as what was found and what was expected. */
export function explain(message: string, context: ParserContext): Explanation {
  const complaint = withoutPlace(message);
  for (const [pattern, explanation] of EXPLANATIONS) {
    const match = pattern.exec(complaint);
    if (match) return explanation(context, match[1] ?? "");
  }
  return {
    found: lastMarkup(context.source),
    expected: `well-formed XML (${complaint.replace(/\.$/, "")})`,
  };
}

// The parser puts its own line and column before what it says.
function withoutPlace(message: string): string {
  return message.replace(/^\d+:\d+: /, "");
}

function lastMarkup(source: string): string {
  return shorten(source.slice(Math.max(source.lastIndexOf("<"), 0)));
}
