import type { CliIo } from "../command.ts";
import { oneLine } from "../output.ts";

// A glance is all that progress is for; more often would only cost time.
const MIN_MS_BETWEEN_LINES = 200;
const MAX_CHARACTERS = 79;
const CLEAR = "\r\x1b[K";

/** One line on standard error that is written over and over, only where a person watches. */
export function progressLine(
  io: Pick<CliIo, "stderr" | "stderrIsTerminal">,
): { show(text: string): void; clear(): void } {
  let shownAt = performance.now();
  let shown = false;
  return {
    show(text) {
      // Nothing is shown of what is over before anybody could read it.
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
