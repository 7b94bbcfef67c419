/** Formatting of plain output, and the progress line. */
import { oneLine } from "../base/text.ts";
import type { CliIo } from "./io.ts";
import { type Column, tableLines } from "./table.ts";
import type { Listener, ReadProgress } from "../intake/read_files.ts";

/** A cell of a plain list; `null` is printed as an empty cell. */
type Cell = string | number | null;

/** A tab-separated line; tabs and line ends in cells become spaces. */
export function plainLine(cells: Cell[]): string {
  return cells.map((cell) => oneLine(String(cell ?? ""))).join("\t");
}

/** A column of a list: a field, or a title with what its cells show. */
export type ListColumn<Item> = (keyof Item & string) | { title: string; cell(item: Item): Cell };

/** The items of a list as tab-separated lines. */
export function plainLines<Item extends object>(
  items: readonly Item[],
  columns: readonly ListColumn<Item>[] = allFields(items),
): string[] {
  return items.map((item) => plainLine(columns.map((column) => cellOf(item, column))));
}

/** The items of a list as a table with a header. Ids, keys, numbers and times are never cut. */
export function listTable<Item extends object>(
  items: readonly Item[],
  columns: readonly ListColumn<Item>[] = allFields(items),
  width: number,
): string[] {
  if (items.length === 0) return [];
  const head = columns.map((column): Column => {
    const title = typeof column === "string" ? titleOf(column) : column.title;
    const cells = items.map((item) => cellOf(item, column) ?? "");
    if (cells.every((cell) => typeof cell === "number")) return { title, align: "right" };
    const isWhole = /(^| )(ID|KEY)$/.test(title) || cells.every((cell) => isTime(String(cell)));
    return isWhole ? { title } : { title, cut: "end" };
  });
  const rows = items.map((item) =>
    columns.map((column) => {
      const cell = oneLine(String(cellOf(item, column) ?? ""));
      return isTime(cell) ? cell.slice(0, "YYYY-MM-DDTHH:MM".length).replace("T", " ") : cell;
    })
  );
  return tableLines(head, rows, width);
}

/** Short: `quarantine_reason` as `REASON`, `test_result_count` as `RESULTS`. */
function titleOf(field: string): string {
  return field.replace(/^(api_token|quarantined?|test)_/, "").replace(/_count$/, "s")
    .replaceAll("_", " ").replace(/ at$/, "").toUpperCase();
}

function isTime(text: string): boolean {
  return /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)?$/.test(text);
}

function cellOf<Item extends object>(item: Item, column: ListColumn<Item>): Cell {
  return typeof column === "string" ? item[column] as Cell : column.cell(item);
}

function allFields<Item extends object>([first]: readonly Item[]): ListColumn<Item>[] {
  return Object.keys(first ?? {}) as (keyof Item & string)[];
}

/** Prints tests: with `--json` as objects, on a terminal as a table, elsewhere as tab-separated lines. */
export async function printTests<Listed extends { repository: string }>(
  { io, json }: { io: CliIo; json: boolean },
  listed: readonly Listed[],
  { showRepository, view, cells, table, count, footer, none }: {
    /** Whether objects have the repository. */
    showRepository: boolean;
    view(one: Listed): object;
    cells(one: Listed): Cell[];
    /** Lines of a table that is `width` columns wide. */
    table(width: number): string[];
    /** Of all tests, also those beyond the limit. */
    count: number;
    /** What is said after the table, and in place of it: on a terminal, elsewhere only if tests are missing. */
    footer: string;
    none: string;
  },
): Promise<void> {
  const { columns: width } = io;
  if (json) {
    const records = listed.map((one) => (
      { ...view(one), ...showRepository && { repository: one.repository } }
    ));
    return await io.stdout(`${JSON.stringify(records)}\n`);
  }
  if (width !== undefined && listed.length === 0) return io.stderr(`${none}\n`);
  const lines = width === undefined ? listed.map((one) => plainLine(cells(one))) : table(width);
  await io.stdout(lines.map((line) => `${line}\n`).join(""));
  if (width !== undefined) io.stderr(`\n${footer}\n`);
  else if (listed.length < count) io.stderr(`${footer}\n`);
}

const MIN_MS_BETWEEN_LINES = 200;
const MAX_CHARACTERS = 79;
const CLEAR = "\r\x1b[K";

/** One line on standard error that is overwritten, on a terminal only. */
export function progressLine(
  io: Pick<CliIo, "stderr" | "stderrIsTerminal">,
): { show(text: string): void; clear(): void } {
  let shownAt = performance.now();
  let shown = false;
  return {
    show(text) {
      if (!io.stderrIsTerminal || performance.now() - shownAt < MIN_MS_BETWEEN_LINES) return;
      shownAt = performance.now();
      shown = true;
      io.stderr(`${CLEAR}${oneLine(text).slice(0, MAX_CHARACTERS)}`);
    },
    clear() {
      if (shown) io.stderr(CLEAR);
      shown = false;
    },
  };
}

/** Shows the notes and the progress of reading reports on standard error. */
export function progressListener(
  { io, note }: { io: CliIo; note(text: string): void },
): Listener & { show(text: string): void; clear(): void } {
  const { show, clear } = progressLine(io);
  let startedAt: number | undefined;
  return {
    show,
    clear,
    note(text) {
      clear();
      note(text);
    },
    progress(read) {
      startedAt ??= performance.now();
      show(readingText(read, performance.now() - startedAt));
    },
  };
}

/** Progress, such as `45 %, 12.3 MB/s, 8 s left: 4000 results, reading a.xml`. */
export function readingText(
  { results, file, bytes, totalBytes }: ReadProgress,
  elapsedMs: number,
): string {
  const text = `${results} results, reading ${file}`;
  if (totalBytes === 0 || elapsedMs === 0) return text;
  const percent = Math.min(100, Math.floor(100 * bytes / totalBytes));
  const seconds = Math.ceil(Math.max(0, totalBytes - bytes) / bytes * elapsedMs / 1000);
  return `${percent} %, ${(bytes / elapsedMs / 1000).toFixed(1)} MB/s, ${seconds} s left: ${text}`;
}
