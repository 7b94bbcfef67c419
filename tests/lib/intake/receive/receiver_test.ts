import { after, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { Metrics } from "../../../../lib/base/metrics.ts";
import { pause } from "../../../../lib/base/delay.ts";
import { startReceiver, UPLOAD_SETTINGS } from "../../../../lib/intake/receive/receiver.ts";
import { readSettings } from "../../../../lib/cli/settings.ts";
import { openInbox } from "../../../../lib/storage/inbox.ts";
import { describeWithDatabase } from "../../../database.ts";
import { silentLog } from "../../../silent_log.ts";
import { waitUntil } from "../../../wait_until.ts";
import { reportOf } from "../../report/archive/make_archive.ts";
import { NOON } from "../../cli/run_in_process.ts";
import { addOrganization, addToken } from "./receive.ts";

/** What comes over a connection, up to a text. */
async function readUntil(connection: Deno.Conn, end: string): Promise<string> {
  let received = "";
  const buffer = new Uint8Array(10_000);
  while (!received.includes(end)) {
    const count = await connection.read(buffer);
    if (count === null) break;
    received += new TextDecoder().decode(buffer.subarray(0, count));
  }
  return received;
}

/** Longer than any test takes: what waits for it has failed. */
const LONG_MS = 600_000;

describeWithDatabase("receiver", (database) => {
  let token = "";
  let folder = "";

  before(async () => {
    const { sql } = database();
    token = await addToken(sql, await addOrganization(sql, "acme"));
    folder = await Deno.makeTempDir();
  });
  after(() => Deno.remove(folder, { recursive: true }));

  /** A receiver, and an upload to it whose first bytes have arrived. */
  async function startUpload({ drainTimeoutMs = LONG_MS, ...more }: {
    drainTimeoutMs?: number;
    requestTimeoutMs?: number;
  } = {}) {
    const settings = readSettings([...UPLOAD_SETTINGS], {
      environment: {},
      flags: {},
      problems: [],
    });
    const metrics = new Metrics();
    const receiver = await startReceiver({
      database: database(),
      writable: database(),
      inbox: openInbox(folder, {}),
      host: "127.0.0.1",
      port: 0,
      settings,
      log: silentLog,
      now: () => NOON,
      publicUrl: "",
      pagesUrl: "",
      drainTimeoutMs,
      ...more,
      metrics,
    });
    const body = new TextEncoder().encode(reportOf("a"));
    const { hostname, port } = new URL(receiver.url);
    const connection = await Deno.connect({ hostname, port: Number(port) });
    const send = async (bytes: Uint8Array) => {
      for (let rest = bytes; rest.length > 0;) {
        rest = rest.subarray(await connection.write(rest));
      }
    };
    const request = (bytes: number) =>
      new TextEncoder().encode(
        `PUT /upload/acme/shop?commit=${"1".repeat(40)} HTTP/1.1\r\nHost: x\r\n` +
          `Authorization: Bearer ${token}\r\nContent-Length: ${bytes}\r\n\r\n`,
      );
    return {
      receiver,
      connection,
      body,
      send,
      request,
      hasBegun: () =>
        waitUntil("the upload is received", () => /uploads_running 1$/m.test(metrics.text())),
    };
  }

  it("lets an upload take longer than a request to the API, whose limit `up` has as well", async () => {
    const { receiver, connection, body, send, request, hasBegun } = await startUpload({
      requestTimeoutMs: 20,
    });
    await send(request(body.length));
    await send(body.subarray(0, 20));
    await hasBegun();
    await pause(100);
    await send(body.subarray(20));
    assert.match(await readUntil(connection, "\r\n\r\n"), /^HTTP\/1\.1 202 /);
    connection.close();
    await receiver.shutdown();
  });

  it("finishes an upload that ends within the time to drain after a signal, and refuses new ones", async () => {
    const { receiver, connection, body, send, request, hasBegun } = await startUpload();
    await send(request(body.length));
    await send(body.subarray(0, 20));
    await hasBegun();
    const ended = receiver.shutdown();
    const other = await fetch(`${receiver.url}/upload/acme/shop`, { method: "PUT", body: "x" });
    assert.deepEqual([other.status, other.headers.get("retry-after")], [503, "5"]);
    assert.equal(await other.text(), "");
    await send(body.subarray(20));
    const response = await readUntil(connection, "}");
    assert.match(response, /^HTTP\/1\.1 202 /);
    connection.close();
    await ended;
  });

  it("answers 503 to an upload that takes longer than the time to drain, although its client goes on sending", async () => {
    const { receiver, connection, send, request, hasBegun } = await startUpload({
      drainTimeoutMs: 50,
    });
    await send(request(1_000_000_000));
    let isSending = true;
    const sending = (async () => {
      // Until the receiver closes the connection.
      while (isSending) {
        await send(new Uint8Array(1_000));
        await pause(5);
      }
    })().catch(() => {});
    await hasBegun();
    const reading = readUntil(connection, "\r\n\r\n");
    await receiver.shutdown();
    const response = await reading;
    assert.match(response, /^HTTP\/1\.1 503 /);
    assert.match(response, /^retry-after: 5\r$/m);
    isSending = false;
    connection.close();
    await sending;
  });
});
