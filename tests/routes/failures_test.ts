import assert from "node:assert/strict";
import { before, describe, it } from "@std/testing/bdd";
import type { Database } from "../../db/connection/connect.ts";
import { createLog } from "../../lib/base/log.ts";
import { silentLog } from "../silent_log.ts";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import { createApp, routes } from "../../routes/mod.ts";
import { describeWithDatabase } from "../database.ts";
import { createFixture, type Fixture, flaky, idOf, NOW, request } from "./fixture.ts";

const TOKEN = `tk_${"ab".repeat(32)}`;

describe("an internal error", () => {
  const lines: string[] = [];
  const fail = () => {
    throw new TypeError("the disk is on fire");
  };
  const broken = Object.assign(fail, { unsafe: fail }) as unknown as Database["sql"];
  const app = createApp({
    sql: broken,
    now: () => NOW,
    windowSeconds: WINDOW_SECONDS,
    log: createLog({ write: (line) => lines.push(line), now: () => NOW }),
  });

  it("is a 500 without a body", async () => {
    for (const path of ["/api", "/nowhere", "/api/repos/a/b/tests?q=hidden", `/api/${TOKEN}`]) {
      const response = await app(request(path, { authorization: `Bearer ${TOKEN}` }));
      assert.equal(response.status, 500);
      assert.equal(response.body, null);
      assert.equal(response.headers.get("content-type"), null);
      assert.ok(response.headers.get("x-request-id"));
    }
  });

  it("is logged with its stack and request id, without the caller's secrets", async () => {
    lines.length = 0;
    const headers = { authorization: `Bearer ${TOKEN}`, "x-request-id": "trace-1" };
    await app(request(`/api/repos/a/${TOKEN}/tests?q=hidden`, headers));
    const log = lines.join("\n");
    assert.match(lines[0] ?? "", /^2026-09-21T14:13:20Z error request failed request_id=trace-1 /);
    assert.match(log, /TypeError: the disk is on fire/);
    assert.match(log, /stack=".*failures_test\.ts/);
    assert.match(log, /info request request_id=trace-1 method=GET route=\S+ status=500/);
    assert.doesNotMatch(log, /hidden|abab|Bearer|\/a\//);
    assert.equal(lines.length, 2, "each event is one line");
  });

  it("does not affect the liveness probe", async () => {
    assert.equal((await app(request("/health"))).status, 200);
  });
});

describeWithDatabase("every route", (database) => {
  let fixture: Fixture;
  let testId: string;
  let submissionId: string;

  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
    const shop = await fixture.addRepository("acme", "shop");
    ({ submissionId } = await fixture.upload(shop, flaky("a")));
    testId = idOf(shop, { name: "a" });
  });

  const exemplary = (path: string) =>
    path.replace(":owner", "acme").replace(":name", "shop")
      .replace("submissions/:id", `submissions/${submissionId}`).replace(":id", testId) +
    (path.endsWith("/badges") ? "?repository=shop" : "") +
    (path.endsWith("/verdicts") ? `?tests=${testId}` : "");

  it("responds on a read-only connection", async () => {
    const { sql } = database();
    const refused = sql.begin("read only", (tx) => tx`update repository set name = 'x'`);
    await assert.rejects(refused, { code: "25006" });

    await sql.begin("read only", async (tx) => {
      // A transaction cannot begin another one, and none is needed here.
      const begin = async (_: string, body: (sql: typeof tx) => unknown) => {
        const result = await body(tx);
        return Array.isArray(result) ? await Promise.all(result) : result;
      };
      const readOnly = Object.assign(tx, { begin }) as unknown as Database["sql"];
      const app = createApp({
        sql: readOnly,
        now: () => NOW,
        windowSeconds: WINDOW_SECONDS,
        log: silentLog,
      });
      for (const { path, response: expected } of routes) {
        const headers = { authorization: `token ${fixture.token}` };
        const response = await app(request(exemplary(path), headers));
        assert.equal(response.status, expected.status, path);
        await response.body?.cancel();
      }
    });
  });

  it("recovers after a failed query", async () => {
    const { sql } = database();
    let failing = true;
    const flakySql = new Proxy(sql, {
      apply: (target, self, args) => Reflect.apply(target, self, args),
      get(target, key) {
        if (key === "begin" && failing) throw new Error("lost the connection");
        return Reflect.get(target, key);
      },
    });
    const app = createApp({
      sql: flakySql,
      now: () => NOW,
      windowSeconds: WINDOW_SECONDS,
      log: silentLog,
    });
    const get = () =>
      app(request("/api/repos/acme/shop/tests", { authorization: `token ${fixture.token}` }));
    assert.equal((await get()).status, 500);
    failing = false;
    const response = await get();
    assert.equal(response.status, 200);
    await response.body?.cancel();
  });
});
