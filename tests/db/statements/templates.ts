/** Finds the SQL in the sources, to check that tests send all of it. */

/** An SQL template in a file of `db`. */
interface SqlTemplate {
  /** Such as `badges.ts:30`. */
  place: string;
  /** The texts between its values, without line breaks. */
  pieces: string[];
}

/** The statements in files of `db`, without fragments. */
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

/** Whether a statement contains the texts of a template in order. */
export function isMadeFrom(text: string, { pieces }: SqlTemplate): boolean {
  let at = 0;
  for (const [index, piece] of pieces.entries()) {
    const found = text.indexOf(piece, at);
    if (found < 0 || (index === 0 && found > 0)) return false;
    at = found + piece.length;
  }
  return true;
}

/** The template literals of a source outside of comments, in the order of their ends. */
export function templatesOf(source: string): { index: number; pieces: string[] }[] {
  const found: { index: number; pieces: string[] }[] = [];
  /** Open templates, each with the count of open braces in its value. */
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
