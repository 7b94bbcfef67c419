/** Formatting of plain output, and the progress line. */
import { oneLine } from "../base/text.ts";
import type { CliIo } from "./command.ts";
import type { Listener, ReadProgress } from "../intake/read_files.ts";

/** A cell of a plain list; `null` is printed as an empty cell. */
export type Cell = string | number | null;

/** A tab-separated line; tabs and line ends in cells become spaces. */
export function plainLine(cells: Cell[]): string {
  return cells.map((cell) => oneLine(String(cell ?? ""))).join("\t");
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
