import { randomUUID } from "node:crypto";
import * as v from "valibot";
import { hasChange } from "../../../db/admin/changes.ts";
import {
  listDeliveries,
  loadTarget,
  resendDelivery,
} from "../../../db/admin/webhook_deliveries.ts";
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  type Webhook,
} from "../../../db/admin/webhooks.ts";
import type { Queryable } from "../../../db/connection/sql.ts";
import { writeTransaction } from "../../../db/write/transaction.ts";
import { jsonRecord } from "../../base/json_record.ts";
import { readWith } from "../../base/read_with.ts";
import { formatTimestamp } from "../../base/time.ts";
import { PROGRAM } from "../../base/version.ts";
import { maskUrl, parseWebhookUrl } from "../../webhook/address.ts";
import { OPENING_EVENTS, WEBHOOK_EVENTS, type WebhookEvent } from "../../webhook/events.ts";
import { makeWebhookSecret } from "../../webhook/signature.ts";
import { postMessage } from "../../webhook_sender/post_message.ts";
import { postBody } from "../../webhook_sender/send_webhooks.ts";
import { type AddCommand, command, group } from "../command.ts";
import {
  argument,
  flag,
  oneOf,
  option,
  repositoryName,
  rowId,
  wholeNumber,
} from "../parameters.ts";
import { lineOfText } from "../../base/value_schemas.ts";
import { Failure, UsageError } from "../../base/failure.ts";
import { openOrganization, ORG, requireRepository } from "../organization.ts";

const ID = argument("id, as in `webhook list`", rowId);

const eventList = readWith((text): WebhookEvent[] => {
  const names = text.split(",").map((name) => name.trim()).filter((name) => name !== "");
  const unknown = names.filter((name) => !(WEBHOOK_EVENTS as readonly string[]).includes(name));
  if (unknown.length > 0 || names.length === 0) {
    throw new SyntaxError(
      `invalid events "${unknown.join(",")}": expected some of ${WEBHOOK_EVENTS.join(", ")}`,
    );
  }
  const events = WEBHOOK_EVENTS.filter((name) => names.includes(name));
  for (const event of events) {
    const opening = OPENING_EVENTS[event];
    if (opening && !events.includes(opening)) {
      throw new SyntaxError(`"${event}" is sent after "${opening}": expected this one too`);
    }
  }
  return events;
});

const addCommand = command({
  name: "add",
  summary: "Add a webhook and print the secret that signs its messages; it is not shown again",
  example: "webhook add --org acme --url https://ci.example.com/hooks/flaky",
  moreExamples: [
    "webhook add --url https://hooks.slack.com/T0/x --format slack",
    "webhook add --url https://ci.example.com/pay --owner @acme/pay",
  ],
  details: [`Events: ${WEBHOOK_EVENTS.join(", ")}. \`watch\` and \`up\` send them.`],
  input: {
    org: ORG,
    url: option(
      "<url>",
      "where messages are posted",
      readWith((text) => {
        parseWebhookUrl(text, { allowPrivate: true });
        return text;
      }),
    ),
    events: option("<list>", "events, separated by commas (default: all)", v.optional(eventList)),
    repo: option("<owner/name>", "only of this repository", v.optional(repositoryName)),
    owner: option(
      "<who>",
      "only of tests with this owner, as in CODEOWNERS; leaves out outages",
      v.optional(lineOfText),
    ),
    format: option(
      "<format>",
      "json, or slack for its incoming webhooks (default: json)",
      v.optional(oneOf(["json", "slack"]), "json"),
    ),
    allowPrivate: flag("allow private and local addresses, and http"),
  },
  async run({ org, url: given, events, repo, owner, format, allowPrivate }, context) {
    let url: string;
    try {
      url = parseWebhookUrl(given, { allowPrivate });
    } catch (error) {
      throw error instanceof SyntaxError ? new UsageError(`--url: ${error.message}`) : error;
    }
    if (owner !== undefined && events?.some((event) => event.startsWith("outage."))) {
      throw new UsageError("--events: outages have no owner, expected none of them with --owner");
    }
    const { sql, organization } = await openOrganization(context, org);
    const repository = repo &&
      await requireRepository(sql, organization, repo, { isPreparation: true });
    const secret = makeWebhookSecret();
    const webhook = await writeTransaction(sql, async (tx) => {
      const webhook = await insertWebhook(tx, {
        organizationId: organization.organizationId,
        url,
        secret,
        events: events ??
          WEBHOOK_EVENTS.filter((event) => owner === undefined || !event.startsWith("outage.")),
        repositoryId: repository?.repositoryId ?? null,
        owner: owner ?? null,
        format,
        allowsPrivate: allowPrivate,
        createdAt: context.now,
      });
      await context.logChange(tx, changeOf(webhook));
      return webhook;
    });
    context.note(
      `webhook ${webhook.webhookId} is added: \`${PROGRAM} webhook test ${webhook.webhookId}\` ` +
        "sends a message; `watch` and `up` send events",
    );
    await context.print(secret, { ...webhookRecord(webhook), secret });
  },
});

const listCommand = command({
  name: "list",
  summary:
    "List an organization's webhooks: id, URL (its path is left out), format, events, OWNER/NAME, owner, " +
    "private addresses allowed, created, disabled since",
  example: "webhook list --org acme",
  details: [
    "A receiver that answers HTTP 410 is gone: its webhook is disabled, until `webhook resend`.",
  ],
  input: { org: ORG },
  async run({ org }, context) {
    const { sql, organization } = await openOrganization(context, org);
    const webhooks = await listWebhooks(sql, organization.organizationId);
    await context.printList(webhooks.map(webhookRecord), [
      "webhook_id",
      "url",
      "format",
      { title: "EVENTS", cell: ({ events }) => events.join(",") },
      "repository",
      "owner",
      "allows_private",
      "created_at",
      "disabled_at",
    ], ["webhook_id", "url", "format", "repository", "owner", "disabled_at"]);
  },
});

