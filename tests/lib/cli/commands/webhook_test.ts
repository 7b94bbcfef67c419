// More in `fixtures/transcripts/webhook.txt`.
import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describeWithDatabase } from "../../../database.ts";
import { commandLine } from "../run_in_process.ts";

describeWithDatabase("webhook", (database) => {
  const cli = commandLine(database);
  const received: { headers: Headers; body: string }[] = [];
  let status = 200;

  before(async () => {
    const { code, stderr } = await cli("org create acme");
    assert.equal(code, 0, stderr);
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

  it("has a secret and a URL that no list, log or export contains", async () => {
    const added = await cli(
      "webhook add --org acme --url https://example.com/hook/s3cr3t-path-of-it",
    );
    assert.match(added.stdout, /^whsec_[A-Za-z0-9+/]{43}=\n$/);
    for (const line of ["webhook list", "webhook list --json", "org log", "export"]) {
      const { code, stdout, stderr } = await cli(`${line} --org acme`);
      assert.equal(code, 0, stderr);
      assert.doesNotMatch(stdout, /s3cr3t/);
      assert.ok(!stdout.includes(added.stdout.trim().slice("whsec_".length)));
    }
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
});
