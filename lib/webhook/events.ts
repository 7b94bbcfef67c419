// Tests: tests/lib/webhook/message_test.ts tests/lib/webhook/rules_test.ts
/** The events of webhooks, and the hysteresis that keeps a test that comes and goes from filling a channel. */
import { SECONDS_PER_DAY, WINDOW_SECONDS } from "../base/time.ts";

export const WEBHOOK_EVENTS = [
  "test.flaky",
  "test.calm",
  "quarantine.added",
  "quarantine.removed",
  "quarantine.ending",
  "outage.started",
  "outage.ended",
] as const;

export type WebhookEvent = typeof WEBHOOK_EVENTS[number];

/** Events that are sent only after another one about the same subject. */
export const OPENING_EVENTS: Partial<Record<WebhookEvent, WebhookEvent>> = {
  "test.calm": "test.flaky",
  "outage.ended": "outage.started",
};

/**
 * A test is announced as flaky when it reaches both in the window, mass failures left out. Chosen by simulation:
 * docs/guides/webhooks.md.
 */
export const FLAKY_SINCE = { disruptions: 3, codeVersions: 3 };

/** It is announced as calm after this long without a failure and this many passes: silence is not a pass. */
export const CALM_AFTER = { quietSeconds: WINDOW_SECONDS, passes: 10 };

/** An outage is over after this many consecutive builds of its job without a mass failure, in any shard. */
export const OUTAGE_ENDS_AFTER_BUILDS = 3;

/** How long before its end a quarantine is announced as ending, at most half of its length. */
const ENDING_NOTICE_SECONDS = 7 * SECONDS_PER_DAY;

export interface WindowDisruption {
  codeVersion: string;
  /** Whether the upload that is being stored has made it one. */
  isNew: boolean;
}

/** Whether the new ones among the disruptions of a test make it flaky. */
export function becomesFlaky(disruptions: readonly WindowDisruption[]): boolean {
  return isFlaky(disruptions) && !isFlaky(disruptions.filter(({ isNew }) => !isNew));
}

function isFlaky(disruptions: readonly WindowDisruption[]): boolean {
  const codeVersions = new Set(disruptions.map(({ codeVersion }) => codeVersion));
  return disruptions.length >= FLAKY_SINCE.disruptions &&
    codeVersions.size >= FLAKY_SINCE.codeVersions;
}

/** When a quarantine is announced as ending; all in seconds since 1970. */
export function endingNoticeAt(
  { quarantinedAt, quarantineExpiresAt }: { quarantinedAt: number; quarantineExpiresAt: number },
): number {
  const half = (quarantineExpiresAt - quarantinedAt) / 2;
  return quarantineExpiresAt - Math.min(ENDING_NOTICE_SECONDS, half);
}
