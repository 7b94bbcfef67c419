import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { createClient } from "../../db/connection/client.ts";
import { openDatabase } from "../../db/connection/connect.ts";
import { createPool } from "../../db/connection/pool.ts";
import { connectTo } from "../../db/connection/socket.ts";
import { follow } from "./child.ts";
import { command, run, type Running, start } from "./program.ts";
import { createAcme } from "./prepare.ts";
import { freePort, installedServer, makeOwnServer, type OwnServer } from "./postgres.ts";
import { startTunnel, type Tunnel } from "./tunnel.ts";
import { pause } from "../../lib/base/delay.ts";
import { waitUntil } from "../wait_until.ts";

/** Time within which the service must recover after the server is back; a client may wait for 20 s by default. */
const RECOVERY_MS = 9_000;

/** Makes a certificate for a server, and lets it accept TLS. */
async function enableTls({ url }: OwnServer): Promise<void> {
  const { sql, close } = await openDatabase({ databaseUrl: url, dataDir: "" });
  const [row] = await sql<{ folder: string }[]>`
    select current_setting('data_directory') as folder`;
  const [key, certificate] = ["server.key", "server.crt"].map((name) => join(row!.folder, name));
  const { success } = await new Deno.Command("openssl", {
    args: [
      ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"],
      ...["-keyout", key!, "-out", certificate!],
    ],
    stderr: "null",
  }).output();
  assert.ok(success);
  const { uid, gid } = await Deno.stat(row!.folder);
  for (const file of [key!, certificate!]) await Deno.chown(file, uid, gid);
  await sql`alter system set ssl = on`;
  await sql`select pg_reload_conf()`;
  await close();
}

