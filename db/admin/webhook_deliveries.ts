// Tests: tests/lib/cli/commands/webhook_test.ts tests/lib/webhook_sender/send_webhooks_test.ts
/** Deliveries of messages to webhooks: claimed, finished, listed, sent again, deleted. */
import { OPENING_EVENTS, type WebhookEvent } from "../../lib/webhook/events.ts";
import type { WebhookFormat, WebhookMessage } from "../../lib/webhook/message.ts";
import { DISABLED, GONE } from "../../lib/webhook/retry.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { arrayOf, type Queryable, textsIn } from "../connection/sql.ts";

/** Where messages are sent, and what signs them. */
export interface WebhookTarget {
  organizationId: number;
  webhookId: number;
  organization: string;
  url: string;
  secret: string;
  format: WebhookFormat;
  allowsPrivate: boolean;
}

/** A message that is about to be attempted. */
export interface ClaimedDelivery extends WebhookTarget, WebhookMessage {
  deliveryId: number;
  /** The same in every attempt. */
  messageId: string;
  /** With the one that begins now. */
  attemptCount: number;
  /** When it was to be sent first, in seconds since 1970. */
  dueAt: number;
  /** Whether the receiver of an earlier message answered that it is gone: nothing is sent then. */
  isDisabled: boolean;
}

/**
 * Claims the next delivery for an attempt; `null` when none is due. Messages about one subject follow each
 * other: an earlier one that is pending keeps later ones back. The claim is an attempt: a process that is
 * killed leaves it to the next after `leaseSeconds`.
 */
export async function claimDelivery(
  sql: Queryable,
  { now, leaseSeconds, busy }: {
    now: number;
    /** Longer than an attempt takes. */
    leaseSeconds: number;
    /** Ids of webhooks that something is being sent to. */
    busy: Iterable<number>;
  },
): Promise<ClaimedDelivery | null> {
  const [row = null] = await sql<ClaimedDelivery[]>`
    with claimed as (
      select d.organization_id, d.delivery_id from webhook_delivery d
      where d.status = 'pending' and d.next_attempt_at <= to_timestamp(${now}::float8)
        and d.webhook_id <> all(${arrayOf(busy)}::text::int[])
        and not exists (
          select from webhook_delivery e
          where e.organization_id = d.organization_id and e.webhook_id = d.webhook_id
            and e.status = 'pending' and e.delivery_id < d.delivery_id
            and e.subjects && d.subjects)
      order by d.next_attempt_at, d.delivery_id
      limit 1
      for update of d skip locked
    )
    update webhook_delivery d
    set attempt_count = d.attempt_count + 1, attempted_at = to_timestamp(${now}::float8),
      next_attempt_at = to_timestamp(${now + leaseSeconds}::float8), outcome = 'no response yet'
    from claimed c, webhook w, organization o
    where d.organization_id = c.organization_id and d.delivery_id = c.delivery_id
      and w.organization_id = d.organization_id and w.webhook_id = d.webhook_id
      and o.organization_id = d.organization_id
    returning d.organization_id as "organizationId", d.webhook_id as "webhookId",
      o.name as organization, w.url, w.secret, w.format, w.allows_private as "allowsPrivate",
      d.delivery_id::float8 as "deliveryId", d.message_id as "messageId", d.event, d.data,
      d.attempt_count as "attemptCount", extract(epoch from d.created_at)::float8 as "createdAt",
      extract(epoch from d.due_at)::float8 as "dueAt",
      exists (
        select from webhook_delivery e
        where e.organization_id = d.organization_id and e.webhook_id = d.webhook_id
          and ${isGone(sql, sql`e`)}
      ) as "isDisabled"`;
  return row;
}

/** Records the outcome of an attempt, unless another has begun since. */
export async function finishDelivery(
  sql: Queryable,
  { organizationId, deliveryId, attemptCount }: ClaimedDelivery,
  { status, outcome, nextAttemptAt }: {
    status: "pending" | "delivered" | "failed";
    /** Such as `HTTP 200`. */
    outcome: string;
    /** Seconds since 1970, of one that stays pending. */
    nextAttemptAt: number | null;
  },
): Promise<void> {
  await sql`
    update webhook_delivery
    set status = ${status}, outcome = ${outcome},
      next_attempt_at = coalesce(to_timestamp(${nextAttemptAt}::float8), next_attempt_at)
    where organization_id = ${organizationId} and delivery_id = ${deliveryId}
      and attempt_count = ${attemptCount} and status = 'pending'`;
}

