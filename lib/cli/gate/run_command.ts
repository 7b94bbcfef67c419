/** Runs the command that the gate is wrapped around. */

// Signals from a terminal or a CI service; SIGKILL cannot be passed on.
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

// Those that a terminal sends to all processes in its foreground, the command included.
const TERMINAL_SIGNALS: readonly Deno.Signal[] = ["SIGINT", "SIGQUIT"];

// These ask a program to do something, not to stop.
const USER_SIGNALS: readonly Deno.Signal[] = ["SIGUSR1", "SIGUSR2"];

/** How a command ended. */
export interface CommandEnd {
  /** As a shell has it: 128 and the number of the signal when one ended it, 127 for an unknown command. */
  code: number;
  /** The last signal to stop that came meanwhile, `null` when none came. */
  signal: Deno.Signal | null;
}

/**
 * Runs a command with the streams of this process and passes signals on to it.
 *
 * A shell starts it, so that unknown commands and scripts without a `#!` line end as usual.
 *
 * @param options.stdoutTo where its standard output goes
 */
export async function runCommand(
  command: readonly string[],
  { stdoutTo }: { stdoutTo: "stdout" | "stderr" },
): Promise<CommandEnd> {
  const script = stdoutTo === "stdout" ? 'exec "$@"' : 'exec "$@" >&2';
  const tests = new Deno.Command("sh", {
    args: ["-c", script, "sh", ...command],
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  });
  let received: Deno.Signal | null = null;
  // Before the start: a signal must not end this process alone.
  const stopListening = onSignals((signal) => {
    if (!USER_SIGNALS.includes(signal)) received = signal;
    if (TERMINAL_SIGNALS.includes(signal) && Deno.stdin.isTerminal()) return;
    try {
      child.kill(signal);
    } catch {
      // It has ended.
    }
  });
  const child = tests.spawn();
  try {
    const { code } = await child.status;
    return { code, signal: received };
  } finally {
    stopListening();
  }
}

/** Calls a function for each signal of {@linkcode SIGNALS}; returns what stops that. */
export function onSignals(handle: (signal: Deno.Signal) => void): () => void {
  const listeners = SIGNALS.map((signal) => {
    const listener = () => handle(signal);
    Deno.addSignalListener(signal, listener);
    return () => Deno.removeSignalListener(signal, listener);
  });
  return () => listeners.forEach((remove) => remove());
}
