import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { setPurchaseUnits } from "../../db/admin/organizations.ts";
import { describeWithDatabase } from "../database.ts";
import { assertError, createFixture, type Fixture, NOT_FOUND, NOW, request } from "./fixture.ts";

const BASIC = 'Basic realm="Test Analytics Platform", charset="UTF-8"';

describeWithDatabase("authentication", (database) => {
  let fixture: Fixture;

  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
  });

  async function statusOf(authorization: string, path = "/api"): Promise<number> {
    const response = await fixture.app(request(path, { authorization }));
    await response.body?.cancel();
    return response.status;
  }

  async function assertUnauthorized(response: Response, challenge = "Bearer") {
    assert.equal(response.status, 401);
    assert.equal(await response.text(), "");
    assert.equal(response.headers.get("www-authenticate"), challenge);
    assert.equal(response.headers.get("content-type"), null);
  }

  it("accepts both forms of the header, in any case and with surrounding blanks", async () => {
    for (const scheme of ["token", "Bearer", "TOKEN", "bEARER"]) {
      assert.equal(await statusOf(`${scheme} ${fixture.token}`), 204, scheme);
    }
    assert.equal(await statusOf(`  token   ${fixture.token}  `), 204);
    assert.equal(await statusOf(`Bearer\t${fixture.token}`), 204);
  });

  it("returns 204 without a body for a valid token", async () => {
    const response = await fixture.get("/api");
    assert.equal(response.status, 204);
    assert.equal(response.body, null);
    assert.equal(response.headers.get("content-type"), null);
  });

  it("rejects invalid tokens", async () => {
    await assertUnauthorized(await fixture.app(request("/api")));
    const wrong = [
      "",
      "token",
      fixture.token,
      `Basic ${btoa(`user:${fixture.token}`)}`,
      `Digest ${fixture.token}`,
      `token ${fixture.token}0`,
      `token ${fixture.token.toUpperCase()}`,
      // No blank in a header: its bytes are read as Latin-1.
      `token\u00a0${fixture.token}`,
      `token ${fixture.token}, token ${fixture.token}`,
      `token ${fixture.token} ${fixture.token}`,
      `token tk_${"0".repeat(64)}`,
      `Bearer ${await fixture.addToken({ type: "upload" })}`,
      `token ${"0".repeat(40)}`,
      `token ${"x".repeat(5_000)}`,
    ];
    for (const authorization of wrong) {
      await assertUnauthorized(await fixture.app(request("/api", { authorization })));
    }
  });

  it("treats two headers as invalid", async () => {
    const headers = new Headers();
    headers.append("authorization", `token ${fixture.token}`);
    headers.append("authorization", `Bearer ${fixture.token}`);
    const response = await fixture.app(new Request("http://127.0.0.1/api", { headers }));
    await assertUnauthorized(response);
  });

  it("rejects a token from the second of its expiry on", async () => {
    const expiring = await fixture.addToken({ expiresAt: NOW + 60 });
    fixture.clock.now = NOW + 59;
    assert.equal(await statusOf(`token ${expiring}`), 204);
    fixture.clock.now = NOW + 60;
    assert.equal(await statusOf(`token ${expiring}`), 401);
    fixture.clock.now = NOW;
  });

  it("rejects a revoked token from the next request on", async () => {
    const revoked = await fixture.addToken({ label: "revoked" });
    assert.equal(await statusOf(`token ${revoked}`), 204);
    await database().sql`
      update api_token set revoked_at = to_timestamp(${NOW}) where label = 'revoked'`;
    assert.equal(await statusOf(`token ${revoked}`), 401);
  });

  it("accepts a legacy token only while the organization has purchase units", async () => {
    const { sql } = database();
    const legacy = await fixture.addToken({ legacy: true });
    assert.match(legacy, /^[0-9a-f]{40}$/);
    assert.equal(await statusOf(`token ${legacy}`), 401);
    await setPurchaseUnits(sql, { name: "acme", purchaseUnitCount: 1 });
    assert.equal(await statusOf(`token ${legacy}`), 204);
    assert.equal(await statusOf(`Bearer ${legacy}`), 204);
    await setPurchaseUnits(sql, { name: "acme", purchaseUnitCount: 0 });
    assert.equal(await statusOf(`token ${legacy}`), 401);
  });

  it("comes before everything else", async () => {
    const attempts = [
      "/nowhere",
      "/index",
      "/api/repos/a/b/tests",
      "/api/tests/x/results",
      "/api/%ff",
    ];
    for (const path of attempts) await assertUnauthorized(await fixture.app(request(path)));
    const post = new Request("http://127.0.0.1/api", { method: "POST", body: "x" });
    await assertUnauthorized(await fixture.app(post));
  });

  it("returns 404 for an unknown path only with a valid token", async () => {
    for (
      const path of ["/nowhere", "/index", "/api/", "/api/repos/a/b", "/api//", "/API", "/api/%ff"]
    ) {
      const response = await fixture.get(path);
      if (path === "/api/") assert.equal(response.status, 204);
      else await assertError(response, 404, NOT_FOUND);
    }
  });

  it("accepts HTTP Basic with any user name for the documentation", async () => {
    for (const path of ["/docs", "/openapi.yaml", "/llms-full.txt", "/docs/"]) {
      await assertUnauthorized(await fixture.app(request(path)), BASIC);
      const wrong = { authorization: `Basic ${btoa("user:nothing")}` };
      await assertUnauthorized(await fixture.app(request(path, wrong)), BASIC);
      for (const user of ["", "somebody", "ü"]) {
        const credentials = btoa(`${user}:${fixture.token}`);
        assert.notEqual(await statusOf(`Basic ${credentials}`, path), 401);
      }
      assert.notEqual(await statusOf(`Bearer ${fixture.token}`, path), 401);
      assert.equal(await statusOf(`Basic ${btoa(fixture.token)}`, path), 401);
      assert.equal(await statusOf("Basic %%%", path), 401);
    }
  });

  it("is not required for the liveness probe", async () => {
    for (const authorization of ["", "token wrong"]) {
      const response = await fixture.app(request("/health", { authorization }));
      assert.equal(response.status, 200);
      assert.equal(await response.text(), '{"status":"ok"}\n');
    }
    const post = new Request("http://127.0.0.1/health", { method: "POST" });
    await assertError(await fixture.app(post), 405, { message: "Method Not Allowed" });
  });
});
