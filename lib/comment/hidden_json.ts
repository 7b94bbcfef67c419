// Tests: tests/lib/comment/sections_test.ts tests/lib/comment/shared_tests_test.ts
/** What a comment keeps for the next job that reads it, as text that fits into an HTML comment. */

export function encodeHidden(value: unknown): string {
  return new TextEncoder().encode(JSON.stringify(value))
    .toBase64({ alphabet: "base64url", omitPadding: true });
}

/** `null` for anything else: anybody who may edit the comment can change it. */
export function decodeHidden(text: string): unknown {
  try {
    const bytes = Uint8Array.fromBase64(text, { alphabet: "base64url" });
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}
