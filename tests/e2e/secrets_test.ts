import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { exchange } from "../raw_http.ts";
import { newServiceData, runHere, type ServiceData } from "./prepare.ts";
import { command, run, start } from "./program.ts";

const PASSWORD = "Open-Sesame-0123456789";
const STORAGE_SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY01";

/** Enough characters of a secret to rule out coincidence. */
const PIECE_LENGTH = 12;

describe("what the program writes", () => {
  let data: ServiceData;
  let folder = "";
  let environment: Record<string, string> = {};
  /** Everything that any command wrote, but what it was asked to print. */
  let written = "";
  const secrets: string[] = [PASSWORD, STORAGE_SECRET];

  before(async () => {
    data = await newServiceData();
    folder = data.environment.DATA_DIR;
    environment = { ...data.environment, TEST_ANALYTICS_DEBUG: "1" };
  });
  after(() => data.remove());

  async function cli(args: string[], more: Record<string, string> = {}): Promise<string> {
    const { stdout, stderr } = await runHere(args, { ...environment, ...more });
    written += stderr;
    return stdout;
  }

  /** Runs a command whose output must not have a secret either. */
  async function show(args: string[], more: Record<string, string> = {}): Promise<void> {
    const stdout = await cli(args, more);
    written += stdout;
  }

  /** Asserts that no piece of a secret is in the text, however it is spelled. */
  function assertNoSecret(text: string): void {
    const lower = text.toLowerCase();
    for (const secret of secrets) {
      for (let at = 0; at + PIECE_LENGTH <= secret.length; at += PIECE_LENGTH / 2) {
        const piece = secret.slice(at, at + PIECE_LENGTH).toLowerCase();
        const where = lower.indexOf(piece);
        assert.ok(where < 0, `a secret is in ${JSON.stringify(text.slice(where - 200, where))}`);
      }
    }
  }

  it("has no token in it, however a client sends one", async () => {
    const server = await start(["serve", "--port", "0"], environment);
    await cli(["org", "create", "acme", "--purchase-units", "1"]);
    await cli(["repo", "create", "acme/shop", "--org", "acme"]);
    const token = (await cli(["token", "create", "--org", "acme"])).trim();
    const legacy = (await cli(["token", "create", "--org", "acme", "--legacy"])).trim();
    const upload = (await cli(["token", "create", "--org", "acme", "--upload"])).trim();
    const badge = (await cli([
      ..."token create --org acme --badge --repo acme/shop".split(" "),
    ])).trim();
    const unknown = [`tk_${"0123456789abcdef".repeat(4)}`, "f0e1d2c3b4".repeat(4)];
    const tokens = [token, legacy, upload, badge, ...unknown];
    // The bare digits too: a prefix of a few characters is shown on purpose.
    secrets.push(...tokens.map((each) => each.replace(/^.._/, "").slice(12)));

    for (const each of tokens) {
      const encoded = encodeURIComponent(each).replace("_", "%5F");
      const heads = [
        `GET /api HTTP/1.1\r\nAuthorization: Bearer ${each}`,
        `GET /api HTTP/1.1\r\nAuthorization: token ${each.toUpperCase()}`,
        `GET /api HTTP/1.1\r\nAuthorization: Bearer ${each}\r\nAuthorization: token ${each}`,
        `GET /docs HTTP/1.1\r\nAuthorization: Basic ${btoa(`me:${each}`)}`,
        `GET /${each} HTTP/1.1`,
        `GET /api/${encoded}/x HTTP/1.1\r\nAuthorization: Bearer ${token}`,
        `GET /api/repos/acme/${each}/tests?q=${each} HTTP/1.1\r\nAuthorization: Bearer ${token}`,
        `GET /api/repos/acme/shop/tests?q=${each}&limit=${each} HTTP/1.1\r\nAuthorization: Bearer ${token}`,
        `GET /api?access_token=${each} HTTP/1.1`,
        `GET /api/v1/flaky/badges?repository=shop&token=${each} HTTP/1.1`,
        `GET /api HTTP/1.1\r\nX-Request-Id: ${each}`,
        `GET /api HTTP/1.1\r\nX-Request-Id: id_${each}`,
        `${each} /api HTTP/1.1\r\nAuthorization: Bearer ${token}`,
        `GET http://${each}@x/api HTTP/1.1`,
        `GET /api HTTP/1.1\r\nUser-Agent: ${each}\r\nReferer: http://x/${each}\r\nCookie: t=${each}`,
        `GET /api HTTP/1.1\r\nAuthorization: Bearer ${each} \x00`,
        `GET /%E0%A4%A/${each} HTTP/1.1\r\nAuthorization: Bearer ${token}`,
      ];
      await Promise.all(
        heads.map((head) =>
          exchange(server.url, `${head}\r\nHost: x\r\nConnection: close\r\n\r\n`, {
            patienceMs: 300,
          })
        ),
      );
    }
    // Commands that are given one, rightly or by mistake.
    const hash = createHash("sha256").update(unknown[0]!).digest("hex");
    await show(["token", "import", "--org", "acme", "--hash", hash]);
    await cli(["token", "import", "--org", "acme", "--hash", token]);
    await cli(["token", "import", "--org", "acme", "--hash", hash, "--prefix", token]);
    await show(["token", "list", "--org", "acme", "--json"]);
    await show(["doctor", "--json"]);
    secrets.push(hash);
    const { code, stdout, stderr } = await server.stop("SIGTERM");
    assert.equal(code, 0);
    written += stdout + stderr;
    assert.ok(written.split('"message":"request"').length > 40, "requests were logged");
    assertNoSecret(written);
  });

  it("has no token of an agent in it", async () => {
    const file = join(folder, "token");
    const token = `tk_${"fedcba9876543210".repeat(4)}`;
    secrets.push(token.slice(15));
    await Deno.writeTextFile(file, `${token}\n`);
    const ways: Record<string, string>[] = [
      { PLATFORM_API_TOKEN: token },
      { PLATFORM_API_TOKEN_FILE: file },
    ];
    for (const more of ways) {
      const child = command(["mcp"], {
        environment: { ...environment, PLATFORM_API_URL: "http://127.0.0.1:1", ...more },
      });
      const { code, stdout, stderr } = await child.output();
      assert.equal(code, 0);
      written += new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    }
    assert.match(
      await cli(["mcp"], { PLATFORM_API_TOKEN: token, PLATFORM_API_TOKEN_FILE: file }) + written,
      /PLATFORM_API_TOKEN and PLATFORM_API_TOKEN_FILE: expected only one of them/,
    );
    assertNoSecret(written);
  });

  it("has no password of a database and no secret of a storage in it", async () => {
    const url = `postgres://u:${PASSWORD}@127.0.0.1:1/d`;
    const file = join(folder, "url");
    await Deno.writeTextFile(file, `${url}\n`);
    const ways: Record<string, string>[] = [{ DATABASE_URL: url }, { DATABASE_URL_FILE: file }];
    await Promise.all(ways.map(async (more) => {
      await show(["org", "list"], more);
      await show(["doctor"], more);
    }));
    await Promise.all(ways.map((more) => cli(["serve"], { ...more, DATABASE_WAIT_SECONDS: "1" })));
    await cli(["org", "list"], { DATABASE_URL: `postgres://u:${PASSWORD}%@h/d` });
    await cli(["org", "list"], { DATABASE_URL: url, DATABASE_URL_FILE: file });
    const storage = {
      AWS_ACCESS_KEY_ID: "AKIAIOSFODNN7EXAMPLE",
      AWS_SECRET_ACCESS_KEY: STORAGE_SECRET,
      AWS_ENDPOINT_URL: "http://127.0.0.1:1",
    };
    const report = join(folder, "report.xml");
    await Deno.writeTextFile(report, `<testsuite name="s"><testcase name="t"/></testsuite>`);
    await Promise.all([
      "watch s3://bucket/acme --org acme --once",
      `upload --to s3://bucket/acme --repo acme/shop --commit c0ffee0 ${report}`,
    ].map((line) => cli(line.split(" "), storage)));
    assert.match(written, /cannot be used: nothing listens there/);
    assertNoSecret(written);
  });

  it("has no secret and no address of a webhook in it", async () => {
    // The commands share the database that it has opened.
    const server = await start(["serve", "--port", "0"], environment);
    const path = "T0AB12CD3EF/B4567GH89IJ/kLmNoPqRsTuVwXyZ01";
    const report = join(folder, "webhook.xml");
    await Deno.writeTextFile(report, `<testsuite name="s"><testcase name="hooked"/></testsuite>`);
    await cli(["org", "create", "hooks"]);
    const line = `webhook add --org hooks --allow-private --url http://127.0.0.1:1/${path}`;
    const secret = (await cli(line.split(" "))).trim();
    assert.match(secret, /^whsec_/);
    // The last four characters of an address are shown.
    secrets.push(secret.slice("whsec_".length), path.slice(0, -4));
    await cli(["ingest", "--org", "hooks", "--repo", "hooks/a", "--commit", "c0ffee1", report]);
    const flags = ["--org", "hooks", "--json"];
    const [hook] = JSON.parse(await cli(["webhook", "list", ...flags]));
    const archive = (await cli(["export", "--org", "hooks"])).split("\n").map((text) =>
      text && JSON.parse(text)
    );
    const { id } = archive.find(({ type }) => type === "test");
    await cli(["quarantine", "add", id]);
    const source = await Deno.makeTempDir();
    const watch = await run(["watch", source, "--once"], { ...environment, LOG_LEVEL: "info" });
    await Deno.remove(source);
    assert.match(watch.stderr, /webhook will be retried.*ECONNREFUSED/);
    written += watch.stderr + watch.stdout;
    const bad = `webhook add --org hooks --url http://127.0.0.1:1/${path} --events x`;
    for (
      const args of [
        bad.split(" "),
        ["webhook", "test", String(hook.webhook_id)],
        ["webhook", "list", ...flags],
        ["webhook", "log", ...flags],
        ["org", "log", ...flags],
        ["export", "--org", "hooks"],
        ["doctor"],
        ["webhook", "remove", String(hook.webhook_id)],
        ["webhook", "remove", String(hook.webhook_id)],
      ]
    ) written += await cli(args);
    const { code, stdout, stderr } = await server.stop("SIGTERM");
    assert.equal(code, 0);
    written += stdout + stderr;
    assertNoSecret(written);
  });
});
