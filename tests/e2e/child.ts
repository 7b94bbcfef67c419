/** A child process: its output, and how to stop it. */

/** Exit code and output of a command. */
export interface Ending {
  code: number;
  stdout: string;
  stderr: string;
}

/**
 * Time limit of the exit: `serve` drops requests after 10 s and statements after 5 s, the embedded
 * database waits 10 s for other commands; the rest is for a busy machine.
 */
const DEADLINE_MS = 60_000;

/** A running child process. */
export interface Child {
  pid: number;
  /** Standard output so far. */
  stdout(): string;
  /** Whether it has exited or was killed. */
  isOver(): boolean;
  /** Resolves when it has ended. */
  ending: Promise<Ending>;
  /**
   * Sends a signal unless the process has ended, and waits for its end.
   *
   * @throws {Error} after the deadline (60 s by default), with the streams that are still open; the
   * process is killed
   */
  end(signal: Deno.Signal, deadlineMs?: number): Promise<Ending>;
}

/**
 * Collects the output of a process.
 *
 * @param onStderr called with the whole standard error so far
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
      // Another process may have inherited the streams and keep them open.
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
