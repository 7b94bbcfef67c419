import type { Environment } from "../base/config.ts";
import { pause } from "../base/delay.ts";
import { isTelemetryOn } from "./log_output.ts";
import { processIo } from "./process_io.ts";
import { runCli } from "./program.ts";

/** With telemetry: how long open requests and statements may delay the exit. */
const DRAIN_TIMEOUT_MS = 1_000;

/** Lets the event loop observe the gauges before `Deno.exit`. */
const FLUSH_TIMEOUT_MS = 50;

/** Runs the command line of this process to its end. */
export async function main(): Promise<void> {
  const io = processIo();
  endProcess(await runCli(Deno.args, io), io.environment);
}

/**
 * Ends the process with an exit code. With telemetry `Deno.exit` can block for ever: it waits for
 * the exporter, which waits for this thread to observe its gauges. A process that ends because its
 * event loop is empty drops the gauges first, so `Deno.exit` is only the fallback after a timeout.
 */
function endProcess(code: number, environment: Environment): void {
  if (!isTelemetryOn(environment)) Deno.exit(code);
  Deno.exitCode = code;
  Deno.unrefTimer(setTimeout(async () => {
    await pause(FLUSH_TIMEOUT_MS);
    Deno.exit(code);
  }, DRAIN_TIMEOUT_MS));
}