/** The webhook that a command sends to; `null` when it does not exist. */
export async function loadTarget(sql: Queryable, webhookId: number): Promise<WebhookTarget | null> {
  const [row = null] = await sql<WebhookTarget[]>`
    select w.organization_id as "organizationId", w.webhook_id as "webhookId",
      o.name as organization, w.url, w.secret, w.format, w.allows_private as "allowsPrivate"
    from webhook w join organization o on o.organization_id = w.organization_id
    where w.webhook_id = ${webhookId}`;
  return row;
}

/** A line of the log. Times in seconds since 1970. */
interface Delivery {
  deliveryId: number;
  webhookId: number;
  /** `webhook-id` of the message. */
  messageId: string;
  event: WebhookEvent;
  repository: string;
  /** Number of tests. */
  subjectCount: number;
  status: "pending" | "delivered" | "failed";
  attemptCount: number;
  outcome: string;
  createdAt: number;
  attemptedAt: number | null;
  /** `null` unless pending. */
  nextAttemptAt: number | null;
}

/** The latest deliveries of an organization, newest first. */
export async function listDeliveries(
  sql: Queryable,
  { organizationId, webhookId, limit }: {
    organizationId: number;
    /** `null`: of all webhooks. */
    webhookId: number | null;
    limit: number;
  },
): Promise<Delivery[]> {
  return await sql<Delivery[]>`
    select delivery_id::float8 as "deliveryId", webhook_id as "webhookId",
      message_id as "messageId", event, data->>'repository' as repository,
      cardinality(subjects) as "subjectCount", status, attempt_count as "attemptCount", outcome,
      extract(epoch from created_at)::float8 as "createdAt",
      extract(epoch from attempted_at)::float8 as "attemptedAt",
      case status when 'pending' then extract(epoch from next_attempt_at)::float8 end
        as "nextAttemptAt"
    from webhook_delivery
    where organization_id = ${organizationId}
      and (${webhookId}::int is null or webhook_id = ${webhookId}::int)
    order by delivery_id desc limit ${limit}`;
}

/**
 * Has a delivery sent again, with the same message id, in a transaction; false when it does not exist. Its
 * webhook is enabled.
 */
export async function resendDelivery(
  tx: Queryable,
  { deliveryId, now }: { deliveryId: number; now: number },
): Promise<boolean> {
  const [delivery] = await tx<{ organizationId: number; webhookId: number }[]>`
    update webhook_delivery
    set status = 'pending', due_at = to_timestamp(${now}::float8),
      next_attempt_at = to_timestamp(${now}::float8), outcome = 'to be sent again'
    where delivery_id = ${deliveryId}
    returning organization_id as "organizationId", webhook_id as "webhookId"`;
  if (!delivery) return false;
  await tx`
    update webhook_delivery d set outcome = ${`${GONE}, before one was sent again`}
    where d.organization_id = ${delivery.organizationId} and d.webhook_id = ${delivery.webhookId}
      and ${isGone(tx)}`;
  return true;
}

/** SQL: whether the row `d` of `webhook_delivery`, or a row of another name, disables its webhook. */
export function isGone(sql: Queryable, row = sql`d`) {
  return sql`${row}.status = 'failed' and ${row}.outcome = ${DISABLED}`;
}

/** How long finished deliveries are kept. */
const KEPT_SECONDS = 30 * SECONDS_PER_DAY;

/**
 * Deletes old deliveries. The hysteresis needs two kinds for longer: beginnings of what has not
 * ended for one of their subjects, and the ends that other subjects of theirs had since. What disables
 * its webhook is kept as well.
 */
export async function deleteOldDeliveries(sql: Queryable, now: number): Promise<number> {
  const openings = () => textsIn(sql, Object.values(OPENING_EVENTS));
  const { count } = await sql`
    delete from webhook_delivery d
    where d.status <> 'pending' and not (${isGone(sql)}) and d.created_at < to_timestamp(${
    now - KEPT_SECONDS
  }::float8)
      and not (
        d.event = any(${openings()})
        and exists (
          select from unnest(d.subjects) as s(subject)
          where not exists (
            select from webhook_delivery e
            where e.organization_id = d.organization_id and e.webhook_id = d.webhook_id
              and e.delivery_id > d.delivery_id and e.subjects @> array[s.subject]
              and split_part(e.event, '.', 1) = split_part(d.event, '.', 1))))
      and not (
        d.event = any(${textsIn(sql, Object.keys(OPENING_EVENTS))})
        and exists (
          select from webhook_delivery e
          where e.organization_id = d.organization_id and e.webhook_id = d.webhook_id
            and e.delivery_id < d.delivery_id and e.subjects && d.subjects
            and e.event = any(${openings()})))`;
  return count;
}
