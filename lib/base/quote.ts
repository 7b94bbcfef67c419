// Tests: tests/lib/base/cursor_test.ts tests/lib/base/time_zone_test.ts
const QUOTED_CHARACTERS = 100;

/** A text as an error message quotes it: cut after 100 characters (code points). */
export function quote(text: string): string {
  const characters = [...text.slice(0, 2 * (QUOTED_CHARACTERS + 1))];
  if (characters.length <= QUOTED_CHARACTERS) return `"${text}"`;
  return `"${characters.slice(0, QUOTED_CHARACTERS).join("")}..."`;
}

/** A text as one word of a shell's command line. */
export function shellWord(text: string): string {
  return /^[\w./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
