// Tests: tests/lib/badge/badge_test.ts tests/lib/html/markup_test.ts
import { showCodePoint, showDirections } from "../base/text.ts";

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

// In order: what HTML reads, terminal colours, control characters but tab and line ends, and code points
// that HTML forbids.
const SPECIAL =
  // deno-lint-ignore no-control-regex
  /[&<>"]|\x1b\[[\d;]*m|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\p{Noncharacter_Code_Point}/gu;

/**
 * Escapes plain text for HTML and SVG: between tags and in double-quoted attributes. Terminal colours
 * are removed; other control characters and those that reverse the direction become code points.
 */
export function escapeHtml(text: string): string {
  const escape = (found: string) =>
    ENTITIES[found] ?? (found.startsWith("\x1b[") ? "" : showCodePoint(found));
  return showDirections(text.replace(SPECIAL, escape));
}
