/** A table for a terminal, with cells cut so that each row fits on one line. */
import { oneLine } from "../base/text.ts";

/** A column: its title, and where a cell that is too long is cut; others are never cut. */
export interface Column {
  title: string;
  align?: "right";
  cut?: "start" | "end";
}

/** The column of the repositories of several tests: without their owner where all have the same and room is short. */
export function repositoryNames(
  repositories: readonly string[],
  width: number,
): (repository: string) => string {
  const owners = new Set(repositories.map((one) => one.slice(0, one.lastIndexOf("/") + 1)));
  const [owner = ""] = owners;
  return owners.size === 1 && width < WIDE_TERMINAL
    ? (repository) => repository.slice(owner.length)
    : (repository) => repository;
}

/** Columns from which on a table of tests has room for more than names and ids. */
export const WIDE_TERMINAL = 100;

/** A column of a table of items, with what it shows of each. */
export type ItemColumn<Item> = [isShown: boolean, column: Column, cell: (item: Item) => string];

/** Lines of a table of items; as {@linkcode tableLines}. */
export function itemTable<Item>(
  items: readonly Item[],
  columns: readonly ItemColumn<Item>[],
  width: number,
): string[] {
  const shown = columns.filter(([isShown]) => isShown);
  const rows = items.map((item) => shown.map(([, , cell]) => oneLine(cell(item))));
  return tableLines(shown.map(([, column]) => column), rows, width);
}

const GAP = "  ";
const ELLIPSIS = "…";

// East Asian characters and emoji take two columns.
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])/u;
const segmenter = new Intl.Segmenter();

/** Lines of a table with a header, at most `width` columns wide where the cells that may be cut allow it. */
export function tableLines(columns: Column[], rows: string[][], width: number): string[] {
  const all = [columns.map(({ title }) => title), ...rows];
  const widths = columns.map((_, index) =>
    Math.max(...all.map((row) => displayWidth(row[index] ?? "")))
  );
  // The narrowest first: what it does not need is left to the others.
  const flexible = columns.keys().filter((index) => columns[index]?.cut).toArray()
    .sort((a, b) => widths[a]! - widths[b]!);
  let rest = width - GAP.length * (columns.length - 1) -
    widths.reduce((sum, one, index) => columns[index]?.cut ? sum : sum + one, 0);
  for (const [done, index] of flexible.entries()) {
    widths[index] = Math.min(
      widths[index]!,
      Math.max(1, Math.floor(rest / (flexible.length - done))),
    );
    rest -= widths[index]!;
  }
  return all.map((row) =>
    columns.map(({ align, cut }, index) => {
      const cell = cutTo(row[index] ?? "", widths[index]!, cut);
      const padding = " ".repeat(Math.max(0, widths[index]! - displayWidth(cell)));
      return align === "right" ? padding + cell : cell + padding;
    }).join(GAP).trimEnd()
  );
}

/**
 * Lines of a text that is broken at spaces so that each is at most `width` columns wide where its words allow it;
 * all but the first begin with `indent`.
 */
export function wrapLine(
  text: string,
  { width, indent }: { width: number; indent: string },
): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" || line === indent ? line + word : `${line} ${word}`;
    if (displayWidth(longer) <= width || line === "" || line === indent) line = longer;
    else {
      lines.push(line.trimEnd());
      line = indent + word;
    }
  }
  return [...lines, line];
}

function cutTo(text: string, width: number, cut: Column["cut"]): string {
  if (!cut || displayWidth(text) <= width) return text;
  const characters = [...segmenter.segment(text)].map(({ segment }) => segment);
  while (displayWidth(characters.join("")) >= width && characters.length > 0) {
    if (cut === "start") characters.shift();
    else characters.pop();
  }
  return cut === "start" ? ELLIPSIS + characters.join("") : characters.join("") + ELLIPSIS;
}

/** Columns that a text takes on a terminal. */
function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return [...segmenter.segment(text)].reduce(
    (sum, { segment }) => sum + (WIDE.test(segment) ? 2 : 1),
    0,
  );
}
