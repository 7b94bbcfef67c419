/** The code of the guide to webhooks, run against fakes. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "@std/testing/bdd";
import { pause } from "../../lib/base/delay.ts";
import { WEBHOOK_EVENTS } from "../../lib/webhook/events.ts";
import { signatureHeaders } from "../../lib/webhook/signature.ts";
import { NO_CI } from "../no_ci.ts";
import { SECRET } from "../webhooks.ts";

const guide = await Deno.readTextFile(new URL("../../docs/guides/webhooks.md", import.meta.url));

/** The code below a heading. */
function codeOf(heading: string): string {
  const section = guide.split(/^## /m).find((text) => text.startsWith(heading));
  assert.ok(section, heading);
  return /^```js\n([^]*?)^```$/m.exec(section)![1]!;
}

type Call = { method: string; path: string; body: Record<string, unknown> };

describe("the guide to webhooks", () => {
  it("lists all events", () => {
    for (const event of WEBHOOK_EVENTS) assert.match(guide, new RegExp(`\\| \`${event}\``));
  });
});

for (
  const [heading, environment] of [
    ["A GitHub issue for each test", { GITHUB_TOKEN: "t", ISSUES: "FAKE/issues" }],
    ["Jira", { JIRA: "FAKE", JIRA_LOGIN: "a:b", JIRA_PROJECT: "SHOP", JIRA_REOPEN: "31" }],
    ["Microsoft Teams", { TEAMS_URL: "FAKE/teams" }],
  ] as const
) {
  describe(`the receiver of the guide to webhooks with: ${heading}`, () => {
    const calls: Call[] = [];
    /** By number: what the fake tracker has. */
    const issues: { number: number; state: string; body: string; labels: string[] }[] = [];
    let folder = "";
    let url = "";
    let fake: Deno.HttpServer<Deno.NetAddr>;
    let receiver: Deno.ChildProcess;
    let count = 0;

    before(async () => {
      fake = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, answer);
      folder = await Deno.makeTempDir();
      await Deno.writeTextFile(join(folder, "receiver.mjs"), codeOf("Verify it"));
      await Deno.writeTextFile(join(folder, "handle.mjs"), codeOf(heading));
      const port = await freePort();
      url = `http://127.0.0.1:${port}/`;
      const filled = Object.entries(environment).map(([name, value]) => [
        name,
        value.replace("FAKE", `http://127.0.0.1:${fake.addr.port}`),
      ]);
      receiver = new Deno.Command(Deno.execPath(), {
        args: ["run", "--quiet", "-A", "--no-config", join(folder, "receiver.mjs")],
        env: {
          ...NO_CI,
          ...Object.fromEntries(filled),
          WEBHOOK_SECRET: SECRET,
          PORT: String(port),
        },
        stdout: "null",
        stderr: "inherit",
      }).spawn();
      for (let tries = 0; tries < 200; tries++) {
        try {
          await (await fetch(url, { method: "POST" })).body?.cancel();
          break;
        } catch {
          await pause(50);
        }
      }
    });
    after(async () => {
      receiver.kill("SIGKILL");
      await receiver.status;
      await fake.shutdown();
      await Deno.remove(folder, { recursive: true });
    });

    async function answer(request: Request): Promise<Response> {
      const { pathname, searchParams } = new URL(request.url);
      const text = await request.text();
      const call = { method: request.method, path: pathname, body: text ? JSON.parse(text) : {} };
      calls.push(call);
      const number = Number(/issues?\/(?:SHOP-)?(\d+)/.exec(pathname)?.[1] ?? 0);
      const found = issues[number - 1];
      if (pathname === "/issues" && call.method === "GET") {
        return Response.json(searchParams.get("page") === "1" ? issues : []);
      }
      if (call.method === "PATCH") return Response.json(Object.assign(found!, call.body));
      if (pathname.endsWith("/search/jql")) {
        const label = String(call.body.jql).split(" ").at(-1)!;
        const hits = issues.filter(({ labels }) => labels.includes(label));
        return Response.json({
          issues: hits.map(({ number, state }) => ({
            key: `SHOP-${number}`,
            fields: { status: { statusCategory: { key: state === "open" ? "new" : "done" } } },
          })),
        });
      }
      if (pathname.endsWith("/transitions")) {
        found!.state = "open";
        return new Response(null, { status: 204 });
      }
      if (pathname === "/teams") return new Response(null, { status: 202 });
      const { body = "", labels } = { ...call.body, ...call.body.fields as object } as {
        body?: string;
        labels: string[];
      };
      const issue = { number: issues.length + 1, state: "open", body, labels };
      issues.push(issue);
      return Response.json(issue, { status: 201 });
    }

    /** Posts a message to the receiver; returns the status. */
    async function post(type: string, names: string[], changes: Record<string, string> = {}) {
      const body = JSON.stringify({
        type,
        data: {
          repository: "acme/shop",
          tests: names.map((name, no) => ({ id: String(no).padStart(24, "0"), name })),
        },
      });
      const timestamp = Math.floor(Date.now() / 1000);
      const messageId = `msg_${count++}`;
      const headers = signatureHeaders({ messageId, timestamp, body, secret: SECRET });
      const response = await fetch(url, {
        method: "POST",
        headers: { ...headers, ...changes },
        body,
      });
      await response.body?.cancel();
      return response.status;
    }

    it("refuses what is not signed, or old", async () => {
      calls.length = 0;
      const wrong: Record<string, string>[] = [
        { "webhook-signature": "" },
        { "webhook-signature": "v1,AAAA" },
        { "webhook-id": "msg_other" },
        { "webhook-timestamp": "1" },
        { "webhook-timestamp": "x" },
      ];
      for (const changes of wrong) {
        assert.equal(await post("test.flaky", ["a"], changes), 401, JSON.stringify(changes));
      }
      assert.deepEqual(calls, []);
    });

    it("makes one of a test, and reopens it instead of making another", async () => {
      assert.equal(await post("test.flaky", ["pays `@all`", "b"]), 204);
      assert.equal(await post("test.flaky", ["pays `@all`", "b"]), 204);
      if (heading === "Microsoft Teams") {
        assert.equal(calls.length, 2);
        const [attachment] = calls[0]!.body.attachments as {
          content: { body: { text: string }[] };
        }[];
        assert.equal(
          attachment!.content.body[0]!.text,
          "**test.flaky** in acme/shop\n- pays  @all \n- b",
        );
        return;
      }
      assert.equal(issues.length, 2);
      if (heading !== "Jira") {
        assert.equal(issues[0]!.body.split("`")[1], "pays '@all'");
        assert.equal(await post("test.calm", ["pays `@all`"]), 204);
      } else issues[0]!.state = "done";
      assert.notEqual(issues[0]!.state, "open");
      assert.equal(await post("test.flaky", ["pays `@all`"]), 204);
      assert.deepEqual(issues.map(({ state }) => state), ["open", "open"]);
    });
  });
}

async function freePort(): Promise<number> {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response(),
  );
  const { port } = server.addr;
  await server.shutdown();
  return port;
}
