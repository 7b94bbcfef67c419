/** What people who are signed in do on the pages, and who may not. */
import { before, beforeEach, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { listChanges } from "../../db/admin/changes.ts";
import { listQuarantined } from "../../db/admin/quarantine.ts";
import { listTokens } from "../../db/admin/tokens.ts";
import type { Transaction } from "../../db/connection/sql.ts";
import { createLog } from "../../lib/base/log.ts";
import { testId } from "../../lib/base/identity.ts";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import type { App } from "../../lib/http/request/context.ts";
import { parseTrustedProxies } from "../../lib/http/request/client_address.ts";
import { createSeal } from "../../lib/http/sign_in/sealed_cookies.ts";
import { createSignIn } from "../../lib/http/sign_in/sign_in.ts";
import { createApp } from "../../routes/mod.ts";
import { describeWithDatabase } from "../database.ts";
import { createFixture, DAY, type Fixture, flaky, idOf, NOW } from "./fixture.ts";

const PUBLIC_URL = "https://flaky.example";
const ISSUER = "https://login.example";
const SECRET = "s3cr3t";
const OWN = { origin: PUBLIC_URL, "sec-fetch-site": "same-origin" };

describeWithDatabase("what people who are signed in do", (database) => {
  let acme: Fixture;
  let other: Fixture;
  let id = "";
  let otherId = "";
  const lines: string[] = [];
  const clock = { now: NOW };
  // Slow to make.
  const seal = createSeal(SECRET);

  before(async () => {
    acme = await createFixture(database(), { name: "Acme" });
    const shop = await acme.addRepository("acme", "shop");
    await acme.upload(shop, flaky("pays"));
    id = idOf(shop, { name: "pays" });
    other = await createFixture(database(), { name: "other" });
    const secret = await other.addRepository("other", "secret");
    await other.upload(secret, flaky("hides"));
    otherId = idOf(secret, { name: "hides" });
  });
  beforeEach(() => {
    clock.now = NOW;
  });

  function appWith(
    {
      groups = ["qa", "leads"],
      isWritable = true,
      hasSignIn = true,
      proxies = "",
      writableSql = database().sql,
    } = {},
  ): App {
    const log = createLog({ write: (line) => void lines.push(line), now: () => clock.now });
    const settings = {
      issuer: ISSUER,
      clientId: "test-analytics",
      clientSecret: SECRET,
      organization: { claim: "org" },
      editors: { groups, claim: "groups" },
      publicUrl: PUBLIC_URL,
    };
    return createApp({
      sql: database().sql,
      ...isWritable && { writableSql },
      ...hasSignIn && {
        signIn: createSignIn(settings, {
          log,
          now: () => clock.now,
          hasOrganization: () => Promise.resolve(true),
        }),
      },
      ...proxies && {
        trustedProxies: parseTrustedProxies(proxies),
        organizationHeader: "X-Organization",
        userHeader: "X-User",
      },
      now: () => clock.now,
      windowSeconds: WINDOW_SECONDS,
      log,
    });
  }

  /** The cookie of a person, as sign-in makes it. */
  async function cookieOf(
    { name = "ada@acme.example", groups = ["qa"], organization = "Acme", secret = SECRET } = {},
  ): Promise<string> {
    const content = { iss: ISSUER, sub: `sub of ${name}`, organization, name, groups };
    const sealed = await (secret === SECRET ? seal : createSeal(secret)).seal(content, {
      purpose: "session",
      now: clock.now,
      seconds: 43_200,
    });
    return `__Host-session=${sealed}`;
  }

  async function get(app: App, path: string, headers: Record<string, string>) {
    const response = await app(new Request(`http://127.0.0.1${path}`, { headers }), "10.0.0.7");
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  async function formTokenOf(app: App, cookie: string): Promise<string> {
    const { text } = await get(app, "/tokens", { cookie });
    return /name="form_token" value="([\w-]{43})"/.exec(text)?.[1] ?? "";
  }

  async function post(
    app: App,
    path: string,
    fields: Record<string, string>,
    headers: Record<string, string>,
  ) {
    const body = new URLSearchParams(fields);
    const request = new Request(`http://127.0.0.1${path}`, { method: "POST", headers, body });
    const response = await app(request, "10.0.0.7");
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Sends a form as its page would. */
  async function send(
    app: App,
    path: string,
    fields: Record<string, string>,
    cookie: string,
    headers: Record<string, string> = OWN,
  ) {
    const form_token = await formTokenOf(app, cookie);
    return await post(app, path, { form_token, ...fields }, { cookie, ...headers });
  }

  async function quarantined(): Promise<string[]> {
    const tests = await listQuarantined(
      database().sql,
      acme.organization.organizationId,
      clock.now,
    );
    return tests.map((test) =>
      [test.quarantinedBy, test.quarantineReason, test.quarantineOwner].join("|")
    );
  }

  it("quarantines a test, changes its entry and releases it, in the person's name", async () => {
    const app = appWith();
    const cookie = await cookieOf();
    const before = await get(app, `/tests/${id}`, { cookie });
    assert.match(before.text, new RegExp(`action="../tests/${id}/quarantine"`));
    assert.doesNotMatch(before.text, /curl --fail-with-body/);
    const fields = { reason: "races", owner: "@acme/web", expires: "14d" };
    const added = await send(app, `/tests/${id}/quarantine?tz=Europe/Berlin`, fields, cookie);
    assert.equal(added.status, 303, added.text);
    assert.equal(
      added.headers.get("location"),
      `../../tests/${id}?tz=Europe%2FBerlin#quarantine`,
    );
    assert.equal(added.headers.get("cache-control"), "no-store");
    assert.deepEqual(await quarantined(), ["ada@acme.example|races|@acme/web"]);
    const page = await get(app, `/tests/${id}`, { cookie });
    assert.match(page.text, new RegExp(`action="../tests/${id}/release"`));
    assert.match(page.text, /<b>added<\/b> by ada@acme\.example: races/);
    const tooLong = { owner: "x".repeat(201) };
    const wrong = await send(app, `/tests/${id}/quarantine`, tooLong, cookie);
    assert.match(wrong.text, /<button>Change<\/button>/);
    const named = { reason: "", owner: "grace", expires: "" };
    const byGrace = await cookieOf({ name: "grace", groups: ["leads", "more"] });
    assert.equal((await send(app, `/tests/${id}/quarantine`, named, byGrace)).status, 303);
    assert.deepEqual(await quarantined(), ["ada@acme.example|races|grace"]);
    const done = await send(app, `/tests/${id}/release`, { reason: "fixed" }, byGrace);
    assert.equal(done.status, 303);
    assert.deepEqual(await quarantined(), []);
    // Once more changes nothing, as on the command line.
    assert.equal((await send(app, `/tests/${id}/release`, {}, byGrace)).status, 303);
    const changes = await listChanges(database().sql, acme.organization.organizationId);
    assert.deepEqual(
      changes.slice(-3).map(({ author, command, subject, detail }) =>
        [author, command, subject, detail.by, detail.reason].join("|")
      ),
      [
        `ada@acme.example (signed in)|quarantine add|${id}|ada@acme.example|races`,
        `grace (signed in)|quarantine add|${id}|grace|races`,
        `grace (signed in)|quarantine remove|${id}|grace|fixed`,
      ],
    );
    assert.ok(lines.some((line) => /POST .*\/tests\/:id\/release.*303.*user=grace/.test(line)));
  });

  it("quarantines all tests that fail together, or none of them", async () => {
    const app = appWith();
    const cookie = await cookieOf();
    const cart = await acme.addRepository("acme", "cart");
    const fail = (name: string) => [
      { name, conclusion: "failure" as const, message: "database is away" },
      { name },
    ];
    await acme.upload(cart, ["reads", "writes"].flatMap(fail), { recordedAt: NOW - 100 });
    const ids = ["reads", "writes"].map((name) => idOf(cart, { name }));
    const path = `/flaky-tests?quarantine=false&together=${ids[0]}`;
    const page = await get(app, path, { cookie });
    const [, tests = ""] = /name="tests" value="([0-9a-f ]+)"/.exec(page.text) ?? [];
    assert.deepEqual(tests.split(" ").sort(), ids.toSorted());
    assert.doesNotMatch(page.text, /curl --fail-with-body/);
    for (
      const [fields, message] of [
        [{ tests, expires: "soon" }, /invalid end &quot;soon&quot;/],
        [{ tests: `${tests} ${otherId}` }, /one of the tests does not exist/],
        [{ tests: "x" }, /expected at most 500 ids of tests/],
        [{}, /tests: missing/],
      ] as [Record<string, string>, RegExp][]
    ) {
      const wrong = await send(app, "/flaky-tests/quarantine", fields, cookie);
      assert.equal(wrong.status, 400, wrong.text);
      assert.match(wrong.text, message);
    }
    assert.deepEqual(await quarantined(), []);
    const sent = { tests, reason: "database", owner: "@acme/web", expires: "14d" };
    const added = await send(app, "/flaky-tests/quarantine", sent, cookie);
    assert.equal(added.status, 303, added.text);
    assert.equal(
      added.headers.get("location"),
      "../flaky-tests?quarantine=true&repository=acme%2Fcart",
    );
    assert.deepEqual(
      await quarantined(),
      Array(2).fill("ada@acme.example|database|@acme/web"),
    );
    for (const id of ids) {
      assert.equal((await send(app, `/tests/${id}/release`, {}, cookie)).status, 303);
    }
  });

  it("quarantines none of several tests if one was deleted after the form was checked", async () => {
    const shop = await acme.addRepository("acme", "gone");
    await acme.upload(shop, [...flaky("stays"), ...flaky("goes")]);
    const ids = ["stays", "goes"].map((name) => idOf(shop, { name }));
    const { sql } = database();
    const deleting = new Proxy(sql, {
      get: (target, name) =>
        name !== "begin" ? Reflect.get(target, name) : async (body: Transaction) => {
          await sql`delete from test where name = 'goes'`;
          return await sql.begin(body);
        },
    });
    const cookie = await cookieOf();
    const sent = { tests: ids.join(" "), reason: "database" };
    const answer = await send(
      appWith({ writableSql: deleting }),
      "/flaky-tests/quarantine",
      sent,
      cookie,
    );
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, /one of the tests was deleted meanwhile/);
    assert.deepEqual(await quarantined(), []);
  });

  it("responds with 404 if the test was deleted after the form was checked", async () => {
    const shop = await acme.addRepository("acme", "deleted");
    const { sql } = database();
    const cookie = await cookieOf();
    for (const [index, path] of ["quarantine", "release"].entries()) {
      for (const isLate of [true, false]) {
        const name = `vanishes ${index} ${isLate}`;
        await acme.upload(shop, flaky(name));
        const id = idOf(shop, { name });
        const remove = () => sql`delete from test where name = ${name}`;
        const deleting = new Proxy(sql, {
          // Before the test is looked up, or after it.
          apply(target, _, parameters) {
            const query = () => Reflect.apply(target, undefined, parameters);
            const isLookUp = String(parameters[0]).includes("t.test_hash =");
            return isLookUp && !isLate ? remove().then(query) : query();
          },
          get: (target, key) =>
            key !== "begin" ? Reflect.get(target, key) : async (body: Transaction) => {
              await remove();
              return await sql.begin(body);
            },
        });
        const app = appWith({ writableSql: deleting });
        const { status, text } = await send(app, `/tests/${id}/${path}`, {}, cookie);
        // A deleted test has no entry: its release leads to the page of the test, which says 404.
        assert.equal(
          status,
          isLate && path === "release" ? 303 : 404,
          `${path} ${isLate}: ${text}`,
        );
      }
    }
  });

  it("has the rules of the command line, and keeps a form that is wrong", async () => {
    const app = appWith();
    const cookie = await cookieOf();
    for (
      const [fields, message] of [
        [{ expires: "2001-01-01T00:00:00Z" }, /2001-01-01T00:00:00Z&quot; is not after/],
        [{ expires: "soon" }, /invalid end &quot;soon&quot;/],
        [{ owner: "x".repeat(201) }, /expected at most 200/],
        [{ reason: "a\u0000b" }, /control characters/],
        [{ type: "automatic" }, /unknown parameter: expected reason, owner, expires/],
        [{ by: "eve" }, /unknown parameter/],
      ] as [Record<string, string>, RegExp][]
    ) {
      const sent = { reason: "<b>why</b>", ...fields };
      const wrong = await send(app, `/tests/${id}/quarantine`, sent, cookie);
      assert.equal(wrong.status, 400);
      assert.match(wrong.text, message);
      assert.match(wrong.text, /Nothing was changed/);
      assert.match(wrong.text, /<button>Quarantine<\/button>/);
      if (!("reason" in fields)) assert.match(wrong.text, /value="&lt;b&gt;why&lt;\/b&gt;"/);
    }
    const long = await send(app, `/tests/${id}/quarantine`, { reason: "x".repeat(17_000) }, cookie);
    assert.match(long.text, /more than 16384 bytes/);
    assert.deepEqual(await quarantined(), []);
  });

  it("shows no form to those who may only read, and accepts none from them", async () => {
    const sealed = await cookieOf({ groups: ["guests"] });
    const token = `Bearer ${acme.token}`;
    const basic = `Basic ${btoa(`ada:${acme.token}`)}`;
    const editor = await cookieOf();
    const proxied = { "x-organization": "Acme", "x-user": "ada" };
    for (
      const [name, app, headers] of [
        ["a reader", appWith(), { cookie: sealed }],
        ["no editors set", appWith({ groups: [] }), { cookie: editor }],
        ["removed from the setting", appWith({ groups: ["leads"] }), { cookie: editor }],
        ["a token", appWith(), { authorization: token }],
        ["basic", appWith(), { authorization: basic }],
        ["basic and a session", appWith(), { authorization: basic, cookie: editor }],
        ["a proxy", appWith({ proxies: "10.0.0.7" }), proxied],
        [
          "a proxy and a session",
          appWith({ proxies: "10.0.0.7" }),
          { ...proxied, cookie: editor },
        ],
      ] as [string, App, Record<string, string>][]
    ) {
      const page = await get(app, `/tests/${id}`, headers);
      assert.equal(page.status, 200, name);
      assert.doesNotMatch(page.text, /form_token|Your tokens|action="\.\.\/(?:tests|tokens)/, name);
      assert.match(page.text, /curl --fail-with-body/, name);
      const form_token = await formTokenOf(appWith(), editor);
      for (
        const path of [
          `/tests/${id}/quarantine`,
          `/tests/${id}/release`,
          "/tokens",
          "/tokens/revoke",
        ]
      ) {
        const refused = await post(app, path, { form_token }, { ...headers, ...OWN });
        assert.equal(refused.status, 403, `${name}: ${path}`);
        assert.match(refused.text, /<h1>Not done/);
      }
      assert.equal((await get(app, "/tokens", headers)).status, 403, name);
    }
    assert.deepEqual(await quarantined(), []);
  });

  it("does not exist if nothing can be written, or without sign-in", async () => {
    const cookie = await cookieOf();
    const basic = { authorization: `Basic ${btoa(`ada:${acme.token}`)}`, accept: "text/html" };
    for (
      const [app, headers] of [
        [appWith({ isWritable: false }), { cookie }],
        [appWith({ hasSignIn: false }), basic],
      ] as [App, Record<string, string>][]
    ) {
      const page = await get(app, `/tests/${id}`, headers);
      assert.match(page.text, /curl --fail-with-body/);
      assert.doesNotMatch(page.text, /form_token|Your tokens/);
      for (const path of [`/tests/${id}/quarantine`, "/tokens", "/tokens/revoke"]) {
        const refused = await post(app, path, {}, { ...headers, ...OWN });
        assert.ok([401, 404].includes(refused.status), `${path}: ${refused.status}`);
      }
    }
  });

  it("refuses forged forms, each for one reason", async () => {
    const app = appWith();
    const cookie = await cookieOf();
    const own = await formTokenOf(app, cookie);
    const mallory = await cookieOf({ name: "mallory" });
    const foreign = await cookieOf({ organization: "other" });
    const again = await cookieOf();
    const path = `/tests/${id}/quarantine`;
    for (
      const [name, form_token, headers] of [
        ["no token", "", OWN],
        ["another", "x".repeat(43), OWN],
        ["of another person", await formTokenOf(app, mallory), OWN],
        ["of another organization", await formTokenOf(app, foreign), OWN],
        ["of another session of the person", await formTokenOf(app, again), OWN],
        ["another origin", own, { origin: "https://evil.example" }],
        ["a null origin", own, { origin: "null", "sec-fetch-site": "same-origin" }],
        ["another port", own, { origin: `${PUBLIC_URL}:8443` }],
        ["plain http", own, { origin: "http://flaky.example" }],
        ["cross-site", own, { ...OWN, "sec-fetch-site": "cross-site" }],
        ["same-site", own, { ...OWN, "sec-fetch-site": "same-site" }],
        ["typed", own, { "sec-fetch-site": "none" }],
        ["nothing about its origin", own, {}],
      ] as [string, string, Record<string, string>][]
    ) {
      const refused = await post(app, path, { form_token }, { cookie, ...headers });
      assert.equal(refused.status, 403, name);
    }
    const twice = new URLSearchParams([["form_token", own], ["form_token", own]]);
    const doubled = await app(
      new Request(`http://127.0.0.1${path}`, {
        method: "POST",
        headers: { cookie, ...OWN },
        body: twice,
      }),
    );
    assert.equal(doubled.status, 403);
    await doubled.body?.cancel();
    for (const type of ["text/plain", "multipart/form-data; boundary=x", "application/json"]) {
      const headers = { cookie, ...OWN, "content-type": type };
      const body = `form_token=${own}`;
      const request = new Request(`http://127.0.0.1${path}`, { method: "POST", headers, body });
      const response = await app(request);
      assert.equal(response.status, 400, type);
      await response.body?.cancel();
    }
    // A token in the address is none.
    assert.equal(
      (await post(app, `${path}?form_token=${own}`, {}, { cookie, ...OWN })).status,
      403,
    );
    // A form is sent; an address that leads here does nothing.
    const followed = await get(app, `${path}?reason=x&form_token=${own}`, { cookie });
    assert.deepEqual(
      [followed.status, followed.headers.get("location")],
      [303, `../../tests/${id}#quarantine`],
    );
    for (const method of ["PUT", "DELETE", "PATCH"]) {
      const response = await app(
        new Request(`http://127.0.0.1${path}`, { method, headers: { cookie, ...OWN } }),
      );
      assert.equal(response.status, 405, method);
      await response.body?.cancel();
    }
    assert.deepEqual(await quarantined(), []);
    // Older browsers send one of the two.
    const either: Record<string, string>[] = [
      { origin: PUBLIC_URL },
      { "sec-fetch-site": "same-origin" },
    ];
    for (const headers of either) {
      const sent = await post(app, `/tests/${id}/release`, { form_token: own }, {
        cookie,
        ...headers,
      });
      assert.equal(sent.status, 303);
    }
  });

  it("ends with the session, and with a new secret", async () => {
    const app = appWith();
    const cookie = await cookieOf();
    const form_token = await formTokenOf(app, cookie);
    clock.now = NOW + 43_201;
    const late = await post(app, "/tokens", { form_token }, { cookie, ...OWN });
    assert.equal(late.status, 401);
    clock.now = NOW;
    const changed = cookie.slice(0, -4) + (cookie.endsWith("AAAA") ? "BBBB" : "AAAA");
    for (const one of [changed, await cookieOf({ secret: "another" })]) {
      assert.equal(
        (await post(app, "/tokens", { form_token }, { cookie: one, ...OWN })).status,
        401,
      );
    }
  });

  it("does not reach the tests of other organizations, nor tests that do not exist", async () => {
    const app = appWith();
    const cookie = await cookieOf();
    for (const one of [otherId, testId(1, 1), "x"]) {
      const refused = await send(app, `/tests/${one}/quarantine`, { reason: "x" }, cookie);
      assert.equal(refused.status, 404, one);
      assert.match(refused.text, /There is no such/);
    }
    const { organizationId } = other.organization;
    assert.deepEqual(await listQuarantined(database().sql, organizationId, NOW), []);
  });

  it("makes a token for the API that is shown once, ends after 90 days, and can be revoked", async () => {
    const app = appWith();
    const cookie = await cookieOf();
    const made = await send(app, "/tokens", { purpose: "my <laptop>" }, cookie);
    assert.equal(made.status, 200, made.text);
    assert.equal(made.headers.get("cache-control"), "no-store");
    const [plain = ""] = /tk_[0-9a-f]{64}/.exec(made.text) ?? [];
    assert.equal(
      (await acme.get("/api/me/repositories", { authorization: `Bearer ${plain}` })).status,
      200,
    );
    const list = await get(app, "/tokens", { cookie });
    assert.ok(!list.text.includes(plain));
    assert.match(list.text, /ada@acme\.example: my &lt;laptop&gt;/);
    assert.equal(list.headers.get("etag"), null);
    const { organizationId } = acme.organization;
    const token = (await listTokens(database().sql, organizationId)).at(-1)!;
    assert.equal(token.type, "api_token");
    assert.equal(token.expiresAt, NOW + 90 * DAY);
    assert.equal(token.label, "ada@acme.example: my <laptop>");
    // No other person sees or revokes it, not even one with the same name.
    const token_id = String(token.apiTokenId);
    for (const name of ["mallory", "ada@acme.example "]) {
      const others = await cookieOf({ name });
      assert.match((await get(app, "/tokens", { cookie: others })).text, /You have no token/);
      const refused = await send(app, "/tokens/revoke", { token_id }, others);
      assert.equal(refused.status, 400);
      assert.match(refused.text, /none of your tokens has this id/);
    }
    const elsewhere = await cookieOf({ organization: "other" });
    assert.equal((await send(app, "/tokens/revoke", { token_id }, elsewhere)).status, 400);
    const byOperator = (await listTokens(database().sql, organizationId))[0]!.apiTokenId;
    for (const one of [String(byOperator), "0", "-1", "x", "99999999999", ""]) {
      assert.equal((await send(app, "/tokens/revoke", { token_id: one }, cookie)).status, 400, one);
    }
    const revoked = await send(app, "/tokens/revoke", { token_id }, cookie);
    assert.equal(revoked.status, 303);
    assert.equal(revoked.headers.get("location"), "../tokens");
    assert.equal(
      (await acme.get("/api/me/repositories", { authorization: `Bearer ${plain}` })).status,
      401,
    );
    assert.match((await get(app, "/tokens", { cookie })).text, /You have no token/);
    const changes = await listChanges(database().sql, organizationId);
    assert.deepEqual(
      changes.slice(-2).map(({ author, command, subject }) => [author, command, subject]),
      ["create", "revoke"].map((
        what,
      ) => ["ada@acme.example (signed in)", `token ${what}`, token_id]),
    );
    for (const text of [...lines, JSON.stringify(changes)]) {
      assert.ok(!text.includes(plain) && !text.includes(cookie.slice(20)));
    }
  });

  it("lets a person have ten tokens", async () => {
    const app = appWith();
    const cookie = await cookieOf({ name: "collector" });
    for (let count = 0; count < 10; count++) {
      assert.equal((await send(app, "/tokens", {}, cookie)).status, 200);
    }
    const refused = await send(app, "/tokens", {}, cookie);
    assert.equal(refused.status, 400);
    assert.match(refused.text, /you have 10 tokens/);
    const long = await send(app, "/tokens", { purpose: "x".repeat(190) }, await cookieOf());
    assert.equal(long.status, 400);
  });

  it("lets a person have ten tokens, even if several are asked for at once", async () => {
    const app = appWith();
    const cookie = await cookieOf({ name: "hurried" });
    for (let count = 0; count < 9; count++) {
      assert.equal((await send(app, "/tokens", {}, cookie)).status, 200);
    }
    const form_token = await formTokenOf(app, cookie);
    const answers = await Promise.all(
      [1, 2, 3].map(() => post(app, "/tokens", { form_token }, { cookie, ...OWN })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400]);
    const { text } = await get(app, "/tokens", { cookie });
    assert.equal(text.match(/aria-label="Revoke /g)?.length, 10);
  });

  it("shows names that are HTML as text", async () => {
    const app = appWith();
    const cookie = await cookieOf({ name: "<img src=x onerror=alert(1)>" });
    const fields = { reason: "<script>alert(1)</script>", owner: '"><svg onload=x>' };
    assert.equal((await send(app, `/tests/${id}/quarantine`, fields, cookie)).status, 303);
    for (const path of [`/tests/${id}`, "/tokens", "/owners", "/flaky-tests"]) {
      const { status, text } = await get(app, path, { cookie });
      assert.equal(status, 200, path);
      assert.doesNotMatch(text, /<img|<script|<svg onload/, path);
    }
    assert.equal((await send(app, `/tests/${id}/release`, {}, cookie)).status, 303);
  });

  it("never gives the page of one session to another", async () => {
    const app = appWith();
    const [ada, grace] = [await cookieOf(), await cookieOf({ name: "grace" })];
    const reader = await cookieOf({ name: "rob", groups: [] });
    const pages = [];
    for (const cookie of [ada, grace, reader]) {
      pages.push(await get(app, `/tests/${id}`, { cookie }));
    }
    assert.equal(new Set(pages.map(({ headers }) => headers.get("etag"))).size, 3);
    const tokens = pages.map(({ text }) => /form_token" value="([\w-]+)"/.exec(text)?.[1]);
    assert.equal(tokens[0], await formTokenOf(app, ada));
    assert.equal(tokens[1], await formTokenOf(app, grace));
    assert.equal(tokens[2], undefined);
    const etag = pages[0]!.headers.get("etag")!;
    const other = await get(app, `/tests/${id}`, { cookie: grace, "if-none-match": etag });
    assert.equal(other.status, 200);
  });
});
