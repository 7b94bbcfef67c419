// Tests: tests/lib/report/junit/case_attributes_test.ts tests/lib/report/normalize_names_test.ts
/** Numbers for what distinguishes tests of one name in a report. */

const HASH_START = 0x811c9dc5 | 0;

/** A number for these texts after those of `start`; `start` if all are empty. */
export function variantOf(texts: Iterable<string | undefined>, start = 0): number {
  let hash = start;
  for (const text of texts) {
    if (text) hash = hashOf(text, hash === 0 ? HASH_START : hash);
  }
  return hash;
}

/** FNV-1a, 32 bits, never 0. */
function hashOf(text: string, start: number): number {
  let hash = start;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash || 1;
}
