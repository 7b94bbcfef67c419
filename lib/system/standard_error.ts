// Tests: tests/db/embedded/maintenance_test.ts
/**
 * Standard error of the process. Commands write synchronously. A service must not: once its pipe is
 * full, because the reader is stuck, a synchronous write blocks the process until the pipe is read.
 */
import { OutputQueue } from "./output_queue.ts";

/** How long the exit waits for a slow reader. */
const FLUSH_TIMEOUT_MS = 2_000;
/** A write that takes longer than any slow disk: its reader is stuck. */
const STUCK_MS = 1_000;

let queue: OutputQueue | null = null;

/** Writes synchronously, or through the queue once there is one. */
export function writeToStderr(text: string): void {
  if (queue) queue.add(text, true);
  else writeSync(text);
}

/** From now on lines wait in a bounded queue, and are dropped when it is full. */
export function queueStderr(
  handlers: { onDrop(count: number): void; onRoom(count: number): void },
): OutputQueue {
  queue = new OutputQueue({
    write: (bytes) => Deno.stderr.write(bytes),
    ...handlers,
  });
  // For an exit that does not come from the command line, such as an uncaught error.
  globalThis.addEventListener("unload", () => writeLastToStderr(""));
  return queue;
}

/** Waits until all lines are written, for a limited time. */
export async function flushStderr(): Promise<void> {
  await queue?.flush(FLUSH_TIMEOUT_MS);
}

/** Writes everything synchronously, before an exit that cannot wait, unless the reader is stuck. */
export function writeLastToStderr(text: string): void {
  if (queue && queue.writingMs > STUCK_MS) return;
  writeSync([...queue?.take() ?? [], text].join(""));
}

function writeSync(text: string): void {
  let rest = new TextEncoder().encode(text);
  try {
    while (rest.length > 0) rest = rest.subarray(Deno.stderr.writeSync(rest));
  } catch {
    // Standard error is closed.
  }
}
