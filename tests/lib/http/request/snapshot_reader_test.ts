import assert from "node:assert/strict";
import { after, before, it } from "@std/testing/bdd";
import type { Repository } from "../../../../db/admin/repositories.ts";
import { type Database, openDatabase } from "../../../../db/connection/connect.ts";
import { WINDOW_SECONDS } from "../../../../lib/base/time.ts";
import { createApp } from "../../../../routes/mod.ts";
import { describeWithDatabases } from "../../../database.ts";
import { StatementRecorder } from "../../../db/statements/recorder.ts";
import { createShop, type Fixture, flaky, NOW, request } from "../../../routes/fixture.ts";
import { silentLog } from "../../../silent_log.ts";

const REQUESTS = 60;

/** Statements that a transaction sends even when nothing is read in it. */
const FRAME = /^(?:begin|commit|rollback)\b/;

describeWithDatabases("the time-out of requests", (database) => {
  const recorder = new StatementRecorder();
  let fixture: Fixture;
  let shop: Repository;
  let connection: Database;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    await fixture.upload(shop, flaky("t"));
    const { onStatement } = recorder;
    connection = await openDatabase({ ...database().place, maxConnections: 1, onStatement });
  });
  after(() => connection.close());

  const createTestApp = (requestTimeoutMs: number, sql = connection.sql) =>
    createApp({
      sql,
      now: () => NOW,
      windowSeconds: WINDOW_SECONDS,
      log: silentLog,
      requestTimeoutMs,
    });

  function start(requestTimeoutMs: number, sql = connection.sql) {
    const app = createTestApp(requestTimeoutMs, sql);
    return async (path: string) => {
      const response = await app(request(path, { authorization: `Bearer ${fixture.token}` }));
      await response.body?.cancel();
      return response.status;
    };
  }

  /** Different pages at once, none of which is in a cache. */
  const burst = (ask: (path: string) => Promise<number>) =>
    Promise.all(
      Array.from({ length: REQUESTS }, (_, no) =>
        ask([`/repos/acme/shop?branch=x${no}`, `/tests?q=x${no}`][no % 2]!)),
    );

  it("is the end of those that waited: nothing is read, and the next request does not wait for them", async () => {
    const ask = start(20);
    const held = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const holding = connection.sql.begin(async () => {
      started.resolve();
      await held.promise;
    });
    await started.promise;
    const statuses = await burst(ask);
    assert.deepEqual(new Set(statuses), new Set([500]));
    const sent = await recorder.during(async () => {
      held.resolve();
      await holding;
      assert.equal(await start(60_000)("/repos/acme/shop?branch=next"), 200);
    });
    const begun = sent.filter(({ text }) => text.startsWith("begin"));
    assert.equal(begun.length, 1, "only the next request has a transaction");
  });

  it("is the end of those whose transaction waited for a connection: nothing is read in it", async () => {
    const gate = Promise.withResolvers<void>();
    const transactions: Promise<unknown>[] = [];
    const { sql } = connection;
    const waiting = new Proxy(sql, {
      get(target, name) {
        if (name !== "begin") return Reflect.get(target, name);
        return (...args: Parameters<typeof sql.begin>) => {
          const transaction = gate.promise.then(() => sql.begin(...args));
          transactions.push(transaction.catch(() => {}));
          return transaction;
        };
      },
    });
    // Long enough for most to be authenticated.
    const statuses = await burst(start(2_000, waiting));
    assert.deepEqual(new Set(statuses), new Set([500]));
    const sent = await recorder.during(async () => {
      gate.resolve();
      await Promise.all(transactions);
    });
    const read = sent.map(({ text }) => text).filter((text) => !FRAME.test(text));
    assert.equal(read.length, 0, read[0]);
  });

  it("does not limit how long a client takes for a list of several batches", async () => {
    const names = Array.from({ length: 1_200 }, (_, no) => `${"long ".repeat(40)}${no}`);
    const { submissionId } = await fixture.upload(shop, names.map((name) => ({ name })));
    const app = createTestApp(60_000);
    const path = `/api/repos/acme/shop/submissions/${submissionId}/tests.ndjson`;
    const response = await app(request(path, { authorization: `Bearer ${fixture.token}` }));
    const { now } = performance;
    performance.now = () => now.call(performance) + 120_000;
    try {
      const lines = (await response.text()).trimEnd().split("\n");
      assert.deepEqual([response.status, lines.length], [200, names.length]);
    } finally {
      performance.now = now;
    }
  });
});
