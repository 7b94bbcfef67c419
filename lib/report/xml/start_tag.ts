// Tests: tests/lib/report/junit/case_attributes_test.ts tests/lib/report/xml/reader_test.ts
import { REPORT_LIMITS } from "../limits.ts";
import { excerpt, shorten } from "../report_error.ts";
import { detach } from "../../base/text.ts";
import type { XmlInput } from "./input.ts";

/** Attributes of an element by name. It has no prototype: any name is safe. */
export type XmlAttributes = Readonly<Record<string, string | undefined>>;

interface StartTag {
  /** With its namespace prefix. */
  name: string;
  attributes: XmlAttributes;
  isEmpty: boolean;
  /** Index after it. */
  end: number;
  /** One of the name attributes that has bytes that cannot be decoded. */
  undecodableName: string | undefined;
}

// Names of suites, classes, tests and files: a shorter limit applies to them.
const NAME_ATTRIBUTES: ReadonlySet<string> = new Set(
  [
    ...["name", "classname", "file", "filename", "path"],
    // TRX and NUnit.
    ...["testName", "testId", "className", "codeBase", "id", "methodname", "fullname"],
  ],
);
const ATTRIBUTES = 'attributes such as name="value" with white space between them, then > or />';

// A null prototype lets an attribute be called `__proto__`; unlike Object.create(null), objects of
// one class stay fast.
class Attributes {
  [name: string]: string;
}
Object.setPrototypeOf(Attributes.prototype, null);
Reflect.deleteProperty(Attributes.prototype, "constructor");

/** Reads the tag at the current position; `null` when the rest of it is still to come. */
export function readStartTag(input: XmlInput): StartTag | null {
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
    const { attributeCount, nameCharacters, attributeCharacters } = REPORT_LIMITS;
    if (count >= attributeCount) {
      input.fail("limit", `more than ${attributeCount} attributes of one element`, "fewer");
    }
    const name = text.slice(nameAt, nameEnd);
    if (attributes[name] !== undefined) {
      const found = `the attribute ${shorten(name)} twice in <${shorten(tagName)}>`;
      input.fail("malformed", found, "it once", input.positionOf(nameAt));
    }
    const valueAt = opening + 1;
    const valueEnd = text.indexOf(delimiter, valueAt);
    const isName = NAME_ATTRIBUTES.has(name);
    const raw = text.slice(valueAt, valueEnd === -1 ? undefined : valueEnd);
    const value = valueEnd === -1 ? raw : valueOf(input, name, raw, valueAt);
    const limit = isName && valueEnd !== -1 ? nameCharacters : attributeCharacters;
    if (value.length > limit) {
      const found = `the attribute ${shorten(name)}=${excerpt(value)}`;
      input.fail("too-long", found, `at most ${limit} characters`, input.positionOf(valueAt));
    }
    if (valueEnd === -1) return null;
    if (isName && input.isUndecodable(value)) undecodableName = name;
    attributes[name] = input.withoutUndecodable(value);
    at = valueEnd + 1;
  }
}

function valueOf(input: XmlInput, name: string, raw: string, start: number): string {
  const less = raw.indexOf("<");
  // White space as written is blanks, as a reference it is kept.
  if (less === -1) return input.resolve(raw.replace(/[\t\n]/g, " "), start);
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
  return code === 0x20 || code === 0x0a || code === 0x09;
}
