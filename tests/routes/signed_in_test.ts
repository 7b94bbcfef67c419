import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { parseTrustedProxies } from "../../lib/http/request/client_address.ts";
import { createLog } from "../../lib/base/log.ts";
import { silentLog } from "../silent_log.ts";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import { createApp } from "../../routes/mod.ts";
import { describeWithDatabase } from "../database.ts";
import { createFixture, flaky, NOW, request } from "./fixture.ts";

const PROXY = "10.0.0.7";

describeWithDatabase("a header of a trusted proxy", (database) => {
  let token: string;
  before(async () => {
    const acme = await createFixture(database(), { name: "Acme" });
    token = acme.token;
    await acme.upload(await acme.addRepository("acme", "shop"), flaky("pays"));
    const other = await createFixture(database(), { name: "other" });
    await other.addRepository("other", "secret");
  });

  /** The status of a path, and what its body says. */
  async function ask(
    path: string,
    headers: Record<string, string>,
    {
      peer = PROXY,
      organizationHeader = "X-Organization",
      userHeader = "",
      proxies = "10.0.0.0/24",
      log = silentLog,
    } = {},
  ): Promise<[status: number, body: string]> {
    const app = createApp({
      sql: database().sql,
      now: () => NOW,
      windowSeconds: WINDOW_SECONDS,
      log,
      userHeader,
      trustedProxies: parseTrustedProxies(proxies),
      organizationHeader,
    });
    const response = await app(request(path, headers), peer);
    return [response.status, await response.text()];
  }

  it("signs readers of pages in, in any case and whatever else is sent", async () => {
    for (const name of ["Acme", "ACME"]) {
      const password: Record<string, string> = { authorization: `Basic ${btoa("sam:pass")}` };
      for (const more of [{}, password]) {
        const [status, body] = await ask("/repos", { "x-organization": name, ...more });
        assert.equal(status, 200);
        assert.match(body, /acme\/shop/);
        assert.doesNotMatch(body, /secret/);
      }
    }
    assert.equal((await ask("/docs", { "x-organization": "Acme" }))[0], 200);
    assert.equal((await ask("/repos/other/secret", { "x-organization": "Acme" }))[0], 404);
  });

  it("may name the person, who is then in the log", async () => {
    const lines: string[] = [];
    const log = createLog({ write: (line) => void lines.push(line), now: () => NOW });
    const options = { userHeader: "X-Forwarded-User", log };
    const headers = { "x-organization": "Acme", "x-forwarded-user": `ada\t${"x".repeat(300)}` };
    assert.equal((await ask("/repos", headers, options))[0], 200);
    assert.ok(lines.at(-1)!.includes(`user="ada ${"x".repeat(196)}..."`), lines.at(-1));
    // From another address, and without the setting, it is any client's.
    await ask("/repos", headers, { ...options, peer: "192.0.2.1" });
    await ask("/repos", headers, { log });
    for (const line of lines.slice(1)) assert.doesNotMatch(line, /user=/);
  });

  it("means nothing unless it names an organization", async () => {
    for (const name of ["nobody", "", "a".repeat(5_000), "' or 1=1"]) {
      assert.equal((await ask("/repos", { "x-organization": name }))[0], 401, name);
    }
    assert.equal((await ask("/repos", {}))[0], 401);
    const bearer = { authorization: `Bearer ${token}` };
    assert.equal((await ask("/repos", bearer))[0], 200);
  });

  it("means nothing from another address, without the setting, or for the API", async () => {
    const headers = { "x-organization": "Acme" };
    assert.equal((await ask("/repos", headers, { peer: "10.0.1.7" }))[0], 401);
    assert.equal((await ask("/repos", headers, { peer: "" }))[0], 401);
    assert.equal((await ask("/repos", headers, { organizationHeader: "" }))[0], 401);
    assert.equal((await ask("/repos", headers, { proxies: "" }))[0], 401);
    const forwarded = { ...headers, "x-forwarded-for": PROXY };
    assert.equal((await ask("/repos", forwarded, { peer: "192.0.2.1" }))[0], 401);
    for (const path of ["/api/me/repositories", "/api", "/nowhere"]) {
      assert.equal((await ask(path, headers))[0], 401, path);
    }
  });
});
