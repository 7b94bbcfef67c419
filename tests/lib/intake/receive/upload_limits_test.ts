/** What limits uploads, and what becomes of them during an outage, through `upload_app.ts`. */
import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import type { Database } from "../../../../db/connection/connect.ts";
import type { LogFields } from "../../../../lib/base/log.ts";
import { Metrics } from "../../../../lib/base/metrics.ts";
import { describeWithDatabase } from "../../../database.ts";
import { reportOf } from "../../report/archive/make_archive.ts";
import { openInbox } from "../../../../lib/storage/inbox.ts";
import { DiskFullError, type DiskRoom } from "../../../../lib/storage/disk_room.ts";
import { startS3Server } from "../../../s3/server.ts";
import { silentLog } from "../../../silent_log.ts";
import { commandLine } from "../../cli/run_in_process.ts";
import { addOrganization, addToken, createReceiver, type Receiver } from "./receive.ts";
import { waitUntil } from "../../../wait_until.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";
const JUNIT = reportOf("adds");

describeWithDatabase("limits of uploads", (database) => {
  let acme = 0;
  let token = "";
  const path = `/upload/acme/shop?commit=${SHA}`;

  before(async () => {
    acme = await addOrganization(database().sql, "acme");
    token = await addToken(database().sql, acme);
  });

  async function withReceiver(
    changes: Parameters<typeof createReceiver>[1],
    body: (receiver: Receiver) => Promise<void>,
    sql: Database["sql"] = database().sql,
  ) {
    const receiver = await createReceiver(sql, changes);
    try {
      await body(receiver);
    } finally {
      await receiver.close();
    }
  }

  /** A body whose rest is sent on demand. */
  function slowBody() {
    const { readable, writable } = new TransformStream<Uint8Array>();
    const writer = writable.getWriter();
    const write = (text: string) => writer.write(new TextEncoder().encode(text));
    write(JUNIT.slice(0, 5)).catch(() => {});
    return {
      readable,
      finish: async () => {
        await write(JUNIT.slice(5));
        await writer.close();
      },
    };
  }

  it("an upload that is too large is 413, and nothing of it is kept", () =>
    withReceiver({ limits: { maxBytes: 1_000 } }, async (receiver) => {
      const response = await receiver.send(path, token, { body: JUNIT.padEnd(1_001) });
      assert.equal(response.status, 413);
      assert.match(await response.text(), /more than 1000 bytes/);
      assert.deepEqual(await receiver.files(), []);
      const right = await receiver.send(path, token, { body: JUNIT.padEnd(1_000) });
      assert.equal(right.status, 202);
      await right.body?.cancel();
    }));

  it("an upload that arrives too slowly is 408", () =>
    withReceiver({ limits: { idleMs: 50 } }, async (receiver) => {
      const body = slowBody().readable;
      const response = await receiver.send(path, token, { body });
      assert.equal(response.status, 408);
      assert.match(await response.text(), /no data for 0\.05 s/);
      assert.deepEqual(await receiver.files(), []);
    }));

  const untilRunning = (metrics: Metrics, count: number) =>
    waitUntil(`${count} run`, () => metrics.text().includes(`uploads_running ${count}\n`));

  it("too many uploads at once are 503, until one is done", () => {
    const metrics = new Metrics();
    return withReceiver({ maxRunningUploads: 2, metrics }, async (receiver) => {
      const slow = [slowBody(), slowBody()];
      const running = slow.map(({ readable: body }) => receiver.send(path, token, { body }));
      await untilRunning(metrics, 2);
      const refused = await receiver.send(path, token, { body: JUNIT });
      assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "5"]);
      for (const { finish } of slow) await finish();
      for (const response of await Promise.all(running)) {
        assert.equal(response.status, 202);
        await response.body?.cancel();
      }
      const next = await receiver.send(path, token, { body: JUNIT });
      assert.equal(next.status, 202);
      await next.body?.cancel();
      assert.match(metrics.text(), /_upload_bytes_total \d+\n/);
    });
  });

  it("too many uploads of one token or organization are 429, and leave room for others", async () => {
    const { sql } = database();
    const globex = await addOrganization(sql, "globex");
    const [second, third, other] = [
      await addToken(sql, acme),
      await addToken(sql, acme),
      await addToken(sql, globex),
    ];
    const quotas = {
      token: { uploads: 2, bytes: 1_000 },
      organization: { uploads: 3, bytes: 1_500 },
    };
    const metrics = new Metrics();
    await withReceiver({ quotas, metrics }, async (receiver) => {
      const slow: ReturnType<typeof slowBody>[] = [];
      const running: Promise<Response>[] = [];
      const begin = async (each: string) => {
        slow.push(slowBody());
        running.push(receiver.send(path, each, { body: slow.at(-1)!.readable }));
        await untilRunning(metrics, slow.length);
      };
      const status = async (each: string, body: BodyInit = JUNIT) => {
        const response = await receiver.send(path, each, { body });
        const text = await response.text();
        if (response.status !== 429) return response.status;
        assert.equal(response.headers.get("retry-after"), "5");
        return JSON.parse(text).message;
      };
      await begin(token);
      await begin(token);
      assert.equal(
        await status(token),
        "2 uploads of this token are running: repeat this one later, or raise MAX_TOKEN_UPLOADS",
      );
      await begin(second);
      assert.match(
        await status(third),
        /^3 uploads of this organization.*MAX_ORGANIZATION_UPLOADS$/,
      );
      assert.equal(await status(other), 202);
      for (const { finish } of slow) await finish();
      for (const response of await Promise.all(running)) {
        assert.equal(response.status, 202);
        await response.body?.cancel();
      }
      assert.equal(await status(third), 202);
    });
  });

  it("limits of bytes apply to all running uploads of a token or organization, not to one upload", async () => {
    const quotas = {
      token: { uploads: 9, bytes: 1_000 },
      organization: { uploads: 9, bytes: 1_500 },
    };
    const metrics = new Metrics();
    const second = await addToken(database().sql, acme);
    await withReceiver({ quotas, metrics }, async (receiver) => {
      const send = (each: string, size: number, headers = {}) =>
        receiver.send(path, each, { body: JUNIT.padEnd(size), headers });
      const large = await send(token, 5_000);
      assert.equal(large.status, 202);
      await large.body?.cancel();
      await untilRunning(metrics, 0);
      const { readable, finish } = slowBody();
      const headers = { "content-length": "900" };
      const running = receiver.send(path, token, { body: readable, headers });
      await untilRunning(metrics, 1);
      const refused = await send(token, 200);
      assert.equal(refused.status, 429);
      assert.equal(
        (await refused.json()).message,
        "the running uploads of this token have more than 1000 bytes: repeat this one later, or " +
          "raise MAX_TOKEN_UPLOAD_MB",
      );
      assert.match(await (await send(second, 700)).text(), /of this organization .* 1500 bytes/);
      await (await send(second, 500)).body?.cancel();
      await finish();
      assert.equal((await running).status, 202);
      assert.equal((await send(token, 900)).status, 202);
      assert.equal((await receiver.files()).length, 4);
    });
  });

  it("a bucket has no limit of disk space, and its prefix is in the key", async () => {
    const server = await startS3Server("ci");
    const inbox = openInbox("s3://ci/acme", server.environment);
    await withReceiver({ inbox }, async (receiver) => {
      const response = await receiver.send(path, token, { body: JUNIT });
      assert.equal(response.status, 202);
      const { key } = await response.json();
      assert.match(key, /^acme\/acme\/shop\/\S+\.gz$/);
      assert.deepEqual(await receiver.files(), []);
      const line = ["watch", "s3://ci/acme", "--once"];
      const { stdout } = await commandLine(database)(line, { environment: server.environment });
      assert.equal(stdout, `${key}\tprocessed\t1\n`);
      await server.close();
      assert.equal((await receiver.send(path, token, { body: JUNIT })).status, 503);
    });
  });

  it("a full or missing storage is 503 and leaves no file behind, and a line without a stack", async () => {
    const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
    const inbox = { unfinished: "", put: () => Promise.reject(full) };
    const lines: LogFields[] = [];
    const log = { ...silentLog, warn: (_: string, fields?: LogFields) => void lines.push(fields!) };
    await withReceiver({ inbox, log }, async (receiver) => {
      const response = await receiver.send(path, token, { body: JUNIT });
      assert.deepEqual([response.status, await response.text()], [503, ""]);
      assert.equal(response.headers.get("retry-after"), "5");
      assert.deepEqual(await receiver.files(), []);
      const [{ request_id: _, ...line }] = lines as [LogFields];
      assert.deepEqual(line, { error: "no space left on device", code: "ENOSPC" });
    });
    await withReceiver({ workFolder: "/nowhere" }, async (receiver) => {
      const response = await receiver.send(path, token, { body: JUNIT });
      assert.equal(response.status, 503);
    });
  });

  it("a full disk during a body of unknown length is 503, without the name of the folder", async () => {
    const room = {
      receive: () => ({
        addBytes(count: number) {
          if (count > 0) throw new DiskFullError('the disk of "/srv/data" is almost full');
        },
        end() {},
      }),
    } as unknown as DiskRoom;
    await withReceiver({ room }, async (receiver) => {
      const body = new Blob([JUNIT]).stream();
      const response = await receiver.send(path, token, { body, duplex: "half" });
      assert.deepEqual([response.status, await response.text()], [503, ""]);
      assert.equal(response.headers.get("retry-after"), "5");
      assert.deepEqual(await receiver.files(), []);
    });
  });

  it("an unavailable database is 503", async () => {
    let isAway = true;
    const away = () => Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" });
    const sql = new Proxy(database().sql, {
      apply: (target, self, args) =>
        isAway ? Promise.reject(away()) : Reflect.apply(target, self, args),
    });
    await withReceiver({}, async (receiver) => {
      const response = await receiver.send(path, token, { body: JUNIT });
      assert.deepEqual([response.status, await response.text()], [503, ""]);
      isAway = false;
      assert.equal((await receiver.send(path, token, { body: JUNIT })).status, 202);
    }, sql);
  });
});
