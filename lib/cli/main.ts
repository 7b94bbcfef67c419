// Tests: tests/deploy/ci_chain_test.ts tests/deploy/ci_test.ts
import process from "node:process";
import { Worker } from "node:worker_threads";
import type { Environment } from "../base/config.ts";
import { pause } from "../base/delay.ts";
import { writeText } from "../system/output_queue.ts";
import { flushStderr, queueStderr, writeToStderr } from "../system/standard_error.ts";
import type { CliIo } from "./io.ts";
import { isTelemetryOn } from "./log_output.ts";
import { runCli } from "./program.ts";

/** With telemetry: how long open requests and statements may delay the exit. */
const TELEMETRY_TIMEOUT_MS = 1_000;

/** Lets the event loop observe the gauges before `Deno.exit`. */
const FLUSH_DELAY_MS = 50;

/** Together with the drain timeouts of a service less than its manager waits. */
const EXPORT_TIMEOUT_MS = 10_000;

/** With this timeout for each export, the last ones, 14 at most, end in time by themselves. */
const SHORT_EXPORT_MS = 1_000;

/** Where the runtime exports to if nothing is set. */
const DEFAULT_ENDPOINT = "http://localhost:4318";

/** Runs the command line of this process to its end. */
export async function main(): Promise<void> {
  const io = processIo();
  const code = await runCli(Deno.args, io);
  await flushStderr();
  await endProcess(code, io.environment);
}

/**
 * Ends the process with an exit code. With telemetry `Deno.exit` can block for ever: it waits for
 * the exporter, which waits for this thread to observe its gauges. A process that ends because its
 * event loop is empty drops the gauges first, but then waits for every last export: with a collector
 * that does not respond, and the standard timeout of 10 s each, for a minute and more.
 */
async function endProcess(code: number, environment: Environment): Promise<void> {
  if (!isTelemetryOn(environment)) Deno.exit(code);
  Deno.exitCode = code;
  const timeoutMs = Number(environment.OTEL_EXPORTER_OTLP_TIMEOUT);
  const isShort = timeoutMs > 0 && timeoutMs <= SHORT_EXPORT_MS;
  // The runtime has read its variables: a timeout that is not set cannot be set any more.
  if (isShort || await isCollectorResponsive(environment)) {
    Deno.unrefTimer(setTimeout(() => exitInTime(code), TELEMETRY_TIMEOUT_MS));
  } else exitInTime(code);
}

/** Whether the collector responds to any request, or refuses it, instead of keeping it waiting. */
async function isCollectorResponsive(
  { OTEL_EXPORTER_OTLP_ENDPOINT }: Environment,
): Promise<boolean> {
  try {
    const response = await fetch(OTEL_EXPORTER_OTLP_ENDPOINT || DEFAULT_ENDPOINT, {
      signal: AbortSignal.timeout(SHORT_EXPORT_MS),
    });
    await response.body?.cancel();
    return true;
  } catch (error) {
    return (error as Error).name !== "TimeoutError";
  }
}

/** Ends the process with a last export; by SIGALRM, from a thread that is not blocked, when that hangs. */
async function exitInTime(code: number): Promise<void> {
  const kill = `setTimeout(() => Deno.kill(Deno.pid, "SIGALRM"), ${EXPORT_TIMEOUT_MS})`;
  new Worker(kill, { eval: true });
  await pause(FLUSH_DELAY_MS);
  Deno.exit(code);
}

// A wrapper (npx, deno task, timeout) forwards the signal that the terminal has sent to both.
const SAME_SIGNAL_MS = 200;

/** The streams, environment, clock and signals of this process. */
function processIo(): CliIo {
  const stop = new AbortController();
  const stopAtOnce = new AbortController();
  let firstAt = 0;
  const onSignal = () => {
    if (!stop.signal.aborted) {
      firstAt = performance.now();
      stop.abort();
    } else if (performance.now() - firstAt > SAME_SIGNAL_MS) stopAtOnce.abort();
  };
  let listening = false;
  return {
    ...standardOutput(),
    stderr: writeToStderr,
    queueStderr,
    environment: process.env,
    now: () => Math.floor(Date.now() / 1000),
    stderrIsTerminal: Deno.stderr.isTerminal(),
    // Some pseudo-terminals report 0 columns.
    ...Deno.stdout.isTerminal() && { columns: Deno.consoleSize().columns || 80 },
    // A command that does not use `stop` is ended by a signal, as usual.
    get stop() {
      if (!listening) {
        listening = true;
        for (const signal of ["SIGINT", "SIGTERM"] as const) {
          Deno.addSignalListener(signal, onSignal);
        }
      }
      return stop.signal;
    },
    stopAtOnce: stopAtOnce.signal,
    async openDatabase(location, options) {
      // Commands that need no database start sooner without it.
      const { openCurrentDatabase } = await import("./database.ts");
      return await openCurrentDatabase(location, options);
    },
  };
}

function standardOutput(): Required<Pick<CliIo, "stdout" | "isStdoutClosed">> {
  let isClosed = false;
  return {
    isStdoutClosed: () => isClosed,
    async stdout(text) {
      if (isClosed) return;
      try {
        await writeText(text, (bytes) => Deno.stdout.write(bytes));
      } catch (error) {
        // As in `... | head -1`.
        if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
        isClosed = true;
      }
    },
  };
}
