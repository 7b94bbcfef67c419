/** The loop of `watch` and `up` that sends what is in the outbox of webhooks. */
import {
  claimDelivery,
  type ClaimedDelivery,
  deleteOldDeliveries,
  finishDelivery,
  type WebhookTarget,
} from "../../db/admin/webhook_deliveries.ts";
import { addTimedEvents } from "../../db/admin/timed_events.ts";
import type { Database } from "../../db/connection/connect.ts";
import { isDoneWithin, pause } from "../base/delay.ts";
import { errorMessage } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { Metrics } from "../base/metrics.ts";
import { PROGRAM } from "../base/version.ts";
import { webhookBody } from "../webhook/message.ts";
import { DISABLED, GONE, retryDelay } from "../webhook/retry.ts";
import { signatureHeaders } from "../webhook/signature.ts";
import { ATTEMPT_TIMEOUT_MS, postMessage, type PostResult } from "./post_message.ts";

/** Attempts at a time, one for each webhook: a receiver that hangs keeps back its own messages alone. */
const CONCURRENT_ATTEMPTS = 10;
const POLL_MS = 2_000;
/** How often events that time causes are looked for. */
const TIMED_EVENTS_MS = 5 * 60_000;
/** After a kill, the attempt is repeated this long after it began. */
const LEASE_SECONDS = 20;
const SHUTDOWN_TIMEOUT_MS = ATTEMPT_TIMEOUT_MS + 1_000;

interface SenderContext {
  sql: Database["sql"];
  /** Seconds since 1970. */
  now(): number;
  log: Log;
  metrics?: Metrics | undefined;
  /** Address of the pages without a trailing slash; `""`: messages have no links. */
  pagesUrl: string;
  post?: typeof postMessage;
}

/**
 * Sends until `stop`, or with `once` what is due now. Each message is sent at least once: the outcome is
 * recorded after the response, and an attempt whose process was killed is repeated with the same id.
 */
export async function sendWebhooks(
  context: SenderContext,
  { stop, once = false, pollMs = POLL_MS }: {
    stop: AbortSignal;
    once?: boolean;
    pollMs?: number;
  },
): Promise<void> {
  const { sql, now, log } = context;
  const running = new Map<number, Promise<void>>();
  let problem = "";
  const attempt = async (work: () => Promise<unknown>) => {
    try {
      await work();
      problem = "";
    } catch (error) {
      // Whatever it is, uploads must go on.
      const message = errorMessage(error);
      if (message !== problem) log.warn("webhooks not sent", { error: message });
      problem = message;
    }
  };
  /** Whether nothing was left to be sent, or being sent. */
  let isDrained = false;
  const sendDue = async () => {
    isDrained = running.size === 0;
    while (running.size < CONCURRENT_ATTEMPTS && !stop.aborted) {
      const busy = [...running.keys()];
      const claim = { now: now(), leaseSeconds: LEASE_SECONDS, busy };
      const delivery = await claimDelivery(sql, claim);
      isDrained = delivery === null && busy.length === 0;
      if (!delivery) return;
      const { webhookId } = delivery;
      const sent = attempt(() => sendDelivery(context, delivery));
      running.set(webhookId, sent.finally(() => running.delete(webhookId)));
    }
  };
  let timedAt = 0;
  while (!stop.aborted) {
    if (performance.now() >= timedAt) {
      await attempt(() => addTimedEvents(sql, now()));
      await attempt(() => deleteOldDeliveries(sql, now()));
      timedAt = performance.now() + TIMED_EVENTS_MS;
    }
    await attempt(sendDue);
    if (once && isDrained) return;
    if (isDrained || running.size > 0) {
      await Promise.race([pause(pollMs, stop), ...running.values()]);
    }
  }
  await isDoneWithin(Promise.all(running.values()), SHUTDOWN_TIMEOUT_MS);
}

/** Attempts a delivery and records the outcome. */
async function sendDelivery(
  { sql, now, log, metrics, pagesUrl, post = postMessage }: SenderContext,
  delivery: ClaimedDelivery,
): Promise<void> {
  const { webhookId, deliveryId, attemptCount, dueAt, messageId, event } = delivery;
  if (delivery.isDisabled) {
    const outcome = `not sent: the webhook is disabled by ${GONE}`;
    return await finishDelivery(sql, delivery, { status: "failed", outcome, nextAttemptAt: null });
  }
  const body = webhookBody(delivery, delivery.format, pagesUrl);
  const { isDelivered, outcome, retryAfter } = await postBody(post, delivery, {
    messageId,
    body,
    attemptCount,
    now: now(),
  });
  const isGone = outcome === GONE;
  const delay = isDelivered || isGone
    ? null
    : retryDelay({ attemptCount, dueAt, now: now(), retryAfter });
  const status = isDelivered ? "delivered" : delay === null ? "failed" : "pending";
  const nextAttemptAt = delay === null ? null : now() + delay;
  await finishDelivery(sql, delivery, {
    status,
    outcome: isGone ? DISABLED : outcome,
    nextAttemptAt,
  });
  metrics?.count("webhook_attempts_total", { outcome: status === "pending" ? "retried" : status });
  const fields = {
    webhook: webhookId,
    delivery: deliveryId,
    event,
    attempt: attemptCount,
    outcome,
  };
  if (status === "delivered") log.info("webhook delivered", fields);
  else if (isGone) {
    const advice = `\`${PROGRAM} webhook resend ${deliveryId}\` enables it`;
    log.warn("webhook disabled: the receiver is gone", { ...fields, advice });
  } else if (delay === null) log.warn("webhook given up", fields);
  else log.warn("webhook will be retried", { ...fields, retry_seconds: Math.round(delay) });
}

/** Signs a body and posts it once. */
export async function postBody(
  post: typeof postMessage,
  { url, allowsPrivate, secret }: Pick<WebhookTarget, "url" | "allowsPrivate" | "secret">,
  { messageId, body, attemptCount, now }: {
    messageId: string;
    body: string;
    attemptCount: number;
    /** Seconds since 1970. */
    now: number;
  },
): Promise<PostResult> {
  const headers = signatureHeaders({ messageId, timestamp: now, body, secret });
  return await post({ url, allowsPrivate, headers, body, attemptCount });
}
