/** The bodies of messages, as JSON or for Slack. */
import { sayLimit } from "../analysis/quarantine.ts";
import { repositoryPage } from "../base/repository_name.ts";
import { cutText, fullTestName, plural, slackCode, slackLink } from "../base/text.ts";
import { formatTimestamp } from "../base/time.ts";
import type { WebhookEvent } from "./events.ts";

/** What an event is about: a test, or a job that has an outage. */
export interface WebhookItem {
  /** Id of the test, or of the outage; messages about one subject are sent in order. */
  id: string;
  owners: readonly string[];
  [field: string]: unknown;
}

/** A message as it is stored. */
export interface WebhookMessage {
  organization: string;
  event: WebhookEvent;
  /** When the event happened, in seconds since 1970. */
  createdAt: number;
  data: { repository: string; items: WebhookItem[]; [field: string]: unknown };
}

export type WebhookFormat = "json" | "slack";

/** Maximum number of tests that a message for people names. */
const MAX_NAMED = 10;
/** Discord, which accepts the body of Slack, takes 2,000. */
const MAX_SLACK_CHARACTERS = 1_900;
/** Longer names are cut. */
const NAME_CHARACTERS = 120;

/**
 * The body of a message: the same for the same message and address.
 * @param pagesUrl address of the pages without a trailing slash; `""`: no links
 */
export function webhookBody(
  message: WebhookMessage,
  format: WebhookFormat,
  pagesUrl: string,
): string {
  return format === "slack" ? slackBody(message, pagesUrl) : jsonBody(message, pagesUrl);
}

function jsonBody({ organization, event, createdAt, data }: WebhookMessage, pagesUrl: string) {
  const { items, ...shared } = data;
  const page = pageOf(data, pagesUrl);
  const subjects = event.startsWith("outage.") ? outageOf(items) : {
    tests: items.map((item) => ({
      ...item,
      ...typeof item.expires_at === "number" && { expires_at: formatTimestamp(item.expires_at) },
      ...pagesUrl !== "" && { web_url: testPage(pagesUrl, item) },
    })),
  };
  return JSON.stringify({
    type: event,
    timestamp: formatTimestamp(createdAt),
    data: { organization, ...shared, ...page !== "" && { web_url: page }, ...subjects },
  });
}

/** An outage has one subject, of which the receiver needs no id. */
function outageOf([item]: WebhookItem[]) {
  const { id: _, owners: __, ...outage } = item!;
  return outage;
}

function slackBody({ event, data }: WebhookMessage, pagesUrl: string): string {
  const { items } = data;
  const page = pageOf(data, pagesUrl);
  const title = `*${titleOf(event, data)}*${page === "" ? "" : ` ${slackLink(page, "open")}`}`;
  if (event.startsWith("outage.")) {
    return JSON.stringify({ text: [title, ...outageLines(items[0]!)].join("\n") });
  }
  const failure = textField(data, "message", (text) => `Failure: ${slackCode(cutText(text, 200))}`);
  const named: string[] = [];
  const textOf = (names: readonly string[]) => {
    const more = items.length - names.length;
    return [title, ...names, ...more > 0 ? [`• and ${more} more`] : [], ...failure].join("\n");
  };
  for (const item of items.slice(0, MAX_NAMED)) {
    const next = [...named, `• ${testLine(item, pagesUrl)}`];
    if (textOf(next).length > MAX_SLACK_CHARACTERS) break;
    named.push(next.at(-1)!);
  }
  return JSON.stringify({ text: textOf(named) });
}

function titleOf(event: WebhookEvent, { repository, items }: WebhookMessage["data"]): string {
  const where = slackCode(cutText(repository, 100));
  const tests = plural(items.length, "test");
  switch (event) {
    case "test.flaky":
      return `${tests} became flaky in ${where}`;
    case "test.calm":
      return `${tests} calmed down in ${where}`;
    case "quarantine.added":
      return `${tests} quarantined in ${where}`;
    case "quarantine.removed":
      return `${tests} no longer quarantined in ${where}`;
    case "quarantine.ending":
      return `Quarantine of ${tests} ends soon in ${where}`;
    case "outage.started":
      return `Outage in ${where}`;
    case "outage.ended":
      return `Outage in ${where} is over`;
  }
}

function testLine(item: WebhookItem, pagesUrl: string): string {
  const { suite = "", class: className = "", name = "", file = "" } = item as Record<
    string,
    string
  >;
  const full = fullTestName({ suite, class: className, name, file });
  const link = pagesUrl === "" ? "" : ` ${slackLink(testPage(pagesUrl, item), "runs")}`;
  const facts = [
    ...textField(
      item,
      "environment",
      (text) => sayLimit(cutText(text, NAME_CHARACTERS), slackCode),
    ),
    ...typeof item.expires_at === "number"
      ? [`until ${formatTimestamp(item.expires_at).slice(0, 10)}`]
      : [],
    ...textField(item, "by", (text) => `by ${slackCode(text)}`),
    ...textField(item, "reason", (text) => slackCode(cutText(text, NAME_CHARACTERS))),
    ...item.owners.length > 0 ? [item.owners.map((owner) => slackCode(owner)).join(" ")] : [],
  ];
  return [slackCode(cutText(full, NAME_CHARACTERS)) + link, ...facts].join(", ");
}

function outageLines(item: WebhookItem): string[] {
  return [
    `${item.failed_test_count} of ${item.ran_test_count} tests failed`,
    ...textField(item, "job", (text) => `Job: ${slackCode(text)}`),
    ...textField(item, "environment", (text) => `Environment: ${slackCode(text)}`),
    ...textField(item, "branch", (text) => `Branch: ${slackCode(text)}`),
  ];
}

/** The line of a field, if it has a text. */
function textField(
  fields: Record<string, unknown>,
  name: string,
  line: (text: string) => string,
): string[] {
  const text = fields[name];
  return typeof text === "string" && text !== "" ? [line(text)] : [];
}

function testPage(pagesUrl: string, { id }: WebhookItem): string {
  return `${pagesUrl}/tests/${id}`;
}

/** The page of the build that caused an event, otherwise of the repository. */
function pageOf(
  { repository, items, ...shared }: WebhookMessage["data"],
  pagesUrl: string,
): string {
  if (pagesUrl === "") return "";
  const page = repositoryPage(pagesUrl, repository);
  const build = shared.submission_id ?? items[0]?.submission_id;
  return typeof build === "string" ? `${page}/builds/${build}` : page;
}
