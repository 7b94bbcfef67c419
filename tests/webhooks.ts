/** Uploads, webhooks and what was sent to them, for tests. */
import assert from "node:assert/strict";
import { createOrganization, type Organization } from "../db/admin/organizations.ts";
import { insertWebhook, type Webhook } from "../db/admin/webhooks.ts";
import type { Database } from "../db/connection/connect.ts";
import { writeTransaction } from "../db/write/transaction.ts";
import { SubmissionBuilder } from "../lib/analysis/submission_content.ts";
import { storeUpload } from "../lib/intake/store_upload.ts";
import { WEBHOOK_EVENTS } from "../lib/webhook/events.ts";
import type { PostRequest, PostResult } from "../lib/webhook_sender/post_message.ts";
import { sendWebhooks } from "../lib/webhook_sender/send_webhooks.ts";
import { silentLog } from "./silent_log.ts";

export const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** What was posted, in order. */
interface Posted {
  url: string;
  id: string;
  at: number;
  // deno-lint-ignore no-explicit-any -- tests read it as a receiver does
  body: any;
}

export const ACCEPTED: PostResult = { isDelivered: true, outcome: "HTTP 200", retryAfter: 0 };
export const REFUSED: PostResult = { isDelivered: false, outcome: "HTTP 500", retryAfter: 0 };

/** An organization with a clock, whose messages are posted to `posted`. */
export class WebhookFixture {
  readonly posted: Posted[] = [];
  /** What the receiver responds. */
  respond: (request: PostRequest) => PostResult | Promise<PostResult> = () => ACCEPTED;
  now: number;
  #uploads = 0;
  readonly #urls = new Set<string>();

  private constructor(
    readonly database: Pick<Database, "sql">,
    readonly organization: Organization,
    now: number,
  ) {
    this.now = now;
  }

  static async create(
    database: Pick<Database, "sql">,
    { name, now }: { name: string; now: number },
  ): Promise<WebhookFixture> {
    const creation = { name, purchaseUnitCount: 0, createdAt: now };
    const organization = await createOrganization(database.sql, creation);
    assert.ok(organization);
    return new WebhookFixture(database, organization, now);
  }

  async addWebhook(
    more: Partial<Webhook> & { repositoryId?: number | null } = {},
  ): Promise<Webhook> {
    const { organizationId, name } = this.organization;
    const webhook = await writeTransaction(this.database.sql, (tx) =>
      insertWebhook(tx, {
        organizationId,
        url: `https://${name.replaceAll(" ", "-")}.example.com/`,
        secret: SECRET,
        events: [...WEBHOOK_EVENTS],
        repositoryId: null,
        owner: null,
        format: "json",
        allowsPrivate: false,
        createdAt: this.now,
        ...more,
      }));
    this.#urls.add(webhook.url);
    return webhook;
  }

  /** Uploads tests: by name the conclusions of their attempts, `+` or `-`, and the message after a space. */
  async upload(
    version: string,
    tests: Record<string, string>,
    { repository = "acme/shop", files = [""], ...more }: Partial<
      {
        repository: string;
        branch: string;
        job: string;
        environment: string;
        buildUrl: string;
        recordedAt: number;
        tags: string[];
        /** Each has all tests. */
        files: readonly string[];
      }
    > = {},
  ): ReturnType<typeof storeUpload> {
    const builder = new SubmissionBuilder();
    for (const [name, outcome] of Object.entries(tests)) {
      const [attempts = "", ...words] = outcome.split(" ");
      for (
        const [file, attempt] of files.flatMap((file) => [...attempts].map((one) => [file, one]))
      ) {
        builder.add({
          suite: "",
          class: "",
          name,
          file: file!,
          conclusion: attempt === "+" ? "passing" : "failure",
          durationMicroseconds: 1,
          message: attempt === "+" ? "" : words.join(" ") || `${name} is broken`,
          body: "",
        });
      }
    }
    const [owner = "", name = ""] = repository.split("/");
    return await storeUpload(this.database.sql, this.organization, {
      repository: { owner, name },
      commitOid: version,
      treeOid: null,
      environment: "",
      job: "unit",
      workflow: "",
      shard: "",
      attempt: "",
      runner: "",
      branch: "main",
      buildUrl: "https://ci.example.com/1",
      repositoryUrl: "",
      tags: [],
      recordedAt: this.now,
      ...more,
    }, {
      results: {
        content: builder.finish(),
        reportDigest: String(this.#uploads++).padStart(64, "0"),
        testTags: null,
      },
      coverage: null,
      notes: [],
    }, { now: this.now });
  }

  /** Makes tests flaky: each fails and passes at three commits. */
  async makeFlaky(
    tests: string[],
    more: Parameters<WebhookFixture["upload"]>[2] & { message?: string; from?: number } = {},
  ): Promise<void> {
    const { message = "", from = 1, ...facts } = more;
    const outcomes = Object.fromEntries(tests.map((name) => [name, `-+ ${message}`.trim()]));
    for (let no = from; no < from + 3; no++) {
      await this.upload(String(no).repeat(7).slice(0, 7), outcomes, facts);
    }
  }

  /** Sends what is due at a moment, as `watch` does; returns what was posted. */
  async send(pagesUrl = ""): Promise<Posted[]> {
    const before = this.posted.length;
    await sendWebhooks({
      sql: this.database.sql,
      now: () => this.now,
      log: silentLog,
      pagesUrl,
      post: async (request) => {
        const { url, headers, body } = request;
        // Of another organization in this database.
        if (!this.#urls.has(url)) return ACCEPTED;
        const id = headers["webhook-id"]!;
        this.posted.push({ url, id, at: this.now, body: JSON.parse(body) });
        return await this.respond(request);
      },
    }, { stop: new AbortController().signal, once: true, pollMs: 5 });
    return this.posted.slice(before);
  }

  /** The types and names of the tests of what was posted, such as `test.flaky a b`. */
  async sent(): Promise<string[]> {
    return (await this.send()).map(({ body }) => summary(body));
  }
}

// deno-lint-ignore no-explicit-any -- of either shape
function summary({ type, data }: any): string {
  const names = data.tests?.map(({ name }: { name: string }) => name).sort() ?? [data.job];
  return [type, ...names].join(" ");
}
