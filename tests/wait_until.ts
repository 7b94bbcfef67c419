import assert from "node:assert/strict";
import { pause } from "../lib/base/delay.ts";

/**
 * Waits until a condition is true, and returns how many milliseconds that took.
 *
 * @param what - the condition as a sentence, such as `the inbox is empty`
 * @throws {assert.AssertionError} with that sentence after a minute, or another deadline: a test that fails
 *   must not wait for ever
 */
export async function waitUntil(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  { pauseMs = 10, deadlineMs = 60_000 }: { pauseMs?: number; deadlineMs?: number } = {},
): Promise<number> {
  const begun = performance.now();
  while (!await isTrue()) {
    assert.ok(performance.now() - begun < deadlineMs, `not within ${deadlineMs} ms: ${what}`);
    await pause(pauseMs);
  }
  return performance.now() - begun;
}
