/** Names of XML elements and attributes. */
// NameStartChar and NameChar of XML 1.0, beyond ASCII.
const OTHER_START =
  "\\xc0-\\xd6\\xd8-\\xf6\\xf8-\\u02ff\\u0370-\\u037d\\u037f-\\u1fff\\u200c\\u200d" +
  "\\u2070-\\u218f\\u2c00-\\u2fef\\u3001-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\ufffd\\u{10000}-\\u{effff}";
const NAME = new RegExp(
  `[:A-Z_a-z${OTHER_START}][-:A-Z_a-z.0-9\\xb7\\u0300-\\u036f\\u203f\\u2040${OTHER_START}]*`,
  "yu",
);

const START = codesOf(/[:A-Za-z_]/);
const PART = codesOf(/[:A-Za-z0-9_.-]/);

function codesOf(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => +pattern.test(String.fromCharCode(code)));
}

/** Where the name that begins at an index ends; the index itself when no name begins there. */
export function endOfName(text: string, start: number): number {
  let end = start;
  if (START[text.charCodeAt(end)]) { do end++; while (PART[text.charCodeAt(end)]); }
  // Names beyond ASCII are rare: only they pay for the pattern.
  if (!(text.charCodeAt(end) >= 128)) return end;
  NAME.lastIndex = start;
  return NAME.test(text) ? NAME.lastIndex : start;
}
