import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describeWithDatabases } from "../../../database.ts";
import { commandLine } from "../run_in_process.ts";

describeWithDatabases("webhook", (database) => {
  const cli = commandLine(database);
  const received: { headers: Headers; body: string }[] = [];
  let status = 200;

  before(async () => {
    for (
      const line of ["org create acme", "org create other", "repo create acme/shop --org acme"]
    ) {
      const { code, stderr } = await cli(line);
      assert.equal(code, 0, stderr);
    }
  });

  /** Runs `body` with the URL of a receiver. */
  async function withReceiver(body: (url: string) => Promise<void>): Promise<void> {
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      async (request) => {
        received.push({ headers: request.headers, body: await request.text() });
        return new Response("x", { status });
      },
    );
    try {
      await body(`http://127.0.0.1:${server.addr.port}/hook/s3cr3t-path-of-the-receiver`);
    } finally {
      await server.shutdown();
    }
  }

  it("adds one and prints its secret, this once", async () => {
    const added = await cli(
      "webhook add --org acme --url https://example.com/hook/s3cr3t-path-of-it",
    );
    assert.equal(added.code, 0, added.stderr);
    assert.match(added.stdout, /^whsec_[A-Za-z0-9+/]{43}=\n$/);
    assert.match(added.stderr, /^webhook \d+ is added: /);
    const listed = await cli("webhook list --org acme --json");
    const [webhook] = JSON.parse(listed.stdout);
    assert.deepEqual(webhook, {
      webhook_id: webhook.webhook_id,
      url: "https://example.com/...f-it",
      format: "json",
      events: [
        "test.flaky",
        "test.calm",
        "quarantine.added",
        "quarantine.removed",
        "quarantine.ending",
        "outage.started",
        "outage.ended",
      ],
      repository: null,
      owner: null,
      allows_private: false,
      created_at: "2026-02-01T12:00:00Z",
      disabled_at: null,
    });
    const log = await cli("org log --org acme");
    const exported = await cli("export --org acme");
    assert.equal(exported.code, 0, exported.stderr);
    for (const text of [listed.stdout, log.stdout, exported.stdout]) {
      assert.doesNotMatch(text, /s3cr3t/);
      assert.ok(!text.includes(added.stdout.trim().slice(6)));
    }
    assert.match(log.stdout, /webhook add/);
    assert.equal((await cli(`webhook remove ${webhook.webhook_id}`)).code, 0);
    assert.equal((await cli("webhook list --org acme")).stdout, "");
    assert.match((await cli("org log --org acme")).stdout, /webhook remove/);
  });

  it("does not show another organization's", async () => {
    const added = JSON.parse(
      (await cli("webhook add --org other --url https://example.com/ --json")).stdout,
    );
    assert.equal((await cli("webhook list --org acme")).stdout, "");
    const log = await cli(`webhook log --org acme --webhook ${added.webhook_id}`);
    assert.equal(log.code, 1);
    assert.match(log.stderr, /webhook \d+ is unknown/);
    assert.equal((await cli("webhook log --org acme")).stdout, "");
  });

  it("sends a signed test message and says what came of it", async () => {
    await withReceiver(async (url) => {
      const add = `webhook add --org acme --allow-private --url ${url}`;
      const { webhook_id, secret } = JSON.parse((await cli(`${add} --json`)).stdout);
      const { code, stdout } = await cli(`webhook test ${webhook_id}`);
      assert.equal(code, 0);
      assert.equal(stdout, "HTTP 200\n");
      const { headers, body } = received.at(-1)!;
      assert.deepEqual(JSON.parse(body), {
        type: "webhook.test",
        timestamp: "2026-02-01T12:00:00Z",
        data: { organization: "acme" },
      });
      const signed = `${headers.get("webhook-id")}.${headers.get("webhook-timestamp")}.${body}`;
      const key = Uint8Array.fromBase64(secret.slice("whsec_".length));
      const signature = createHmac("sha256", key).update(signed).digest("base64");
      assert.equal(headers.get("webhook-signature"), `v1,${signature}`);

      status = 404;
      const refused = await cli(`webhook test ${webhook_id}`);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /^error: not delivered: HTTP 404$/m);
      status = 200;
      const slack = JSON.parse((await cli(`${add} --format slack --json`)).stdout);
      assert.equal((await cli(`webhook test ${slack.webhook_id}`)).code, 0);
      assert.deepEqual(JSON.parse(received.at(-1)!.body), {
        text: "Test message of test-analytics",
      });
    });
  });

  it("goes with its repository", async () => {
    assert.equal((await cli("repo create acme/old --org acme")).code, 0);
    const add = "webhook add --org acme --url https://example.com/ --repo acme/old --json";
    const { repository, webhook_id } = JSON.parse((await cli(add)).stdout);
    assert.equal(repository, "acme/old");
    assert.equal((await cli("repo delete acme/old --org acme --yes")).code, 0);
    assert.match((await cli(`webhook remove ${webhook_id}`)).stderr, /is unknown/);
  });

  it("says what is wrong, and never quotes a URL", async () => {
    const url = "https://example.com/s3cr3t";
    for (
      const [line, code, message] of [
        ["add --org acme", 2, /missing required option '--url <url>'/],
        ["add --org acme --url nonsense", 2, /--url: expected a URL that begins with https:\/\//],
        ["add --org acme --url http://example.com/s3cr3t", 2, /http:\/\/ requires --allow-private/],
        ["add --org acme --url https://127.0.0.1/s3cr3t", 2, /127\.0\.0\.1 is not an address/],
        ["add --org acme --url https://me:s3cr3t@example.com", 2, /without user and password/],
        [
          `add --org acme --url ${url} --events flaky`,
          2,
          /invalid events "flaky": expected some of/,
        ],
        [
          `add --org acme --url ${url} --events test.calm`,
          2,
          /"test.calm" is sent after "test.flaky"/,
        ],
        [
          `add --org acme --url ${url} --owner @pay --events outage.started`,
          2,
          /outages have no owner/,
        ],
        [`add --org acme --url ${url} --format xml`, 2, /expected one of json, slack/],
        [`add --org nobody --url ${url}`, 1, /organization "nobody" is unknown/],
        [`add --org acme --url ${url} --repo acme/nothing`, 1, /"acme\/nothing" is unknown/],
        ["remove 999", 1, /webhook 999 is unknown: .*webhook list/],
        ["test 999", 1, /webhook 999 is unknown/],
        ["resend 999", 1, /message 999 is unknown: .*webhook log/],
        ["remove x", 2, /invalid number "x"/],
      ] as const
    ) {
      const ended = await cli(`webhook ${line}`);
      assert.equal(ended.code, code, line);
      assert.match(ended.stderr, message, line);
      assert.doesNotMatch(ended.stderr, /s3cr3t/, line);
    }
  });
});
