/** Draws a terminal session as SVG. */
import { escapeHtml } from "../../lib/html/escape.ts";

/** Columns of the terminal. */
export const COLUMNS = 80;

/** Rows of the terminal. */
export const MAX_ROWS = 24;

/** A typed command or its output. */
export interface TerminalPart {
  kind: "typed" | "output";
  text: string;
}

const FONT_SIZE = 14;
/** Most monospaced fonts are 0.6 of their size wide; others are stretched by `textLength`. */
const CELL_WIDTH = 8.4;
const LINE_HEIGHT = 20;
const MARGIN = 18;
/** From the top of a line. */
const BASELINE = 15;
const TAB = 8;

/** Readable on light and dark pages; the contrast of each text colour is above 7. */
const PAPER = "#161b22";
const EDGE = "#57606a";
const INKS = { prompt: "#56d364", typed: "#ffffff", output: "#c9d1d9" };

/** The unit that is never broken: an argument, or an option with the pipe before it. */
const PIECE = /(?:\| [^\s"']+ )?(?:-[^\s"']+ )?(?:"[^"]*"|'[^']*'|[^\s"'])+/g;

/** Text of one colour. */
interface Run {
  column: number;
  text: string;
  ink: string;
}

/**
 * Draws a session as an SVG document that ends with a newline.
 *
 * @param label alternative text
 * @throws {RangeError} when it does not fit into the terminal
 */
export function terminalPicture(parts: readonly TerminalPart[], label: string): string {
  const rows = parts.flatMap(rowsOf);
  if (rows.length > MAX_ROWS) {
    throw new RangeError(`${rows.length} rows: expected at most ${MAX_ROWS}`);
  }
  const width = Math.ceil(COLUMNS * CELL_WIDTH) + 2 * MARGIN;
  const height = rows.length * LINE_HEIGHT + 2 * MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(label)}">`,
    `<title>${escapeHtml(label)}</title>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${PAPER}" ` +
    `stroke="${EDGE}"/>`,
    `<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" ` +
    `font-size="${FONT_SIZE}">`,
    ...rows.flatMap((runs, row) => runs.map((run) => drawRun(run, row))),
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

/**
 * Breaks a command into continuation lines. Quoted text stays whole, as do an option with its value
 * and a command after a pipe with its first option.
 */
export function wrapCommand(command: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const [piece] of command.matchAll(PIECE)) {
    if (line !== "" && line.length + piece.length + " ".length + " \\".length > columns) {
      lines.push(`${line} \\`);
      line = `  ${piece}`;
    } else line = line === "" ? piece : `${line} ${piece}`;
  }
  return [...lines, line];
}

function rowsOf({ kind, text }: TerminalPart): Run[][] {
  if (kind === "typed") {
    return wrapCommand(text, COLUMNS - 2).map((line, index) => [
      { column: 0, text: index === 0 ? "$" : ">", ink: INKS.prompt },
      ...runsOf(line, { column: 2, ink: INKS.typed }),
    ]);
  }
  return text.split("\n").map((line) => runsOf(line, { column: 0, ink: INKS[kind] }));
}

/** Splits at runs of blanks, which SVG renderers collapse differently. */
function runsOf(line: string, { column, ink }: { column: number; ink: string }): Run[] {
  const text = line.replaceAll(
    /([^\t]*)\t/g,
    (_, before: string) => before + " ".repeat(TAB - before.length % TAB),
  );
  if (column + text.length > COLUMNS) {
    throw new RangeError(`"${text}" is too long: expected at most ${COLUMNS - column} characters`);
  }
  return [...text.matchAll(/\S+(?: \S+)*/g)]
    .map((match) => ({ column: column + match.index, text: match[0], ink }));
}

function drawRun({ column, text, ink }: Run, row: number): string {
  const x = MARGIN + column * CELL_WIDTH;
  const y = MARGIN + row * LINE_HEIGHT + BASELINE;
  return `<text x="${rounded(x)}" y="${y}" fill="${ink}" ` +
    `textLength="${rounded(text.length * CELL_WIDTH)}" lengthAdjust="spacingAndGlyphs">` +
    `${escapeHtml(text)}</text>`;
}

function rounded(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}
