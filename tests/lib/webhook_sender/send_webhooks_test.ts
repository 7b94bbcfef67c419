/** The loop that sends messages, with a clock that the test moves. */
import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { listDeliveries, resendDelivery } from "../../../db/admin/webhook_deliveries.ts";
import { addTimedEvents } from "../../../db/admin/timed_events.ts";
import { findWebhook } from "../../../db/admin/webhooks.ts";
import { sendWebhooks } from "../../../lib/webhook_sender/send_webhooks.ts";
import { describeWithDatabase, openAgain } from "../../database.ts";
import { silentLog } from "../../silent_log.ts";
import { ACCEPTED, REFUSED, WebhookFixture } from "../../webhooks.ts";
import { pause } from "../../../lib/base/delay.ts";

const NOW = 1_790_000_000;
const DAY = 86_400;

describeWithDatabase("sending to webhooks", (database) => {
  let count = 0;
  const create = () => WebhookFixture.create(database(), { name: `org ${++count}`, now: NOW });

  const log = ({ organization: { organizationId } }: WebhookFixture) =>
    listDeliveries(database().sql, { organizationId, webhookId: null, limit: 100 });

  it("repeats a message with one id and one body until it is accepted, and then no more", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    await fixture.makeFlaky(["a"]);
    const outcomes = [REFUSED, REFUSED, { ...REFUSED, retryAfter: 200 }, ACCEPTED];
    fixture.respond = () => outcomes.shift() ?? ACCEPTED;
    const start = fixture.now;
    for (; outcomes.length > 0; fixture.now++) {
      await fixture.send();
    }
    const { posted } = fixture;
    assert.equal(new Set(posted.map(({ id }) => id)).size, 1);
    assert.equal(new Set(posted.map(({ body }) => JSON.stringify(body))).size, 1);
    const pauses = posted.map(({ at }, index) => at - (posted[index - 1]?.at ?? start));
    assert.equal(pauses[0], 0);
    // 5 s, 20 s, and what the receiver asks for, with a tenth of jitter and a second of the test.
    for (const [index, least] of [[1, 5], [2, 20], [3, 200]] as const) {
      assert.ok(pauses[index]! >= least && pauses[index]! <= 1.1 * least + 1, pauses.join());
    }
    fixture.now += DAY;
    assert.deepEqual(await fixture.send(), []);
    const [delivery] = await log(fixture);
    assert.equal(delivery!.status, "delivered");
    assert.equal(delivery!.attemptCount, 4);
    assert.equal(delivery!.outcome, "HTTP 200");
    assert.equal(delivery!.messageId, posted[0]!.id);
  });

  it("gives up after three days, and sends again with the same id on `webhook resend`", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    await fixture.makeFlaky(["a"]);
    fixture.respond = () => REFUSED;
    for (; fixture.now <= NOW + 4 * DAY; fixture.now += 3_600) await fixture.send();
    const last = fixture.posted.at(-1)!;
    assert.ok(last.at >= NOW + 3 * DAY && last.at <= NOW + 3 * DAY + 3_600, `${last.at - NOW}`);
    const [delivery] = await log(fixture);
    assert.equal(delivery!.status, "failed");
    assert.equal(delivery!.nextAttemptAt, null);
    assert.deepEqual(await fixture.send(), []);

    fixture.respond = () => ACCEPTED;
    const { deliveryId } = delivery!;
    assert.equal(await resendDelivery(database().sql, { deliveryId, now: fixture.now }), true);
    const [again, ...more] = await fixture.send();
    assert.equal(again!.id, last.id);
    assert.deepEqual(more, []);
    assert.equal((await log(fixture))[0]!.status, "delivered");
  });

  it("sends nothing more to a receiver that is gone, until a message is sent again", async () => {
    const fixture = await create();
    const { sql } = database();
    const { webhookId, disabledAt } = await fixture.addWebhook();
    assert.equal(disabledAt, null);
    await fixture.makeFlaky(["a"]);
    fixture.respond = () => ({ isDelivered: false, outcome: "HTTP 410", retryAfter: 0 });
    assert.equal((await fixture.send()).length, 1);
    assert.equal((await findWebhook(sql, webhookId))!.disabledAt, fixture.now);
    fixture.respond = () => ACCEPTED;
    // Longer than messages are kept.
    for (const name of ["b", "c"]) {
      fixture.now += 35 * DAY;
      await fixture.makeFlaky([name], { message: `cause of ${name}` });
      assert.deepEqual(await fixture.send(), []);
    }
    const deliveries = await log(fixture);
    const [latest, first] = [deliveries[0], deliveries.at(-1)];
    assert.equal(latest!.status, "failed");
    assert.equal(latest!.outcome, "not sent: the webhook is disabled by HTTP 410");
    assert.equal(first!.outcome, "HTTP 410: the webhook is disabled");
    const { deliveryId } = latest!;
    assert.equal(await resendDelivery(sql, { deliveryId, now: fixture.now }), true);
    assert.equal((await fixture.send()).length, 1);
    assert.equal((await findWebhook(sql, webhookId))!.disabledAt, null);
    await fixture.makeFlaky(["d"], { message: "cause of d" });
    assert.deepEqual(await fixture.sent(), ["test.flaky d"]);
  });

  it("sends to a receiver that answered 410 before an upgrade, and may have come back", async () => {
    const fixture = await create();
    const { sql } = database();
    const { webhookId, organizationId } = await fixture.addWebhook();
    await fixture.makeFlaky(["a"]);
    fixture.respond = () => REFUSED;
    await fixture.send();
    // Versions that did not disable webhooks gave up after three days.
    await sql`
      update webhook_delivery set status = 'failed', outcome = 'HTTP 410'
      where organization_id = ${organizationId} and webhook_id = ${webhookId}`;
    assert.equal((await findWebhook(sql, webhookId))!.disabledAt, null);
    fixture.respond = () => ACCEPTED;
    await fixture.makeFlaky(["b"], { message: "cause of b" });
    assert.deepEqual(await fixture.sent(), ["test.flaky b"]);
  });

  it("repeats an attempt whose process was killed, with the same id", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    await fixture.makeFlaky(["a"]);
    const stop = new AbortController();
    const ids: string[] = [];
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    // It never returns: as if the process was killed while it waited.
    void sendWebhooks({
      sql: database().sql,
      now: () => fixture.now,
      log: silentLog,
      pagesUrl: "",
      post({ headers }) {
        ids.push(headers["webhook-id"]!);
        begin();
        return new Promise(() => {});
      },
    }, { stop: stop.signal, pollMs: 5 });
    await begun;
    stop.abort();
    assert.deepEqual(await fixture.send(), [], "it may still be under way");
    assert.equal((await log(fixture))[0]!.status, "pending");
    fixture.now += 20;
    assert.deepEqual((await fixture.send()).map(({ id }) => id), ids);
  });

  it("keeps messages for 30 days, and that a test is announced as flaky until it is calm", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    await fixture.makeFlaky(["a"]);
    assert.deepEqual(await fixture.sent(), ["test.flaky a"]);
    fixture.now += 40 * DAY;
    assert.deepEqual(await fixture.sent(), []);
    assert.equal((await log(fixture)).length, 1);
    for (let no = 0; no < 10; no++) await fixture.upload(`fffffff${no}`, { a: "+" });
    assert.deepEqual(await fixture.sent(), ["test.calm a"]);
    fixture.now += 29 * DAY;
    await fixture.send();
    assert.deepEqual((await log(fixture)).map(({ event }) => event), ["test.calm"]);
    fixture.now += 2 * DAY;
    await fixture.send();
    assert.equal((await log(fixture)).length, 0);
  });

  it("says once that a test is calm while another one of the same message is still flaky", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    await fixture.makeFlaky(["a", "b"], { message: "connection refused" });
    assert.deepEqual(await fixture.sent(), ["test.flaky a b"]);
    fixture.now += 15 * DAY;
    const sent: string[] = [];
    // For longer than messages are kept.
    for (let day = 0; day < 70; day += 2) {
      for (const half of "ab") {
        const version = `fffff${half}${day.toString(16).padStart(2, "0")}`;
        await fixture.upload(version, { a: "+", b: "-+ connection refused" });
      }
      sent.push(...await fixture.sent());
      fixture.now += 2 * DAY;
    }
    assert.deepEqual(sent, ["test.calm a"]);
    await fixture.makeFlaky(["a"], { from: 4, message: "a is slow" });
    assert.deepEqual(await fixture.sent(), ["test.flaky a"]);
  });

  it("says that a test is calm although another repository fails", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    for (const repository of ["acme/broken", "acme/shop"]) {
      await fixture.makeFlaky(["a"], { repository });
    }
    await fixture.send();
    const { organizationId } = fixture.organization;
    await database().sql`
      update webhook_delivery set subjects = array['no id of a test']
      where organization_id = ${organizationId} and repository_id = (
        select repository_id from repository
        where organization_id = ${organizationId} and name = 'broken')`;
    fixture.now += 15 * DAY;
    for (let no = 0; no < 10; no++) await fixture.upload(`fffffff${no}`, { a: "+" });
    // Longer ago than finished messages are kept.
    const isOld = async () =>
      (await log(fixture)).some(({ event }) => event === "quarantine.ending");
    await database().sql`
      insert into webhook_delivery (organization_id, webhook_id, message_id, repository_id, event, cause,
        subjects, data, status, due_at, next_attempt_at, created_at)
      select organization_id, webhook_id, 'msg_old', repository_id, 'quarantine.ending', '', '{}', data,
        'delivered', due_at, next_attempt_at, created_at - interval '60 days'
      from webhook_delivery where organization_id = ${organizationId} limit 1`;
    assert.equal(await isOld(), true);
    assert.deepEqual(await fixture.sent(), ["test.calm a"]);
    assert.equal(await isOld(), false);
    await database().sql`delete from webhook_delivery where organization_id = ${organizationId}`;
  });

  it("does not look at every repository while the database is unavailable", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    for (const repository of ["acme/shop", "acme/web"]) {
      await fixture.makeFlaky(["a"], { repository });
    }
    await fixture.send();
    let attempts = 0;
    const lost = Object.assign(new Error("connection lost"), { code: "CONNECTION_CLOSED" });
    const unavailable = new Proxy(database().sql, {
      get(target, name) {
        if (name !== "begin") return Reflect.get(target, name);
        attempts++;
        return () => Promise.reject(lost);
      },
    });
    await assert.rejects(addTimedEvents(unavailable, fixture.now + 15 * DAY), lost);
    assert.equal(attempts, 1);
  });

  it("is shared by several processes: each message is sent once", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    const names = [..."abcdefghijklmnopqrst"];
    for (const name of names) await fixture.makeFlaky([name], { message: `cause of ${name}` });
    const others = await Promise.all([openAgain(database()), openAgain(database())]);
    const posted: string[] = [];
    try {
      await Promise.all(others.map(({ sql }) =>
        sendWebhooks({
          sql,
          now: () => fixture.now,
          log: silentLog,
          pagesUrl: "",
          post: async ({ headers }) => {
            posted.push(headers["webhook-id"]!);
            await pause(5);
            return ACCEPTED;
          },
        }, { stop: new AbortController().signal, once: true, pollMs: 5 })
      ));
    } finally {
      for (const other of others) await other.close();
    }
    assert.equal(posted.length, 20);
    assert.equal(new Set(posted).size, 20);
  });

  it("is not held up by a receiver that hangs", async () => {
    const [slow, quick] = [await create(), await create()];
    await slow.addWebhook();
    await quick.addWebhook();
    for (const name of "abcdefghijkl") {
      await slow.makeFlaky([name], { message: `slow ${name}x` });
      await quick.makeFlaky([name], { message: `quick ${name}x` });
    }
    const stop = new AbortController();
    const { promise: done, resolve: finish } = Promise.withResolvers<void>();
    let [hanging, delivered] = [0, 0];
    const sending = sendWebhooks({
      sql: database().sql,
      now: () => NOW,
      log: silentLog,
      pagesUrl: "",
      async post({ url }) {
        if (url.includes(slow.organization.name.replace(" ", "-"))) {
          hanging++;
          await done;
          return REFUSED;
        }
        if (++delivered === 12) finish();
        return ACCEPTED;
      },
    }, { stop: stop.signal, pollMs: 5 });
    await done;
    assert.equal(hanging, 1);
    stop.abort();
    await sending;
  });

  it("sends with `once` to all of more receivers than at a time, however slow they are", async () => {
    const fixture = await create();
    for (let no = 0; no < 11; no++) await fixture.addWebhook();
    await fixture.makeFlaky(["a"]);
    fixture.respond = async () => {
      await pause(200);
      return ACCEPTED;
    };
    assert.equal((await fixture.send()).length, 11);
  });

  it("goes on when the database fails for a while", async () => {
    const fixture = await create();
    await fixture.addWebhook();
    await fixture.makeFlaky(["a"]);
    const { sql } = database();
    let failures = 3;
    const failing = new Proxy(sql, {
      apply(target, self, parameters) {
        if (failures-- > 0) throw new Error("connection lost");
        return Reflect.apply(target, self, parameters);
      },
    });
    const stop = new AbortController();
    const warnings: string[] = [];
    await sendWebhooks({
      sql: failing,
      now: () => fixture.now,
      log: {
        ...silentLog,
        warn: (message, fields) => warnings.push(`${message} ${fields?.error}`),
      },
      pagesUrl: "",
      post: () => {
        setTimeout(() => stop.abort(), 50);
        return Promise.resolve(ACCEPTED);
      },
    }, { stop: stop.signal, pollMs: 5 });
    assert.deepEqual(warnings, ["webhooks not sent connection lost"]);
    assert.equal((await log(fixture))[0]!.status, "delivered");
  });
});
