// Tests: tests/lib/api_client/client_test.ts tests/lib/system/output_queue_test.ts
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

/** Whether some work finishes in time; throws what it throws. */
export async function isDoneWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const { promise: timeout, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), timeoutMs);
  try {
    return await Promise.race([work.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
