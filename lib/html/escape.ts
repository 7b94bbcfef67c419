const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Shows characters that reverse the direction of a text as their numbers: `[U+202E]`. */
export function showDirections(text: string): string {
  return text.replace(DIRECTIONS, asNumber);
}

function asNumber(character: string): string {
  return `[U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`;
}

// In order: what HTML reads, terminal colours, control characters but tab and line ends.
const SPECIAL =
  // deno-lint-ignore no-control-regex
  /[&<>"]|\x1b\[[\d;]*m|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

/**
 * Escapes plain text for HTML and SVG: between tags and in double-quoted attributes. Terminal colours
 * are removed; other control characters and those that reverse the direction become numbers.
 */
export function escapeHtml(text: string): string {
  const escape = (found: string) => ENTITIES[found] ?? (found.length > 1 ? "" : asNumber(found));
  return showDirections(text.replace(SPECIAL, escape));
}
