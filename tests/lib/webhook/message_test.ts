import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { WEBHOOK_EVENTS } from "../../../lib/webhook/events.ts";
import { webhookBody, type WebhookMessage } from "../../../lib/webhook/message.ts";

const test = (name: string, more: Record<string, unknown> = {}) => ({
  id: "0123456789abcdef01234567",
  owners: [],
  suite: "",
  class: "",
  name,
  file: "",
  ...more,
});

function message(more: Partial<WebhookMessage> = {}): WebhookMessage {
  return {
    organization: "acme",
    event: "test.flaky",
    createdAt: 1_790_000_000,
    data: { repository: "acme/shop", items: [test("a")] },
    ...more,
  };
}

const slack = (more: Partial<WebhookMessage>, pagesUrl = "") =>
  JSON.parse(webhookBody(message(more), "slack", pagesUrl)).text as string;

describe("a message for Slack", () => {
  it("has one line for each test, with its owners and a link", () => {
    const items = [test("a", { owners: ["@acme/pay"] }), test("b")];
    const data = { repository: "group/sub/shop", message: "Timeout", items };
    assert.equal(
      slack({ data }, "https://tests.example.com"),
      [
        "*2 tests became flaky in `group/sub/shop`* " +
        "<https://tests.example.com/repos/group%2Fsub/shop|open>",
        "• `a` <https://tests.example.com/tests/0123456789abcdef01234567|runs>, `@acme/pay`",
        "• `b` <https://tests.example.com/tests/0123456789abcdef01234567|runs>",
        "Failure: `Timeout`",
      ].join("\n"),
    );
  });

  it("names ten tests at most, and cuts their names", () => {
    const items = Array.from({ length: 12 }, (_, no) => test(`t${no} ${"x".repeat(500)}`));
    const lines = slack({ data: { repository: "acme/shop", items } }).split("\n");
    assert.equal(lines.length, 12);
    assert.equal(lines.at(-1), "• and 2 more");
    assert.ok(lines.every((line) => line.length < 140));
  });

  it("is short enough for Discord, whatever its tests are called", () => {
    const long = "`&<>".repeat(200);
    const item = test(long, { owners: [long], by: long, reason: long, file: long });
    const repository = `acme/${long.slice(0, 60)}`;
    const data = { repository, message: long, items: Array(1_000).fill(item) };
    const text = slack({ data }, `https://${"x".repeat(60)}.example.com`);
    assert.ok(text.length <= 2_000, String(text.length));
    assert.match(text, /• and 1000 more/);
  });

  it("says to which environments a quarantine is limited", () => {
    const item = test("a", { environment: "Windows*", by: "ada" });
    assert.equal(
      slack({ event: "quarantine.added", data: { repository: "acme/shop", items: [item] } }),
      "*1 test quarantined in `acme/shop`*\n• `a`, in `Windows*` only, by `ada`",
    );
  });

  it("is about an outage", () => {
    const item = {
      id: "x",
      owners: [],
      job: "unit",
      environment: "Linux",
      branch: "main",
      ran_test_count: 100,
      failed_test_count: 41,
    };
    const data = { repository: "acme/shop", items: [item] };
    assert.equal(
      slack({ event: "outage.started", data }),
      "*Outage in `acme/shop`*\n41 of 100 tests failed\nJob: `unit`\nEnvironment: `Linux`\n" +
        "Branch: `main`",
    );
  });

  it("has a title for each event, and nothing hostile becomes a mention, link or line", () => {
    const hostile = "<!channel> <@U1> <https://evil.example|x> & `code` *b*\n> quote";
    for (const event of WEBHOOK_EVENTS) {
      const item = test(hostile, {
        owners: [hostile],
        by: hostile,
        reason: hostile,
        job: hostile,
        environment: hostile,
        branch: hostile,
        ran_test_count: 1,
        failed_test_count: 1,
      });
      const text = slack({ event, data: { repository: hostile, message: hostile, items: [item] } });
      assert.doesNotMatch(text, /<|\n> /, event);
      // Nothing but the program's own marks is outside of code.
      const outside = text.split("`").filter((_, index) => index % 2 === 0).join("");
      assert.doesNotMatch(outside, /evil|channel|quote|@/, event);
      assert.match(text, /^\*[A-Z1]/);
    }
  });
});

describe("a message as JSON", () => {
  it("has times as timestamps, and no address without PUBLIC_URL", () => {
    const item = test("a", { by: "ada", expires_at: 1_790_086_400 });
    const data = { repository: "acme/shop", items: [item] };
    const body = JSON.parse(webhookBody(message({ event: "quarantine.added", data }), "json", ""));
    assert.deepEqual(body, {
      type: "quarantine.added",
      timestamp: "2026-09-21T14:13:20Z",
      data: {
        organization: "acme",
        repository: "acme/shop",
        tests: [{ ...item, expires_at: "2026-09-22T14:13:20Z" }],
      },
    });
  });
});
