// Tests: tests/lib/webhook/rules_test.ts tests/lib/webhook_sender/send_webhooks_test.ts
/** When a delivery is attempted again. All in seconds. */
import { SECONDS_PER_DAY } from "../base/time.ts";

/** The response of a receiver that is gone for good, as Standard Webhooks has it. */
export const GONE = "HTTP 410";

/**
 * The outcome of the message that it was the response to. Not the response alone: that is the outcome of
 * messages from versions that did not disable webhooks, whose receivers may have come back.
 */
export const DISABLED = `${GONE}: the webhook is disabled`;

const FIRST_DELAY = 5;
const GROWTH = 4;
const MAX_DELAY = SECONDS_PER_DAY;

/** After this long a delivery fails for good. */
const RETRY_PERIOD = 3 * SECONDS_PER_DAY;

/**
 * The time until the next attempt: exponential backoff with jitter from 5 s to 24 h, or longer if the
 * receiver asks for it; `null` when the period is over.
 */
export function retryDelay(
  { attemptCount, dueAt, now, retryAfter = 0, random = Math.random() }: {
    /** Attempts so far, at least 1. */
    attemptCount: number;
    dueAt: number;
    now: number;
    /** The header `Retry-After` of the response. */
    retryAfter?: number;
    /** From 0 to 1. */
    random?: number;
  },
): number | null {
  const left = dueAt + RETRY_PERIOD - now;
  if (left <= 0) return null;
  const backoff = Math.min(FIRST_DELAY * GROWTH ** (attemptCount - 1), MAX_DELAY);
  const delay = Math.min(Math.max(backoff * (1 + random / 10), retryAfter), MAX_DELAY);
  // The last attempt is at the end of the period.
  return Math.min(delay, left);
}