describe("an unreachable database", { skip: installedServer() === null }, () => {
  let server: OwnServer;
  let token: string;

  before(async () => {
    server = await makeOwnServer();
    await enableTls(server);
    token = (await createAcme({ DATABASE_URL: server.url })).api;
  });
  after(() => server.remove());

  async function ask(running: Pick<Running, "url">): Promise<{ status: number; body: string }> {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${running.url}/api`, { headers });
    return { status: response.status, body: await response.text() };
  }

  /** Milliseconds until the service recovers without a restart. */
  async function recoveryMs(running: Running): Promise<number> {
    const recovers = async () => {
      const { status } = await ask(running);
      if (status !== 204) assert.equal(status, 500);
      return status === 204;
    };
    return await waitUntil("it recovers", recovers, { pauseMs: 50, deadlineMs: 10_000 });
  }

  for (const [mode, sslmode] of [["fast", "disable"], ["immediate", "require"]] as const) {
    it(`leads to empty 500 responses until it is back, stopped ${mode}, TLS ${sslmode}`, async () => {
      const running = await start(["serve", "--port", "0"], {
        DATABASE_URL: `${server.url}?sslmode=${sslmode}`,
      });
      try {
        assert.deepEqual(await ask(running), { status: 204, body: "" });
        await server.stop(mode);
        for (let count = 0; count < 5; count++) {
          assert.deepEqual(await ask(running), { status: 500, body: "" });
        }
        assert.equal((await fetch(`${running.url}/health`).then((r) => r.json())).status, "ok");
        await server.start();
        const passed = await recoveryMs(running);
        assert.ok(passed < RECOVERY_MS, `it took ${passed} ms`);
      } finally {
        const { code, stderr } = await running.stop("SIGTERM");
        assert.equal(code, 0, stderr);
      }
    });
  }

  it("gets a new client after a connection was lost, under TLS too", async () => {
    const { hostname, port } = new URL(server.url);
    for (const sslmode of ["disable", "require"]) {
      let clients = 0;
      const pool = createPool((options) => {
        clients++;
        return createClient(`${server.url}?sslmode=${sslmode}`, { ...options, max: 1 });
      }, () => connectTo({ host: hostname, port: Number(port) }, 5_000));
      await assert.rejects(async () =>
        await pool.sql`select pg_terminate_backend(pg_backend_pid())`
      );
      const later = async () => [...await pool.sql`select 1 as n`];
      assert.deepEqual(await later().catch(later), [{ n: 1 }]);
      assert.equal(clients, 2, sslmode);
      await pool.close(1);
    }
  });

  describe("that is frozen", () => {
    /** Stops a service whose database froze under a request; `passedMs` counts from the first signal. */
    async function stopFrozen({ signals }: { signals: 1 | 2 }) {
      const tunnel = await startTunnel(new URL(server.url));
      const url = new URL(server.url);
      url.port = String(tunnel.port);
      try {
        const running = await start(["serve", "--port", "0"], { DATABASE_URL: url.href });
        assert.equal((await ask(running)).status, 204);
        tunnel.freeze();
        const hanging = ask(running).catch(() => "cut off");
        await pause(200);
        const begun = performance.now();
        const ending = running.stop("SIGTERM");
        await pause(500);
        if (signals === 2) running.stop("SIGTERM");
        const { code, stderr } = await ending;
        const passedMs = performance.now() - begun;
        assert.match(stderr, /"route":"\/api","status":204/, "earlier log lines are flushed");
        return { code, stderr, passedMs, outcome: await hanging };
      } finally {
        await tunnel.close();
      }
    }

    /** Takes ten seconds, in which the other tests run. */
    let drained: Promise<Awaited<ReturnType<typeof stopFrozen>>>;

    before(() => {
      drained = stopFrozen({ signals: 1 });
      // Reported by the test that awaits it.
      drained.catch(() => {});
    });

    it("leads to timeouts, and is used again afterwards", async () => {
      const tunnel: Tunnel = await startTunnel(new URL(server.url));
      try {
        const url = new URL(server.url);
        url.port = String(tunnel.port);
        const running = await start(["serve", "--port", "0", "--request-timeout-ms", "1000"], {
          DATABASE_URL: url.href,
        });
        try {
          assert.equal((await ask(running)).status, 204);
          tunnel.freeze();
          const begun = performance.now();
          assert.deepEqual(await ask(running), { status: 500, body: "" });
          // Without the option, 30 s.
          assert.ok(performance.now() - begun < 10_000);
          // Open connections stay frozen, as after a failover to another machine.
          tunnel.letNewOnesThrough();
          const passed = await recoveryMs(running);
          assert.ok(passed < RECOVERY_MS, `it took ${passed} ms`);
          // Requests that were given up are logged together, a second later.
          await pause(3_000);
        } finally {
          // A shutdown would wait for the connections that stay frozen.
          const { stderr } = await running.stop("SIGKILL");
          assert.match(stderr, /"requests timed out","count":1,"after_ms":1000/);
        }
      } finally {
        await tunnel.close();
      }
    });

    it("does not prevent shutdown at once after a second signal", async () => {
      const { code, stderr } = await stopFrozen({ signals: 2 });
      // After the drain timeout it would be 0.
      assert.equal(code, 1);
      assert.match(stderr, /\nerror: stopped by a second signal before all work was done\n$/);
    });

    it("does not prevent shutdown after the drain timeout", async () => {
      const { code, stderr, passedMs, outcome } = await drained;
      assert.equal(code, 0, stderr);
      assert.ok(passedMs > 9_000 && passedMs < 20_000, `it took ${passedMs} ms`);
      // Along with the check of the schema it needs a new connection, which times out.
      assert.ok(typeof outcome === "string" || outcome.status === 500);
    });
  });

  /** Starts `serve`, and waits until it has said that its database is unavailable. */
  async function startWaiting(environment: Record<string, string>) {
    const { promise: waiting, resolve } = Promise.withResolvers<void>();
    const { promise: ready, resolve: onReady } = Promise.withResolvers<string>();
    const child = follow(
      command(["serve", "--port", "0"], { environment }).spawn(),
      (stderr) => {
        if (stderr.includes("database unavailable")) resolve();
        const [, url] = /^listening on (http:\/\/\S+)$/m.exec(stderr) ?? [];
        if (url !== undefined) onReady(url);
      },
    );
    await Promise.race([waiting, child.ending]);
    return { ...child, ready };
  }

  it("is waited for at startup", async () => {
    await server.stop("fast");
    const child = await startWaiting({ DATABASE_URL: server.url });
    await server.start();
    const early = child.ending.then(({ stderr }) => assert.fail(stderr));
    early.catch(() => {});
    assert.equal((await ask({ url: await Promise.race([child.ready, early]) })).status, 204);
    const { code, stderr } = await child.end("SIGTERM");
    assert.equal(code, 0, stderr);
    assert.match(stderr, /"level":"warn","message":"database unavailable","error":".*ECONNREFUSED/);
    assert.match(stderr, /retrying for up to 60 s/);
  });

  it("is not waited for longer than DATABASE_WAIT_SECONDS, or after a signal", async () => {
    const environment = {
      DATABASE_URL: `postgres://u:open-sesame@127.0.0.1:${freePort()}/d`,
      DATABASE_WAIT_SECONDS: "1",
    };
    const begun = performance.now();
    const { code, stderr } = await run(["serve", "--port", "0"], environment);
    assert.equal(code, 1);
    assert.ok(performance.now() - begun >= 1_000);
    assert.match(stderr, /\nerror: the PostgreSQL server at \S+ \(DATABASE_URL\) cannot be used: /);
    assert.ok(!stderr.includes("open-sesame"));

    const waiting = await startWaiting({ ...environment, DATABASE_WAIT_SECONDS: "60" });
    const ended = await waiting.end("SIGTERM");
    assert.equal(ended.code, 0, ended.stderr);
  });

  it("is not waited for when it does not exist", async () => {
    const url = new URL(server.url);
    url.pathname = "/nowhere";
    const begun = performance.now();
    const { code, stderr } = await run(["serve"], { DATABASE_URL: url.href });
    assert.equal(code, 1);
    assert.match(stderr, /^error: .*database "nowhere" does not exist/);
    assert.ok(performance.now() - begun < 20_000);
  });
});
