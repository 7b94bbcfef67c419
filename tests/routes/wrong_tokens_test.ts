import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { createLog } from "../../lib/base/log.ts";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import { makeToken } from "../../lib/base/token.ts";
import { createApp } from "../../routes/mod.ts";
import { describeWithDatabase } from "../database.ts";
import { StatementRecorder } from "../db/statements/recorder.ts";
import { createFixture, type Fixture, NOW, request } from "./fixture.ts";

const recorder = new StatementRecorder();

describeWithDatabase("an address that keeps sending wrong tokens", (database) => {
  let fixture: Fixture;
  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
  });

  function start(now = () => NOW) {
    const lines: string[] = [];
    const app = createApp({
      sql: database().sql,
      now,
      windowSeconds: WINDOW_SECONDS,
      log: createLog({ write: (line) => lines.push(line.slice(21)), now: () => NOW }),
    });
    const send = async (token: string, peer = "203.0.113.9") => {
      const response = await app(request("/api", { authorization: `token ${token}` }), peer);
      await response.body?.cancel();
      return response.status;
    };
    /** A new app that has just throttled the address. */
    const throttle = async (token?: string) => {
      for (let index = 0; index < 20; index++) {
        assert.equal(await send(token ?? makeToken("api_token").plain), 401);
      }
    };
    return { lines, send, throttle };
  }

  it("is 401 for the same token after one more statement, with one warning", async () => {
    const { lines, send, throttle } = start();
    const { plain } = makeToken("api_token");
    await throttle(plain);
    const sent = await recorder.during(async () => {
      for (let index = 0; index < 100; index++) assert.equal(await send(plain), 401);
    });
    assert.ok(sent.length <= 1, `${sent.length} statements`);
    assert.deepEqual(lines.filter((line) => line.startsWith("warn")), [
      "warn throttling an address after invalid tokens client_address=203.0.113.9 count=20",
    ]);
  });

  it("shares a statement for many different tokens", async () => {
    const { send, throttle } = start();
    await throttle();
    const sent = await recorder.during(async () => {
      const tokens = Array.from({ length: 500 }, () => makeToken("api_token").plain);
      const statuses = await Promise.all(tokens.map((token) => send(token)));
      assert.ok(statuses.every((status) => status === 401));
    });
    assert.ok(sent.length <= 3, `${sent.length} statements`);
  });

  it("is accepted with a valid token at any time, also a new one", async () => {
    const { send, throttle } = start();
    assert.equal(await send(fixture.token), 204);
    await throttle();
    assert.equal(await send(fixture.token), 204);
    const fresh = await fixture.addToken();
    const guesses = Array.from({ length: 50 }, () => send(makeToken("api_token").plain));
    assert.equal(await send(fresh), 204);
    assert.equal(await send(fixture.token), 204);
    assert.ok((await Promise.all(guesses)).every((status) => status === 401));
  });

  it("is accepted with a token that is valid again after a clock correction", async () => {
    let now = NOW + 60;
    const { send, throttle } = start(() => now);
    const token = await fixture.addToken({ label: "expiring", expiresAt: NOW + 60 });
    await throttle(token);
    assert.equal(await send(token), 401);
    now = NOW;
    assert.equal(await send(token), 204);
  });

  it("is rejected with a revoked token; other addresses are not affected", async () => {
    const { send, throttle } = start();
    const revoked = await fixture.addToken({ label: "throttled" });
    assert.equal(await send(revoked), 204);
    await throttle();
    await database().sql`
      update api_token set revoked_at = to_timestamp(${NOW}) where label = 'throttled'`;
    assert.equal(await send(revoked), 401);
    const sent = await recorder.during(async () => {
      assert.equal(await send(makeToken("api_token").plain, "203.0.113.10"), 401);
    });
    assert.equal(sent.length, 1);
  });
}, { onStatement: recorder.onStatement });
