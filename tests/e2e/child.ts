/** A process that was started, what it writes, and how it is made to end. */

/** What a command left behind. */
export interface Ending {
  code: number;
  stdout: string;
  stderr: string;
}

/**
 * How long the end may take, in milliseconds: `serve` gives up requests after 10 s, statements after
 * 5 s, and the embedded database waits 10 s for other commands; the rest is for a busy machine.
 */
const DEADLINE_MS = 60_000;

/** A process that was started. */
export interface Child {
  pid: number;
  /** What it has written to standard output so far. */
  stdout(): string;
  /** Whether it has ended, by itself or not. */
  isOver(): boolean;
  /** Waits for its end, however long that takes. */
  ending: Promise<Ending>;
  /**
   * Sends a signal, unless the process has ended, and returns what it left behind.
   *
   * @throws {Error} when that takes longer than the deadline (in milliseconds, 60 s unless given):
   * it names what was waited for, and the process has got a SIGKILL
   */
  end(signal: Deno.Signal, deadlineMs?: number): Promise<Ending>;
}

/**
 * Collects what a process writes.
 *
 * @param onStderr called with all that it has written to standard error so far
 */
export function follow(
  process: Deno.ChildProcess,
  onStderr: (all: string) => void = () => {},
): Child {
  const stdout = collect(process.stdout);
  const stderr = collect(process.stderr, onStderr);
  const open = new Set<string>();
  const ended = <T>(name: string, work: Promise<T>) => {
    open.add(name);
    return work.finally(() => open.delete(name));
  };
  const isOver = () => !open.has("the process");
  const ending = Promise.all([
    ended("the process", process.status),
    ended("standard output", stdout.done),
    ended("standard error", stderr.done),
  ]).then(([{ code }]) => ({ code, stdout: stdout.text(), stderr: stderr.text() }));
  return {
    pid: process.pid,
    stdout: stdout.text,
    isOver,
    ending,
    async end(signal, deadlineMs = DEADLINE_MS) {
      if (!isOver()) process.kill(signal);
      const { promise: late, resolve } = Promise.withResolvers<null>();
      const timer = setTimeout(() => resolve(null), deadlineMs);
      const left = await Promise.race([ending, late]).finally(() => clearTimeout(timer));
      if (left !== null) return left;
      const missing = [...open].join(", ");
      if (!isOver()) process.kill("SIGKILL");
      // Somebody else may hold them, and will never close them.
      await Promise.all([process.status, stdout.cancel(), stderr.cancel()]);
      throw new Error(
        `${missing} did not end within ${deadlineMs} ms of ${signal}; ` +
          `at the end of standard error: ${JSON.stringify(stderr.text().slice(-1_000))}`,
      );
    },
  };
}

function collect(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onText: (all: string) => void = () => {},
): { text: () => string; done: Promise<void>; cancel: () => Promise<void> } {
  let all = "";
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  const done = (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      all += value;
      onText(all);
    }
  })();
  return { text: () => all, done, cancel: () => reader.cancel() };
}
