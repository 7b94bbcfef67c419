// Tests: tests/lib/cli/commands/gate_test.ts tests/lib/cli/gate_run/lookup_test.ts
// Signals from a terminal or a CI service; SIGKILL cannot be passed on.
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

// A terminal sends these to the whole foreground process group, including the command.
const TERMINAL_SIGNALS: readonly Deno.Signal[] = ["SIGINT", "SIGQUIT"];

// These do not ask a program to stop.
const USER_SIGNALS: readonly Deno.Signal[] = ["SIGUSR1", "SIGUSR2"];

/**
 * Runs a command with the streams of this process and passes signals on to it.
 *
 * A shell starts it, so that unknown commands and scripts without a `#!` line end as usual.
 *
 * @param options.stdoutTo where its standard output goes
 * @returns `code` as in a shell: 128 plus the signal that ended it, 127 for an unknown command; `signal`
 * is the last signal to stop that was received while it ran, or the one that ended it
 */
export async function runCommand(
  command: readonly string[],
  { stdoutTo }: { stdoutTo: "stdout" | "stderr" },
): Promise<{ code: number; signal: Deno.Signal | null }> {
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
    const { code, signal } = await child.status;
    return { code, signal: received ?? signal };
  } finally {
    stopListening();
  }
}

/** Listens for {@linkcode SIGNALS}; returns a function that stops listening. */
export function onSignals(handle: (signal: Deno.Signal) => void): () => void {
  const listeners = SIGNALS.map((signal) => {
    const listener = () => handle(signal);
    Deno.addSignalListener(signal, listener);
    return () => Deno.removeSignalListener(signal, listener);
  });
  return () => listeners.forEach((remove) => remove());
}
