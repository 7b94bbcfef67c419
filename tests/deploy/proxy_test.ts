import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { type Demo, serveDemo } from "../e2e/demo.ts";
import { waitUntil } from "../wait_until.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => Deno.readTextFile(join(ROOT, path));

/** The first code block of a language in the proxy guide, or below one of its headings. */
async function snippet(language: string, heading = ""): Promise<string> {
  const guide = await read("docs/guides/reverse_proxy.md");
  const below = heading === "" ? guide : guide.split(`\n## ${heading}\n`)[1] ?? "";
  return new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(below)?.[1] ?? "";
}

/** The path of a program, `""` when it is not installed. */
function pathOf(name: string): string {
  for (const folder of ["/usr/sbin", "/usr/bin", "/usr/local/bin"]) {
    try {
      Deno.statSync(join(folder, name));
      return join(folder, name);
    } catch {
      // Not in this folder.
    }
  }
  return "";
}

const NGINX = pathOf("nginx");
const CADDY = pathOf("caddy");

describe("the service behind a proxy", { skip: NGINX === "" && CADDY === "" }, () => {
  let folder = "";
  let demo: Demo;
  let token = "";

  before(async () => {
    folder = await Deno.makeTempDir({ prefix: "test-analytics-proxy-" });
    // Started by root, nginx writes bodies to files in it as another user.
    await Deno.chmod(folder, 0o755);
    demo = await serveDemo();
    ({ token } = demo);
    const { success } = await new Deno.Command("openssl", {
      args: [
        ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"],
        ...["-keyout", join(folder, "key.pem"), "-out", join(folder, "cert.pem")],
        ...["-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        ...["-addext", "basicConstraints=critical,CA:FALSE"],
      ],
      stdout: "null",
      stderr: "null",
    }).output();
    assert.ok(success);
  });
  after(async () => {
    await demo.stop();
    await Deno.remove(folder, { recursive: true });
  });

  const service = () => new URL(demo.url).host;

  /** Runs a proxy while `body` sends requests. */
  async function behind(file: string, args: string[], url: string, body: () => Promise<void>) {
    const proxy = new Deno.Command(file, {
      args,
      env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const stderr = new Response(proxy.stderr).text();
    try {
      await untilReachable(url);
      await body();
    } finally {
      proxy.kill("SIGTERM");
      await proxy.status;
      await stderr;
    }
  }

  async function checkPrefix(base: string): Promise<void> {
    const headers = { authorization: `Bearer ${token}` };
    const list = await fetch(`${base}/api/repos/acme/web-shop/tests?limit=1`, { headers });
    const { tests } = await list.json();
    assert.equal(tests.length, 1);
    assert.match(list.headers.get("etag") ?? "", /^(W\/)?"/);
    const openapi = parse(await (await fetch(`${base}/openapi.yaml`, { headers })).text());
    const server = new URL(openapi.servers[0].url, `${base}/openapi.yaml`).href;
    assert.equal(server.replace(/\/$/, ""), base);
    // The owner is group/team: if the proxy decoded the slash, the path would be unknown: 404.
    const nested = `${base}/api/repos/group%2Fteam/web/tests`;
    const posted = await fetch(nested, { method: "POST", headers });
    assert.equal(posted.status, 405);
    await posted.body?.cancel();
    const refused = await fetch(`${base}/api`);
    assert.deepEqual([refused.status, await refused.text()], [401, ""]);
  }

  it("works below a path prefix of nginx", { skip: NGINX === "" }, async () => {
    const port = freePort();
    const location = (await snippet("nginx")).replace("127.0.0.1:8000", service());
    const config = join(folder, "prefix.conf");
    await Deno.writeTextFile(
      config,
      nginxConfig(`server { listen 127.0.0.1:${port}; ${location} }`),
    );
    const base = `http://127.0.0.1:${port}/flaky`;
    await behind(NGINX, nginxArgs(config), `${base}/health`, () => checkPrefix(base));
  });

  it("works below a path prefix of Caddy", { skip: CADDY === "" }, async () => {
    const port = freePort();
    const handle = (await snippet("caddyfile")).replace("127.0.0.1:8000", service());
    const config = join(folder, "Caddyfile.prefix");
    await Deno.writeTextFile(config, `{\nadmin off\n}\nhttp://127.0.0.1:${port} {\n${handle}\n}\n`);
    const base = `http://127.0.0.1:${port}/flaky`;
    const args = ["run", "--adapter", "caddyfile", "--config", config];
    await behind(CADDY, args, `${base}/health`, () => checkPrefix(base));
  });

  /** Sends requests of many callers; some of them hash to the process that is down. */
  async function checkManyCallers(base: string): Promise<void> {
    for (let caller = 0; caller < 20; caller++) {
      const authorization = `Bearer ${caller === 0 ? token : `tk_${caller}`}`;
      const response = await fetch(`${base}/api`, { headers: { authorization } });
      assert.equal(response.status, caller === 0 ? 204 : 401);
      await response.body?.cancel();
    }
  }

  it("works when nginx balances several processes and one is down", {
    skip: NGINX === "",
  }, async () => {
    const port = freePort();
    const upstream = (await snippet("nginx", "Several processes"))
      .replace("127.0.0.1:8000", service()).replace("127.0.0.1:8002", `127.0.0.1:${freePort()}`);
    const config = join(folder, "several.conf");
    await Deno.writeTextFile(
      config,
      nginxConfig(
        `${upstream} server { listen 127.0.0.1:${port}; ` +
          `location / { proxy_pass http://test_analytics; } }`,
      ),
    );
    const base = `http://127.0.0.1:${port}`;
    await behind(NGINX, nginxArgs(config), `${base}/health`, () => checkManyCallers(base));
  });

  it("works when Caddy balances several processes and one is down", {
    skip: CADDY === "",
  }, async () => {
    const port = freePort();
    const site = (await snippet("caddyfile", "Several processes"))
      .replace("127.0.0.1:8000", service()).replace("127.0.0.1:8002", `127.0.0.1:${freePort()}`);
    const config = join(folder, "Caddyfile.several");
    await Deno.writeTextFile(config, `{\nadmin off\n}\nhttp://127.0.0.1:${port} {\n${site}\n}\n`);
    const base = `http://127.0.0.1:${port}`;
    const args = ["run", "--adapter", "caddyfile", "--config", config];
    await behind(CADDY, args, `${base}/health`, () => checkManyCallers(base));
  });

  it("serves TLS with the nginx example", { skip: NGINX === "" }, async () => {
    const [port, plainPort] = [freePort(), freePort()];
    const example = (await read("deploy/nginx.conf"))
      .replace("127.0.0.1:8000", service())
      .replaceAll(/\/etc\/letsencrypt\/\S+\/fullchain\.pem/g, join(folder, "cert.pem"))
      .replaceAll(/\/etc\/letsencrypt\/\S+\/privkey\.pem/g, join(folder, "key.pem"))
      .replaceAll("flaky.example.com", "localhost")
      .replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
      .replace("listen 80;", `listen 127.0.0.1:${plainPort};`);
    const config = join(folder, "tls.conf");
    await Deno.writeTextFile(config, nginxConfig(example));
    const client = Deno.createHttpClient({
      caCerts: [await Deno.readTextFile(join(folder, "cert.pem"))],
    });
    try {
      await behind(NGINX, nginxArgs(config), `http://127.0.0.1:${plainPort}/health`, async () => {
        const response = await fetch(`https://localhost:${port}/api`, {
          client,
          headers: { authorization: `Bearer ${token}` },
        });
        assert.equal(response.status, 204);
        assert.match(response.headers.get("strict-transport-security") ?? "", /max-age/);
      });
    } finally {
      client.close();
    }
  });

  /** Servers in place of the API and the door, which answer with their name and the size of the body. */
  async function withFakes(
    body: (address: Record<"api" | "door", string>) => Promise<void>,
  ): Promise<void> {
    const fake = (name: string) =>
      Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
        const { byteLength } = await request.arrayBuffer();
        const organization = request.headers.get("x-organization") ?? "";
        return new Response(`${name} ${byteLength} ${organization}`.trim());
      });
    const servers = { api: fake("api"), door: fake("door") };
    const address = (server: typeof servers.api) => `127.0.0.1:${server.addr.port}`;
    try {
      await body({ api: address(servers.api), door: address(servers.door) });
    } finally {
      await servers.api.shutdown();
      await servers.door.shutdown();
    }
  }

  const MEBIBYTE = 1 << 20;
  /** The largest form that the pages take. */
  const FORM_BYTES = 16 * 1024;

  /** Who answers a POST, with the size of its body; or the status. */
  async function answerOf(url: string, bytes: number, client?: Deno.HttpClient): Promise<string> {
    const response = await fetch(url, {
      method: "POST",
      body: new Uint8Array(bytes),
      ...client && { client },
    });
    const text = await response.text();
    return response.ok ? text : String(response.status);
  }

  it("passes uploads, quarantine, agents and forms of the pages on with the nginx example", {
    skip: NGINX === "",
  }, async () => {
    await withFakes(async ({ api, door }) => {
      const [port, plainPort] = [freePort(), freePort()];
      const example = (await read("deploy/nginx.conf"))
        .replace("127.0.0.1:8000", api).replace("127.0.0.1:8001", door)
        .replaceAll(/\/etc\/letsencrypt\/\S+\/fullchain\.pem/g, join(folder, "cert.pem"))
        .replaceAll(/\/etc\/letsencrypt\/\S+\/privkey\.pem/g, join(folder, "key.pem"))
        .replaceAll("flaky.example.com", "localhost")
        .replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
        .replace("listen 80;", `listen 127.0.0.1:${plainPort};`);
      const config = join(folder, "paths.conf");
      await Deno.writeTextFile(config, nginxConfig(example));
      const client = Deno.createHttpClient({
        caCerts: [await Deno.readTextFile(join(folder, "cert.pem"))],
      });
      const base = `https://localhost:${port}`;
      try {
        await behind(NGINX, nginxArgs(config), `http://127.0.0.1:${plainPort}/health`, async () => {
          for (const path of ["/upload", "/upload/acme/shop", "/quarantine/acme/shop"]) {
            assert.equal(await answerOf(base + path, 3 * MEBIBYTE, client), `door ${3 * MEBIBYTE}`);
          }
          assert.equal(await answerOf(`${base}/mcp`, MEBIBYTE, client), `api ${MEBIBYTE}`);
          assert.equal(await answerOf(`${base}/mcp`, MEBIBYTE + 1, client), "413");
          for (const path of ["/tests/0123456789abcdef01234567/quarantine", "/tokens"]) {
            assert.equal(await answerOf(base + path, FORM_BYTES, client), `api ${FORM_BYTES}`);
            assert.equal(await answerOf(base + path, FORM_BYTES + 1, client), "413");
          }
          assert.equal(await answerOf(`${base}/uploads`, 10, client), "api 10");
        });
      } finally {
        client.close();
      }
    });
  });

  it("asks agents and CI for no password of nginx that signs readers in", {
    skip: NGINX === "",
  }, async () => {
    await withFakes(async ({ api, door }) => {
      const port = freePort();
      await Deno.writeTextFile(join(folder, "htpasswd"), "ada:{PLAIN}secret\n");
      const locations = (await snippet("nginx", "Signing readers in"))
        .replaceAll("127.0.0.1:8000", api).replaceAll("127.0.0.1:8001", door)
        .replace("/etc/nginx/htpasswd", join(folder, "htpasswd"));
      const config = join(folder, "signed_in.conf");
      await Deno.writeTextFile(
        config,
        nginxConfig(`server { listen 127.0.0.1:${port}; ${locations} }`),
      );
      const base = `http://127.0.0.1:${port}`;
      await behind(NGINX, nginxArgs(config), `${base}/api/`, async () => {
        assert.equal(await answerOf(`${base}/mcp`, MEBIBYTE), `api ${MEBIBYTE}`);
        assert.equal(await answerOf(`${base}/api/repos`, 0), "api 0");
        assert.equal(await answerOf(`${base}/upload`, 2 * MEBIBYTE), `door ${2 * MEBIBYTE}`);
        assert.equal(await answerOf(`${base}/quarantine/acme/shop`, 10), "door 10");
        assert.equal(await answerOf(`${base}/repos`, 0), "401");
        const signedIn = await fetch(`${base}/repos`, {
          headers: { authorization: `Basic ${btoa("ada:secret")}` },
        });
        assert.equal(await signedIn.text(), "api 0 acme");
      });
    });
  });

  it("has a valid Caddy example", { skip: CADDY === "" }, async () => {
    const { success, stderr } = await new Deno.Command(CADDY, {
      args: ["validate", "--adapter", "caddyfile", "--config", join(ROOT, "deploy/Caddyfile")],
      env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
  });

  function nginxConfig(http: string): string {
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${join(folder, name)};`).join("\n");
    return `daemon off; pid ${join(folder, "nginx.pid")}; error_log stderr; events {}
http { access_log off; ${paths} ${http} }\n`;
  }

  function nginxArgs(config: string): string[] {
    return ["-p", folder, "-e", "stderr", "-c", config];
  }
});

async function untilReachable(url: string): Promise<void> {
  const responds = () =>
    fetch(url, { redirect: "manual" }).then(async ({ body }) => {
      await body?.cancel();
      return true;
    }, () => false);
  await waitUntil(`${url} responds`, responds, { pauseMs: 100, deadlineMs: 10_000 });
}

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}
