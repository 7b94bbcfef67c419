import type { CliIo, CommandContext } from "../command.ts";
import { oneLine } from "../output.ts";
import type { Listener } from "./read_files.ts";

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
  { io, note }: Pick<CommandContext, "io" | "note">,
): Listener & { show(text: string): void; clear(): void } {
  const { show, clear } = progressLine(io);
  return {
    show,
    clear,
    note(text) {
      clear();
      note(text);
    },
    progress: ({ results, file }) => show(`${results} results read, reading ${file}`),
  };
}
