// Tests: tests/db/write/webhook_events_test.ts
/** The outbox of webhooks: messages are added in the transaction of their event. */
import type { WebhookEvent } from "../../lib/webhook/events.ts";
import type { WebhookItem } from "../../lib/webhook/message.ts";
import { OWNER_TAG } from "../../lib/analysis/test_tags.ts";
import { formatRepositoryName, type RepositoryName } from "../../lib/base/repository_name.ts";
import { integersIn, type Queryable } from "../connection/sql.ts";

/** The repository of an event. */
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

/** The owners of tests, from their `owner:` tags, sorted, by test_no. */
export async function loadOwnersOfTests(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: readonly number[] },
): Promise<Map<number, string[]>> {
  const rows = await sql<{ testNo: number; owner: string }[]>`
    select t.test_no as "testNo", substr(g.tag, ${OWNER_TAG.length + 1}::int) as owner
    from test_tag g, unnest(${integersIn(sql, testNos)}) as t(test_no)
    where g.repository_id = ${repositoryId} and starts_with(g.tag, ${OWNER_TAG})
      and g.tests @> t.test_no
    order by g.tag`;
  const owners = Map.groupBy(rows, ({ testNo }) => testNo);
  return new Map([...owners].map(([testNo, tags]) => [testNo, tags.map(({ owner }) => owner)]));
}
