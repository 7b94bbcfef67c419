// Tests: tests/db/write/webhook_events_test.ts
/** The outbox of webhooks: messages are added in the transaction of their event. */
import type { WebhookEvent } from "../../lib/webhook/events.ts";
import type { WebhookItem } from "../../lib/webhook/message.ts";
import { formatRepositoryName, type RepositoryName } from "../../lib/base/repository_name.ts";
import type { Queryable } from "../connection/sql.ts";

export interface EventRepository extends RepositoryName {
  organizationId: number;
  repositoryId: number;
}

/** An event, of several subjects with one cause. */
interface NewEvent {
  event: WebhookEvent;
  /** In an hour, at most one message of a cause is sent to a webhook. */
  cause: string;
  /** Seconds since 1970. */
  at: number;
  /** What all items have in common. */
  shared?: Record<string, string | number | null>;
  items: WebhookItem[];
}

/** Adds an event to the outbox of each webhook that is for it, in a transaction that has locked the repository. */
export async function addWebhookMessages(
  tx: Queryable,
  repository: EventRepository,
  { event, cause, at, shared = {}, items }: NewEvent,
): Promise<void> {
  if (items.length === 0) return;
  const data = { repository: formatRepositoryName(repository), ...shared };
  await tx`
    select add_webhook_messages(${repository.organizationId}::int,
      ${repository.repositoryId}::bigint, ${event}, ${cause}, to_timestamp(${at}::float8),
      ${JSON.stringify(data)}::text::jsonb, ${JSON.stringify(items)}::text::jsonb)`;
}

/** The events that the webhooks of an organization are for; none without webhooks. */
export async function loadSubscribedEvents(
  sql: Queryable,
  organizationId: number,
): Promise<ReadonlySet<WebhookEvent>> {
  const rows = await sql<{ event: WebhookEvent }[]>`
    select distinct unnest(events) as event from webhook where organization_id = ${organizationId}`;
  return new Set(rows.map(({ event }) => event));
}
