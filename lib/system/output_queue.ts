/** Lines on their way to a stream whose reader may be slow, stuck or gone. */
import { pause } from "../base/delay.ts";

// One write for each line costs a busy service a tenth of its throughput. A kill loses at most 50 ms.
const WRITE_AFTER_MS = 50;
const WRITE_AT_CHARACTERS = 32 * 1024;
/** What a pipe holds: little is in flight when the reader is stuck. */
const MAX_WRITE_CHARACTERS = 64 * 1024;
/** Some thousand lines; further ones are dropped until half of it was written. */
const MAX_WAITING_CHARACTERS = 1024 * 1024;
// A pipe inherited from a Node.js parent (npx) may be non-blocking: when it is full, try again.
const PIPE_RETRY_MS = 5;

interface OutputQueueOptions {
  /** Writes some of the bytes, and returns how many. */
  write(bytes: Uint8Array): Promise<number>;
  /** Called when lines did not fit or could not be written. */
  onDrop(count: number): void;
  /** Called when there is room again, with the number of lines that were dropped since the last call. */
  onRoom(count: number): void;
}

/** Writes lines in order, with one write in flight, and drops those that do not fit: `add` never waits. */
export class OutputQueue {
  #lines: string[] = [];
  #characters = 0;
  #dropped = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: Promise<void> | null = null;
  #writingSince: number | null = null;

  constructor(private readonly options: OutputQueueOptions) {}

  /** Adds a line with its line end. An urgent one is written immediately, with those before it. */
  add(line: string, isUrgent: boolean): void {
    if (this.#characters + line.length > MAX_WAITING_CHARACTERS) return this.#drop(1);
    this.#lines.push(line);
    this.#characters += line.length;
    if (isUrgent || this.#characters > WRITE_AT_CHARACTERS) this.#start();
    else this.#timer ??= setTimeout(() => this.#start(), WRITE_AFTER_MS);
  }

  /** Writes what is waiting; gives up after the timeout. */
  async flush(timeoutMs: number): Promise<void> {
    this.#start();
    const stopWaiting = new AbortController();
    await Promise.race([this.#running, pause(timeoutMs, stopWaiting.signal)]);
    stopWaiting.abort();
  }

  /** How long the write in flight has taken so far, in milliseconds; 0 without one. */
  get writingMs(): number {
    return this.#writingSince === null ? 0 : performance.now() - this.#writingSince;
  }

  /** Removes and returns what is waiting. */
  take(maxCharacters = Infinity): string[] {
    let count = 0;
    let characters = 0;
    while (count < this.#lines.length) {
      characters += this.#lines[count]!.length;
      // At least one.
      if (count > 0 && characters > maxCharacters) break;
      count++;
    }
    const taken = this.#lines.splice(0, count);
    for (const line of taken) this.#characters -= line.length;
    return taken;
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running ??= this.#writeAll().finally(() => this.#running = null);
  }

  async #writeAll(): Promise<void> {
    while (this.#lines.length > 0) {
      const lines = this.take(MAX_WRITE_CHARACTERS);
      this.#writingSince = performance.now();
      const isWritten = await writeText(lines.join(""), this.options.write)
        .then(() => true, () => false);
      this.#writingSince = null;
      if (!isWritten) this.#drop(lines.length);
      else if (this.#dropped > 0 && this.#characters <= MAX_WAITING_CHARACTERS / 2) {
        const count = this.#dropped;
        this.#dropped = 0;
        this.options.onRoom(count);
      }
    }
  }

  #drop(count: number): void {
    this.#dropped += count;
    this.options.onDrop(count);
  }
}

/** Writes a text to its end; `write` writes some of its bytes, and returns how many. */
export async function writeText(
  text: string,
  write: OutputQueueOptions["write"],
): Promise<void> {
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(await write(rest));
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) throw error;
      await pause(PIPE_RETRY_MS);
    }
  }
}
