/** Start tags and their attributes. */
import type { ReportLimits } from "../limits.ts";
import { quote, shorten } from "../report_error.ts";
import { detach } from "./characters.ts";
import type { XmlInput } from "./input.ts";

/** Attributes of an element by name. It has no prototype: any name is safe. */
export type XmlAttributes = Readonly<Record<string, string | undefined>>;

/** A start tag that has arrived completely. */
export interface StartTag {
  /** With its namespace prefix. */
  name: string;
  attributes: XmlAttributes;
  isEmpty: boolean;
  /** Index behind it. */
  end: number;
  /** One of the name attributes that has bytes that cannot be decoded. */
  undecodableName: string | undefined;
}

/** Settings of {@link readStartTag}. */
export interface TagOptions {
  limits: ReportLimits;
  /** Attributes that name something: the shorter limit of names applies to them. */
  nameAttributes: ReadonlySet<string>;
}

const VALUE_SPECIAL = /\r\n|[\t\n\r]|&([^;]*;?)/g;
const ATTRIBUTES = 'attributes such as name="value" with white space between them, then > or />';

// A null prototype lets an attribute be called `__proto__`; unlike Object.create(null), objects of
// one class stay fast.
class Attributes {
  [name: string]: string;
}
Object.setPrototypeOf(Attributes.prototype, null);
Reflect.deleteProperty(Attributes.prototype, "constructor");

/** Reads the tag at the current position; `null` when the rest of it is still to come. */
export function readStartTag(input: XmlInput, options: TagOptions): StartTag | null {
  const { limits, nameAttributes } = options;
  const { text, at: start } = input;
  let at = input.endOfName(start + 1);
  if (at === start + 1) input.failOnMarkup('a tag, or "<" to be written as "&lt;"');
  const tagName = detach(text.slice(start + 1, at));
  const attributes = new Attributes();
  let undecodableName: string | undefined;
  for (let count = 0;; count++) {
    const nameAt = afterBlanks(text, at);
    const isEmpty = text.charAt(nameAt) === "/";
    const last = isEmpty ? nameAt + 1 : nameAt;
    if (last >= text.length) return null;
    if (text.charAt(last) === ">") {
      return { name: tagName, attributes, isEmpty, end: last + 1, undecodableName };
    }
    const nameEnd = input.endOfName(nameAt);
    if (nameEnd === nameAt || nameAt === at) input.failOnMarkup(ATTRIBUTES, nameAt);
    const equals = afterBlanks(text, nameEnd);
    if (equals >= text.length) return null;
    const hasEquals = text.charAt(equals) === "=";
    const opening = hasEquals ? afterBlanks(text, equals + 1) : equals;
    if (opening >= text.length) return null;
    const delimiter = text.charAt(opening);
    if (!hasEquals || (delimiter !== '"' && delimiter !== "'")) {
      input.failOnMarkup('an attribute with a value in quotes, such as name="value"', nameAt);
    }
    if (count >= limits.attributeCount) {
      input.fail("limit", `more than ${limits.attributeCount} attributes of one element`, "fewer");
    }
    const name = text.slice(nameAt, nameEnd);
    if (attributes[name] !== undefined) {
      const found = `the attribute ${shorten(name)} twice in <${shorten(tagName)}>`;
      input.fail("malformed", found, "it once", input.positionOf(nameAt));
    }
    const valueAt = opening + 1;
    const valueEnd = text.indexOf(delimiter, valueAt);
    const isName = nameAttributes.has(name);
    const value = valueEnd === -1
      ? text.slice(valueAt)
      : readValue(input, { name, start: valueAt, end: valueEnd });
    const limit = isName && valueEnd !== -1 ? limits.nameCharacters : limits.attributeCharacters;
    if (value.length > limit) {
      const found = `the attribute ${shorten(name)}=${quote(value)}`;
      input.fail("limit", found, `at most ${limit} characters`, input.positionOf(valueAt));
    }
    if (valueEnd === -1) return null;
    if (isName && input.isUndecodable(value)) undecodableName = name;
    attributes[name] = input.withoutUndecodable(value);
    at = valueEnd + 1;
  }
}

function readValue(
  input: XmlInput,
  { name, start, end }: { name: string; start: number; end: number },
): string {
  const less = input.text.slice(start, end).indexOf("<");
  if (less === -1) return input.decode(start, end, VALUE_SPECIAL, " ");
  const found = `"<" in the value of the attribute ${shorten(name)}`;
  const expected = 'its closing quote, or "<" to be written as "&lt;"';
  input.fail("malformed", found, expected, input.positionOf(start + less));
}

/** The index of the first character that is not white space. */
export function afterBlanks(text: string, start: number): number {
  let at = start;
  while (isBlank(text.charCodeAt(at))) at++;
  return at;
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x09 || code === 0x0d;
}
