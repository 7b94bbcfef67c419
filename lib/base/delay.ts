import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";

/** Waits for some milliseconds; ends early, without an error, when `stop` is aborted. */
export async function pause(milliseconds: number, stop?: AbortSignal): Promise<void> {
  await wait(milliseconds, undefined, stop && { signal: stop }).catch(() => {});
}

/** Resolves when the signal is aborted. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
