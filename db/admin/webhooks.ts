// Tests: tests/lib/cli/commands/webhook_test.ts tests/lib/webhook_sender/send_webhooks_test.ts
/** The webhooks of organizations. Only {@linkcode ../admin/webhook_deliveries.ts} reads their secrets. */
import type { WebhookEvent } from "../../lib/webhook/events.ts";
import type { WebhookFormat } from "../../lib/webhook/message.ts";
import { type Queryable, textArray } from "../connection/sql.ts";
import { isGone } from "./webhook_deliveries.ts";

export interface Webhook {
  organizationId: number;
  webhookId: number;
  url: string;
  events: WebhookEvent[];
  /** `owner/name`; `null`: all repositories. */
  repository: string | null;
  /** Owner of the tests; `null` for all. */
  owner: string | null;
  format: WebhookFormat;
  allowsPrivate: boolean;
  /** Seconds since 1970. */
  createdAt: number;
  /** When its receiver answered that it is gone; `null` unless it did. Seconds since 1970. */
  disabledAt: number | null;
}

/** Adds a webhook, in a transaction. */
export async function insertWebhook(
  tx: Queryable,
  { repositoryId, secret, ...webhook }: Omit<Webhook, "webhookId" | "repository" | "disabledAt"> & {
    repositoryId: number | null;
    secret: string;
  },
): Promise<Webhook> {
  const [row] = await tx<{ webhookId: number }[]>`
    insert into webhook (organization_id, url, secret, events, repository_id, owner, format,
      allows_private, created_at)
    values (${webhook.organizationId}, ${webhook.url}, ${secret}, ${
    textArray(webhook.events)
  }::text[],
      ${repositoryId}::bigint, ${webhook.owner}::text, ${webhook.format}, ${webhook.allowsPrivate},
      to_timestamp(${webhook.createdAt}))
    returning webhook_id as "webhookId"`;
  return (await findWebhook(tx, row!.webhookId))!;
}

/** The webhooks of an organization, oldest first. */
export async function listWebhooks(sql: Queryable, organizationId: number): Promise<Webhook[]> {
  return await sql<Webhook[]>`
    select ${columns(sql)} where w.organization_id = ${organizationId} order by w.webhook_id`;
}

/** A webhook by its id; `null` when it does not exist. */
export async function findWebhook(sql: Queryable, webhookId: number): Promise<Webhook | null> {
  const [row = null] = await sql<Webhook[]>`
    select ${columns(sql)} where w.webhook_id = ${webhookId}`;
  return row;
}

/** Removes a webhook with its deliveries, in a transaction. */
export async function deleteWebhook(
  tx: Queryable,
  { organizationId, webhookId }: Pick<Webhook, "organizationId" | "webhookId">,
): Promise<void> {
  await tx`
    delete from webhook where organization_id = ${organizationId} and webhook_id = ${webhookId}`;
}

/** SQL: the columns of a `Webhook`, and where they come from. */
function columns(sql: Queryable) {
  return sql`w.organization_id as "organizationId", w.webhook_id as "webhookId", w.url,
    array_to_json(w.events) as events, r.owner || '/' || r.name as repository, w.owner, w.format,
    w.allows_private as "allowsPrivate", extract(epoch from w.created_at)::float8 as "createdAt",
    (
      select extract(epoch from max(d.attempted_at))::float8 from webhook_delivery d
      where d.organization_id = w.organization_id and d.webhook_id = w.webhook_id
        and ${isGone(sql)}
    ) as "disabledAt"
    from webhook w
    left join repository r
      on r.organization_id = w.organization_id and r.repository_id = w.repository_id`;
}
