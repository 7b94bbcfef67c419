/** How the process ends once its command is done. */
import type { Environment } from "../base/config.ts";
import { pause } from "../base/delay.ts";
import { isTelemetryOn } from "./log_output.ts";

/**
 * How long what is still at work may hold up the end, in milliseconds, when telemetry is on: after a
 * second signal that are requests and statements which were given up.
 */
const LAST_RESORT_MS = 1_000;

/** What the event loop gets to answer what others asked of it while it was busy. */
const LAST_TURNS_MS = 50;

/**
 * Ends the process with an exit code.
 *
 * With telemetry, `Deno.exit` can wait for ever: it blocks this thread until all is exported, while
 * the exporter waits for this thread to observe its gauges. A process that runs out of work lets go
 * of the gauges first. Should something be left that keeps it at work, `Deno.exit` is the last
 * resort, at a moment when the gauges are most likely observed.
 */
export function endProcess(code: number, environment: Environment): void {
  if (!isTelemetryOn(environment)) Deno.exit(code);
  Deno.exitCode = code;
  Deno.unrefTimer(setTimeout(async () => {
    await pause(LAST_TURNS_MS);
    Deno.exit(code);
  }, LAST_RESORT_MS));
}
