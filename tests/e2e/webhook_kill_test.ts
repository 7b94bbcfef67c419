/** Messages of a `watch` that is killed at any moment: none is lost, repeats have the same `webhook-id`. */
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { describe } from "@std/testing/bdd";
import { openDatabase } from "../../db/connection/connect.ts";
import { pause } from "../../lib/base/delay.ts";
import { IS_PROOF, itOnKilledDatabase, killCount } from "./kills.ts";
import { command } from "./program.ts";
import { prepare } from "./prepare.ts";

/** How often `watch` is killed. */
const KILLS = killCount({ inGate: 2 });
/** Longer than the lease of an attempt, and the first pauses after failures. */
const DEADLINE_MS = 120_000;

/**
 * An archive in which all tests failed: one `outage.started` of its job, where they failed alike on two other
 * branches before.
 */
async function archive(job: string, branch: string): Promise<Uint8Array> {
  const cases = Array.from(
    { length: 20 },
    (_, no) =>
      `<testcase classname="c" name="test ${no}"><failure message="connection refused"/></testcase>`,
  );
  const files = {
    // A run of the same code is no witness.
    "buildpulse.yml": `:commit: ${(branch === "main" ? "01234567" : "89abcdef").repeat(5)}\n` +
      `:repo_name_with_owner: acme/shop\n:branch: ${branch}\n:job: ${job}\n` +
      `:build_url: https://ci/${job}\n`,
    "test_results/a.xml": `<testsuite name="unit">${cases.join("")}</testsuite>`,
  };
  return gzipSync(
    await packTar(
      Object.entries(files).map(([name, text]) => {
        const body = new TextEncoder().encode(text);
        return { header: { name, size: body.length, mtime: new Date(0) }, body };
      }),
    ),
  );
}

/** Writes a file with an old modification time. */
async function write(path: string, bytes: Uint8Array, agoMs: number): Promise<void> {
  await Deno.writeFile(path, bytes);
  const changed = new Date(Date.now() - agoMs);
  await Deno.utime(path, changed, changed);
}

/** A receiver that now and then fails, hangs, cuts the connection or is restarted. */
class Receiver {
  /** Bodies by `webhook-id`, by job. */
  readonly received = new Map<string, Map<string, Set<string>>>();
  requestCount = 0;
  /** Called with each request before it is answered. */
  onRequest = () => {};
  #server: Deno.HttpServer<Deno.NetAddr> | null = null;
  #port = 0;

  start(): string {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: this.#port, onListen: () => {} },
      (request) => this.#answer(request),
    );
    this.#port = this.#server.addr.port;
    return `http://127.0.0.1:${this.#port}/hook`;
  }

  async stop(): Promise<void> {
    await this.#server?.shutdown();
    this.#server = null;
  }

  async #answer(request: Request): Promise<Response> {
    const body = await request.text();
    const id = request.headers.get("webhook-id")!;
    const { job } = JSON.parse(body).data;
    const ids = this.received.get(job) ?? new Map<string, Set<string>>();
    ids.set(id, (ids.get(id) ?? new Set()).add(body));
    this.received.set(job, ids);
    this.requestCount++;
    this.onRequest();
    const chance = Math.random();
    if (chance < 0.1) return new Response("busy", { status: 503 });
    // It has the message, and the sender does not know.
    if (IS_PROOF && chance < 0.12) await pause(12_000);
    return new Response("thanks");
  }
}

async function makeDue(
  { DATABASE_URL: databaseUrl, DATA_DIR: dataDir = "" }: Record<string, string>,
) {
  const database = await openDatabase({ databaseUrl, dataDir });
  await database.sql`
    update webhook_delivery set next_attempt_at = now()
    where status = 'pending' and attempted_at < now() - interval '30 s'`;
  await database.close();
}

async function prove(environment: Record<string, string>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-webhooks-" });
  const receiver = new Receiver();
  const url = receiver.start();
  let jobCount = 0;
  const put = async () => {
    const path = join(folder, `${jobCount}.gz`);
    await write(path, await archive(`job ${jobCount++}`, "main"), 3_600_000);
  };
  const watch = (...more: string[]) => {
    const child = command(
      ["watch", folder, "--org", "acme", "--lease", "2s", "--interval", "1s", ...more],
      { environment },
    ).spawn();
    const drained = Promise.all([child.stdout.cancel(), child.stderr.cancel()]);
    return {
      kill() {
        try {
          child.kill("SIGKILL");
        } catch {
          // It has ended.
        }
      },
      ended: Promise.all([child.status, drained]),
    };
  };
  try {
    for (const branch of ["other", "third"]) {
      await write(join(folder, `${branch}.gz`), await archive(branch, branch), 3_700_000);
    }
    await prepare(environment, [
      "org create acme",
      `webhook add --allow-private --url ${url}`,
      `watch ${folder} --org acme --once`,
    ]);
    for (let kill = 0; kill < KILLS; kill++) {
      for (let more = 0; more < 3; more++) await put();
      const watcher = watch();
      // Every other kill is during an attempt: after the commit, before its outcome is recorded.
      const { promise: requested, resolve } = Promise.withResolvers<void>();
      receiver.onRequest = () => {
        if (kill % 2 === 0) watcher.kill();
        resolve();
      };
      const patience = 1_000 + Math.random() * 4_000;
      await Promise.race([kill % 2 === 0 ? requested : pause(patience), pause(20_000)]);
      watcher.kill();
      await watcher.ended;
      receiver.onRequest = () => {};
      if (kill % 5 === 4) {
        await receiver.stop();
        assert.equal(receiver.start(), url);
      }
    }
    if (IS_PROOF) {
      // Archives that were lost with their process three times are set aside, once their leases are over.
      await pause(3_000);
      await watch("--once").ended;
    }
    const last = watch(...IS_PROOF ? ["--retry-failed"] : []);
    const deadline = Date.now() + DEADLINE_MS;
    while (receiver.received.size < jobCount && Date.now() < deadline) {
      await pause(1_000);
      // A kill is an attempt: what was killed several times would wait for minutes.
      await makeDue(environment);
    }
    last.kill();
    await last.ended;

    const jobs = Array.from({ length: jobCount }, (_, no) => `job ${no}`);
    assert.deepEqual([...receiver.received.keys()].sort(), jobs.sort(), "none is lost");
    for (const [job, ids] of receiver.received) {
      assert.equal(ids.size, 1, `${job} has one webhook-id`);
      for (const bodies of ids.values()) assert.equal(bodies.size, 1, `${job} has one body`);
    }
    if (IS_PROOF) {
      const figures = { kills: KILLS, messages: jobCount, requests: receiver.requestCount };
      process.stderr.write(`${JSON.stringify(figures)}\n`);
    }
  } finally {
    await receiver.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

describe("messages of a watch that is killed", () => {
  itOnKilledDatabase("are all delivered, repeats with the same id", prove);
});
