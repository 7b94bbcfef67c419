/** Looking up the keys of issuers, which may be slow, away or hostile. */
import { afterEach, beforeEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { jwtVerify } from "jose";
import { IssuerKeys } from "../../../../lib/intake/receive/issuer_keys.ts";
import { createLog } from "../../../../lib/base/log.ts";
import { waitUntil } from "../../../wait_until.ts";
import { NOON } from "../../cli/run_in_process.ts";
import { type Issuer, type Key, makeKey, startIssuer } from "./issuer.ts";

const MINUTE = 60_000;

describe("the keys of an issuer", () => {
  let issuer: Issuer;
  let keys: IssuerKeys;
  let now = 0;
  let lines: string[] = [];

  const create = (timeoutMs = 5_000) =>
    new IssuerKeys({
      log: createLog({ write: (line) => void lines.push(line), now: () => 0 }),
      clock: { now: () => now },
      timeoutMs,
    });

  beforeEach(async () => {
    now = 1_000_000;
    lines = [];
    issuer = await startIssuer("/below");
    keys = create();
  });
  afterEach(() => issuer.close());

  /** How often the key set was loaded. */
  const loads = () => issuer.requests.filter((path) => path === "/below/keys").length;

  async function check(key: Key = issuer.keys[0]!, of = keys): Promise<void> {
    await jwtVerify(await issuer.token({}, key), of.of(issuer.url), {
      currentDate: new Date(NOON * 1000),
    });
  }

  const unavailable = { name: "KeysUnavailableError" };

  it("are looked up once for many tokens at the same time, and again after ten minutes", async () => {
    await Promise.all(Array.from({ length: 5 }, () => check()));
    assert.equal(loads(), 1);
    now += 9 * MINUTE;
    await check();
    assert.equal(loads(), 1);
    now += MINUTE;
    await check();
    await waitUntil("the keys are loaded again", () => loads() === 2);
  });

  it("are used without a wait while a slow issuer is looked up again", async () => {
    await check();
    const end = Promise.withResolvers<Response>();
    issuer.respond = () => end.promise;
    now += 11 * MINUTE;
    // None of these returns if it waits.
    await Promise.all(Array.from({ length: 5 }, () => check()));
    await waitUntil("the issuer is asked again", () => issuer.requests.length === 3);
    end.resolve(new Response(null, { status: 500 }));
    await waitUntil("the failure is logged", () => lines.length === 1);
    await check();
  });

  it("are used for an hour while the issuer is away, and not for longer", async () => {
    await check();
    issuer.respond = () => new Response(null, { status: 500 });
    now += 59 * MINUTE;
    await check();
    now += MINUTE;
    await assert.rejects(check(), unavailable);
  });

  it("are not looked up again for five seconds after a failure", async () => {
    issuer.respond = () => new Response(null, { status: 500 });
    await assert.rejects(check(), unavailable);
    await assert.rejects(check(), unavailable);
    assert.equal(issuer.requests.length, 1);
    now += 5_000;
    issuer.respond = null;
    await check();
  });

  it("are looked up again for an unknown key, but not for each of many", async () => {
    await check();
    const fresh = await makeKey("fresh", "ES256");
    issuer.keys.push(fresh);
    await Promise.all([check(fresh), check(fresh)]);
    assert.equal(loads(), 2);
    const madeUp = await makeKey("made up", "ES256");
    for (let count = 0; count < 20; count++) {
      await assert.rejects(check(madeUp), { code: "ERR_JWKS_NO_MATCHING_KEY" });
    }
    assert.equal(loads(), 6);
    now += MINUTE / 2;
    await assert.rejects(check(madeUp), { code: "ERR_JWKS_NO_MATCHING_KEY" });
    await assert.rejects(check(madeUp), { code: "ERR_JWKS_NO_MATCHING_KEY" });
    assert.equal(loads(), 7);
  });

  it("are unavailable when the issuer does not respond in time", async () => {
    const end = Promise.withResolvers<Response>();
    issuer.respond = () => end.promise;
    await assert.rejects(check(undefined, create(20)), unavailable);
    assert.match(lines[0]!, /no response within 20 ms/);
    end.resolve(new Response());
  });

  const hostile: Record<string, [Response | (() => Response), reason: RegExp]> = {
    "a redirect": [
      () => new Response(null, { status: 302, headers: { location: "/below/keys" } }),
      /status 302, expected 200/,
    ],
    "more than any discovery document has": [
      () => new Response(`{"a":"${"x".repeat(300_000)}"}`),
      /more than 262144 bytes/,
    ],
    "no JSON": [() => new Response("s3cr3t"), /expected a JSON object/],
    "a list": [() => Response.json([1]), /expected a JSON object/],
    "the discovery document of another issuer": [
      () => Response.json({ issuer: "https://other.example", jwks_uri: `${issuer.url}/keys` }),
      /is of another issuer/,
    ],
    "keys on another host": [
      () => Response.json({ issuer: issuer.url, jwks_uri: "http://127.0.0.1:1/keys" }),
      /names no keys on its own host/,
    ],
    "keys in a file": [
      () => Response.json({ issuer: issuer.url, jwks_uri: "file:///etc/passwd" }),
      /names no keys on its own host/,
    ],
    "no keys": [
      () => Response.json({ issuer: issuer.url, jwks_uri: issuer.url }),
      /no JSON Web Key Set/,
    ],
  };
  for (const [name, [response, reason]] of Object.entries(hostile)) {
    it(`are unavailable when the issuer responds with ${name}`, async () => {
      issuer.respond = () => typeof response === "function" ? response() : response;
      await assert.rejects(check(), unavailable);
      assert.match(lines.join("\n"), reason);
      assert.ok(!lines.join().includes("s3cr3t"));
      assert.ok(issuer.requests.length <= 2);
    });
  }
});
