/** The SQL that stands in the sources, to tell whether a test has seen all of it sent. */

/** A template of SQL in a file of `db`. */
export interface SqlTemplate {
  /** Such as `badges.ts:30`. */
  place: string;
  /** The texts between its values, each in one line. */
  pieces: string[];
}

/** All whole statements of the given files of `db`; fragments are parts of them. */
export async function readTemplates(files: readonly string[]): Promise<SqlTemplate[]> {
  const templates: SqlTemplate[] = [];
  for (const file of files) {
    const text = await Deno.readTextFile(new URL(`../../../db/${file}`, import.meta.url));
    for (const { index, pieces } of templatesOf(text)) {
      if (!/^\s*(select|insert|update|delete|with)\b/.test(pieces[0] ?? "")) continue;
      const place = `${file}:${text.slice(0, index).split("\n").length}`;
      templates.push({
        place,
        pieces: pieces.map((piece) => piece.replace(/\s+/g, " ").trim()).filter((it) => it !== ""),
      });
    }
  }
  return templates;
}

/** Whether a statement is made from a template: it has its texts, in their order. */
export function isMadeFrom(text: string, { pieces }: SqlTemplate): boolean {
  let at = 0;
  for (const [index, piece] of pieces.entries()) {
    const found = text.indexOf(piece, at);
    if (found < 0 || (index === 0 && found > 0)) return false;
    at = found + piece.length;
  }
  return true;
}

/** The templates of a source, in the order in which they end; not what comments show. */
export function templatesOf(source: string): { index: number; pieces: string[] }[] {
  const found: { index: number; pieces: string[] }[] = [];
  /** Templates that are open, each with the braces that are open in its value. */
  const open: { index: number; pieces: string[]; braces: number | null }[] = [];
  for (let at = 0; at < source.length; at++) {
    const current = open.at(-1);
    const character = source[at];
    if (current && current.braces === null) {
      if (character === "\\") at++;
      else if (character === "`") found.push(open.pop()!);
      else if (source.startsWith("${", at++)) {
        current.braces = 0;
        current.pieces.push("");
      } else {
        at--;
        current.pieces.push(current.pieces.pop()! + character);
      }
      continue;
    }
    if (source.startsWith("//", at)) at = source.indexOf("\n", at);
    else if (source.startsWith("/*", at)) at = source.indexOf("*/", at) + 1;
    else if (character === '"') {
      for (at++; source[at] !== '"'; at++) if (source[at] === "\\") at++;
    } else if (character === "`") {
      open.push({ index: at, pieces: [""], braces: null });
    } else if (current && character === "{") current.braces!++;
    else if (current && character === "}") {
      if (current.braces === 0) current.braces = null;
      else current.braces!--;
    }
  }
  return found;
}
