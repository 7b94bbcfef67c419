/** Reads HTML as a browser does. */
import assert from "node:assert/strict";
import { type DefaultTreeAdapterTypes, parse } from "parse5";

type Element = DefaultTreeAdapterTypes.Element;
type Node = DefaultTreeAdapterTypes.Node;

/** An element of a document that was read. */
export interface Html {
  name: string;
  attributes: Readonly<Record<string, string>>;
  /** All text in it, white space collapsed. */
  text: string;
  /** All elements in it, or those with this name or `.class`, in the order of the document. */
  all(name?: string): Html[];
}

/**
 * Parses a whole document.
 *
 * @throws {assert.AssertionError} when it has a parse error of the HTML standard
 */
export function parseHtml(text: string): Html {
  const errors: string[] = [];
  const document = parse(text, {
    onParseError: ({ code, startOffset }) =>
      errors.push(`${code} at ${JSON.stringify(text.slice(startOffset - 40, startOffset + 40))}`),
  });
  assert.deepEqual(errors, []);
  return wrap(document.childNodes.find((node): node is Element => node.nodeName === "html")!);
}

function wrap(element: Element): Html {
  return {
    name: element.tagName,
    attributes: Object.fromEntries(element.attrs.map(({ name, value }) => [name, value])),
    get text() {
      return textOf(element).replaceAll(/\s+/g, " ").trim();
    },
    all: (name) => elementsIn(element).map(wrap).filter((one) => isNamed(one, name)),
  };
}

function isNamed({ name, attributes }: Html, wanted?: string): boolean {
  if (!wanted?.startsWith(".")) return wanted === undefined || name === wanted;
  return (attributes.class ?? "").split(" ").includes(wanted.slice(1));
}

function elementsIn(node: Node): Element[] {
  if (!("childNodes" in node)) return [];
  return node.childNodes.flatMap((child) =>
    "tagName" in child ? [child, ...elementsIn(child)] : elementsIn(child)
  );
}

function textOf(node: Node): string {
  if (node.nodeName === "#text") return (node as DefaultTreeAdapterTypes.TextNode).value;
  if (!("childNodes" in node)) return "";
  return node.childNodes.map(textOf).join("");
}

/** Elements that pages consist of. */
const ELEMENTS = new Set(
  ("html head meta title link style body a header svg rect path circle g polyline span nav main " +
    "footer p b small h1 h2 h3 ol ul li dl dt dd div table thead tbody tr th td time code pre bdi br " +
    "figure figcaption details summary form label input select option button section i wbr em blockquote")
    .split(
      " ",
    ),
);

/** Asserts that a page contains nothing but what pages consist of, and links to nowhere else. */
export function assertHarmless(page: Html): void {
  for (const { name, attributes } of page.all()) {
    assert.ok(ELEMENTS.has(name), `<${name}>`);
    for (const [attribute, value] of Object.entries(attributes)) {
      assert.doesNotMatch(attribute, /^on|^style$|^srcdoc$/, `${attribute} of <${name}>`);
      if (!["href", "src", "action"].includes(attribute)) continue;
      const isOwn = name === "link" ? value.startsWith("data:image/svg+xml,") : false;
      assert.ok(
        isOwn ||
          /^(https?:\/\/|#[a-z0-9_-]+$|(\.\.\/)*[a-z-]+(\.csv|\.ndjson)?([/?]|$))/.test(value),
        value,
      );
    }
  }
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(page.text, /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
}