const removeCommand = command({
  name: "remove",
  summary: "Remove a webhook with its log and its unsent messages, and print its id",
  example: "webhook remove 1",
  input: { webhookId: ID },
  async run({ webhookId }, context) {
    const { sql } = await context.openDatabase();
    const webhook = await writeTransaction(sql, async (tx) => {
      const webhook = await findWebhook(tx, webhookId);
      if (!webhook) {
        const change = { ...context.origin(), subject: String(webhookId) };
        if (await hasChange(tx, change)) return null;
        throw unknownWebhook(webhookId);
      }
      await deleteWebhook(tx, webhook);
      await context.logChange(tx, changeOf(webhook));
      return webhook;
    });
    if (!webhook) context.note(`webhook ${webhookId} is already removed`);
    await context.print(
      String(webhookId),
      webhook ? webhookRecord(webhook) : { webhook_id: webhookId },
    );
  },
});

const logCommand = command({
  name: "log",
  summary:
    "List messages, newest first: id, webhook, webhook-id header, event, OWNER/NAME, tests, status, " +
    "attempts, outcome of the latest, created, attempted, next attempt",
  example: "webhook log --org acme",
  details: ["Messages are kept for 30 days after they were sent."],
  input: {
    org: ORG,
    webhook: option("<id>", "only of this webhook", v.optional(rowId)),
    limit: option(
      "<n>",
      "maximum number of messages (default: 100)",
      v.optional(wholeNumber({ min: 1, max: 10_000 }), "100"),
    ),
  },
  async run({ org, webhook, limit }, context) {
    const { sql, organization: { organizationId } } = await openOrganization(context, org);
    if (webhook !== undefined) await requireWebhook(sql, webhook, organizationId);
    const scope = { organizationId, webhookId: webhook ?? null, limit };
    const deliveries = await listDeliveries(sql, scope);
    await context.printList(
      deliveries.map(jsonRecord),
      undefined,
      ["delivery_id", "event", "repository", "status", "attempt_count", "outcome", "created_at"],
    );
  },
});

const resendCommand = command({
  name: "resend",
  summary: "Send a message of `webhook log` again, with the same webhook-id; print its id",
  details: ["Enables a webhook that was disabled because its receiver was gone."],
  example: "webhook resend 1",
  input: {
    deliveryId: argument(
      "id, as in `webhook log`",
      wholeNumber({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    ),
  },
  async run({ deliveryId }, context) {
    const { sql } = await context.openDatabase();
    const { now } = context;
    if (!await writeTransaction(sql, (tx) => resendDelivery(tx, { deliveryId, now }))) {
      throw new Failure(
        `message ${deliveryId} is unknown: \`${PROGRAM} webhook log --org NAME\` shows all`,
      );
    }
    await context.print(String(deliveryId), { delivery_id: deliveryId });
  },
});

const testCommand = command({
  name: "test",
  summary: "Send a test message now and print the outcome; exit code 1 unless it was accepted",
  example: "webhook test 1",
  input: { webhookId: ID },
  async run({ webhookId }, context) {
    const { sql } = await context.openDatabase();
    const target = await loadTarget(sql, webhookId);
    if (!target) throw unknownWebhook(webhookId);
    const { now } = context;
    const body = target.format === "slack" ? { text: "Test message of test-analytics" } : {
      type: "webhook.test",
      timestamp: formatTimestamp(now),
      data: { organization: target.organization },
    };
    const { isDelivered, outcome } = await postBody(postMessage, target, {
      messageId: `msg_${randomUUID().replaceAll("-", "")}`,
      body: JSON.stringify(body),
      attemptCount: 1,
      now,
    });
    if (!isDelivered) throw new Failure(`not delivered: ${outcome}`);
    await context.print(outcome, { webhook_id: webhookId, outcome });
  },
});

/** JSON of a webhook, without its secret and the path of its URL, which often is one. */
function webhookRecord({ organizationId: _, url, ...webhook }: Webhook) {
  const { webhookId, format, events, repository, owner, allowsPrivate } = webhook;
  const { createdAt, disabledAt } = webhook;
  const { webhook_id, ...record } = jsonRecord({
    webhookId,
    format,
    events,
    repository,
    owner,
    allowsPrivate,
    createdAt,
    disabledAt,
  });
  return { webhook_id, url: maskUrl(url), ...record };
}

function changeOf({ organizationId, webhookId, url, format, events, repository, owner }: Webhook) {
  const detail = { url: maskUrl(url), format, events: events.join(","), repository, owner };
  return { organizationId, subject: String(webhookId), detail };
}

async function requireWebhook(
  sql: Queryable,
  webhookId: number,
  organizationId: number,
): Promise<void> {
  const webhook = await findWebhook(sql, webhookId);
  if (webhook?.organizationId !== organizationId) throw unknownWebhook(webhookId);
}

function unknownWebhook(webhookId: number): Failure {
  return new Failure(
    `webhook ${webhookId} is unknown: \`${PROGRAM} webhook list --org NAME\` shows all`,
  );
}

export const webhookCommands: AddCommand = group({
  name: "webhook",
  summary: "Add, list, remove and test webhooks, and show what was sent to them",
  example: "webhook list --org acme",
  commands: [addCommand, listCommand, removeCommand, logCommand, resendCommand, testCommand],
});
