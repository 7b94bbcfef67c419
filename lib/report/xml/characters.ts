// Tests: tests/lib/report/xml/reader_test.ts
/** Replaces a character that cannot be kept. */
export const REPLACEMENT = "\ufffd";

/** Represents bytes that cannot be decoded, between decoder and reader. XML forbids it in a file. */
export const UNDECODABLE = "\uffff";

/** Characters that XML 1.0 does not allow. Decoded text has no unpaired surrogates. */
// deno-lint-ignore no-control-regex
export const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;
