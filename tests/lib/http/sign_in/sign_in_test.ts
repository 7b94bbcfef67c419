/** Sign-in of people with a provider of OpenID Connect. */
import { after, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { findOrganization } from "../../../../db/admin/organizations.ts";
import { createLog } from "../../../../lib/base/log.ts";
import { WINDOW_SECONDS } from "../../../../lib/base/time.ts";
import type { App } from "../../../../lib/http/request/context.ts";
import { createSeal } from "../../../../lib/http/sign_in/sealed_cookies.ts";
import type { SignInSettings } from "../../../../lib/http/sign_in/settings.ts";
import { createSignIn, pathWithin } from "../../../../lib/http/sign_in/sign_in.ts";
import { createApp } from "../../../../routes/mod.ts";
import { describeWithDatabase } from "../../../database.ts";
import { createFixture } from "../../../routes/fixture.ts";
import { threadMs } from "../../../thread_time.ts";
import {
  CLIENT_ID,
  CLIENT_SECRET,
  Cookies,
  passThrough,
  startProvider,
  type TestProvider,
} from "./provider.ts";

const PUBLIC_URL = "https://flaky.example";
const SESSION = "__Host-session";

describeWithDatabase("sign-in", (database) => {
  let provider: TestProvider;
  let token = "";
  const lines: string[] = [];
  const log = createLog({ write: (line) => void lines.push(line), now: () => 0 });
  let ahead = 0;
  const now = () => Math.floor(Date.now() / 1000) + ahead;
  const hasOrganization = async (name: string) =>
    await findOrganization(database().sql, name) !== null;

  before(async () => {
    provider = await startProvider(`${PUBLIC_URL}/sign-in/callback`);
    const acme = await createFixture(database(), { name: "Acme" });
    token = acme.token;
    await acme.addRepository("acme", "shop");
    const other = await createFixture(database(), { name: "other" });
    await other.addRepository("other", "secret");
  });
  after(() => provider.close());

  function settingsOf(
    {
      organization = { name: "Acme" } as { name: string } | { claim: string },
      clientSecret = CLIENT_SECRET,
      issuer = provider.issuer,
      publicUrl = PUBLIC_URL,
    },
  ): SignInSettings {
    return {
      issuer,
      clientId: CLIENT_ID,
      clientSecret,
      organization,
      editors: { groups: ["qa"], claim: "groups" },
      publicUrl,
    };
  }

  function appWith(options: Parameters<typeof settingsOf>[0] = {}): App {
    return createApp({
      sql: database().sql,
      windowSeconds: WINDOW_SECONDS,
      log,
      signIn: createSignIn(settingsOf(options), { log, now, hasOrganization }),
    });
  }

  /** Sends a request as a browser with these cookies. */
  async function visit(app: App, path: string, cookies: Cookies, init: RequestInit = {}) {
    const headers = { cookie: cookies.header, ...Object.fromEntries(new Headers(init.headers)) };
    const response = await app(new Request(`http://127.0.0.1:8000${path}`, { ...init, headers }));
    cookies.take(response);
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Signs in; returns the cookies. */
  async function signedIn(app: App, account = "ada"): Promise<Cookies> {
    const cookies = new Cookies();
    const begun = await visit(app, "/sign-in?to=%2Frepos", cookies);
    assert.equal(begun.status, 302, begun.text);
    const back = await passThrough(begun.headers.get("location")!, account);
    const done = await visit(app, back.slice(PUBLIC_URL.length), cookies);
    assert.equal(done.status, 302, done.text + lines.slice(-2).join("\n"));
    assert.equal(done.headers.get("location"), `${PUBLIC_URL}/repos`);
    return cookies;
  }

  it("leads through the provider back to the page, names the person, and ends", async () => {
    const app = appWith();
    const stranger = await visit(app, "/repos?q=a", new Cookies());
    assert.equal(stranger.status, 401);
    assert.equal(stranger.headers.get("www-authenticate"), "Bearer");
    assert.match(stranger.text, /open <a href="docs">the documentation<\/a>, enter an API\ntoken/);
    assert.match(stranger.text, /href="sign-in\?to=%2Frepos%3Fq%3Da">Sign in</);
    const cookies = await signedIn(app);
    const page = await visit(app, "/repos", cookies);
    assert.equal(page.status, 200);
    assert.match(page.text, /acme\/shop/);
    assert.doesNotMatch(page.text, /secret/);
    assert.match(
      page.text,
      /<form class="session" method="post" action="sign-out"><button>Sign out/,
    );
    assert.match(lines.at(-1)!, /status=200 .*user=ada@acme\.example/);
    assert.equal((await visit(app, "/repos/other/secret", cookies)).status, 404);
    const html = { headers: { accept: "text/html" } };
    const mistyped = await visit(app, "/nope", cookies, html);
    assert.deepEqual([mistyped.status, /Not found/.test(mistyped.text)], [404, true]);
    const unknown = await visit(app, "/nope", new Cookies(), html);
    assert.deepEqual([unknown.status, unknown.text], [401, ""]);
    const ended = await visit(app, "/sign-out", cookies, { method: "POST" });
    assert.equal(ended.status, 200);
    assert.equal(cookies.get(SESSION), undefined);
    assert.equal((await visit(app, "/repos", cookies)).status, 401);
  });

  it("sets cookies that scripts, other hosts and plain http cannot have", async () => {
    const app = appWith();
    const cookies = new Cookies();
    const begun = await visit(app, "/sign-in", cookies);
    const back = await passThrough(begun.headers.get("location")!, "ada");
    const done = await visit(app, back.slice(PUBLIC_URL.length), cookies);
    const set = [...begun.headers.getSetCookie(), ...done.headers.getSetCookie()];
    assert.equal(set.length, 3);
    for (const line of set) {
      assert.match(
        line,
        /^__Host-[a-z-]+=[^;]*; Path=\/; Max-Age=\d+; HttpOnly; Secure; SameSite=Lax$/,
      );
    }
    assert.match(set[1]!, /Max-Age=43200;/);
    // Nothing can be read in it, and nothing of it is in the log.
    assert.doesNotMatch(
      atob(set[1]!.split(".")[3]!.replaceAll("-", "+").replaceAll("_", "/")),
      /ada/,
    );
    for (const line of lines) assert.ok(!line.includes(cookies.get(SESSION)!));
  });

  it("asks the provider with PKCE, state and nonce, each time others", async () => {
    const app = appWith();
    const asked = await Promise.all([1, 2].map(async () => {
      const { headers } = await visit(app, "/sign-in", new Cookies());
      return new URL(headers.get("location")!).searchParams;
    }));
    for (const name of ["state", "nonce", "code_challenge"]) {
      const [one, two] = asked.map((parameters) => parameters.get(name));
      assert.match(one ?? "", /^[\w-]{43}$/, name);
      assert.notEqual(one, two);
    }
    assert.equal(asked[0]!.get("code_challenge_method"), "S256");
    assert.equal(asked[0]!.get("redirect_uri"), `${PUBLIC_URL}/sign-in/callback`);
  });

  it("is refused in another browser than it was begun in, and twice", async () => {
    const app = appWith();
    const [own, victim] = [new Cookies(), new Cookies()];
    const begun = await visit(app, "/sign-in", own);
    const back = (await passThrough(begun.headers.get("location")!, "mallory"))
      .slice(PUBLIC_URL.length);
    // A stranger's link, with and without a sign-in of one's own that has begun.
    assert.equal((await visit(app, back, victim)).status, 400);
    await visit(app, "/sign-in", victim);
    const mixed = await visit(app, back, victim);
    assert.equal(mixed.status, 400);
    assert.match(mixed.text, /another sign-in was begun in this browser since/);
    assert.equal(victim.get(SESSION), undefined);
    const pending = own.header;
    assert.equal((await visit(app, back, own)).status, 302);
    const again = await app(
      new Request(`http://127.0.0.1:8000${back}`, { headers: { cookie: pending } }),
    );
    assert.equal(again.status, 403);
    await again.body?.cancel();
  });

  it("ends after twelve hours, and what was begun after ten minutes", async () => {
    const app = appWith();
    const cookies = await signedIn(app);
    ahead = 12 * 3_600 - 60;
    assert.equal((await visit(app, "/repos", cookies)).status, 200);
    ahead = 12 * 3_600 + 1;
    assert.equal((await visit(app, "/repos", cookies)).status, 401);
    ahead = 0;
    const late = new Cookies();
    const begun = await visit(app, "/sign-in", late);
    const back = await passThrough(begun.headers.get("location")!, "ada");
    ahead = 601;
    assert.equal((await visit(app, back.slice(PUBLIC_URL.length), late)).status, 400);
    ahead = 0;
  });

  it("does not take a cookie that was changed, made elsewhere or for something else", async () => {
    const app = appWith();
    const cookies = await signedIn(app);
    const good = cookies.get(SESSION)!;
    const pending = new Cookies();
    await visit(app, "/sign-in", pending);
    const parts = good.split(".");
    for (
      const value of [
        good.slice(0, -2) + (good.endsWith("AA") ? "BB" : "AA"),
        [parts[0], "", parts[2], parts[3]!.slice(4), parts[4]].join("."),
        pending.get("__Host-sign-in")!,
        "x".repeat(5_000),
        "e30.e30.e30",
      ]
    ) {
      const { status } = await visit(app, "/repos", new Cookies(), {
        headers: { cookie: `${SESSION}=${value}` },
      });
      assert.equal(status, 401, value.slice(0, 40));
    }
    // Sessions outlive a restart, but not a new secret.
    assert.equal((await visit(appWith(), "/repos", cookies)).status, 200);
    const other = appWith({ clientSecret: "another" });
    assert.equal((await visit(other, "/repos", cookies)).status, 401);
  });

  it("takes processor time for each guess of the secret, because a cookie tells which one is right", () => {
    const begun = threadMs();
    for (let guess = 0; guess < 3; guess++) createSeal(`guess ${guess}`);
    assert.ok(threadMs() - begun > 3 * 10, `${threadMs() - begun} ms`);
  });

  it("opens the pages and not the API, where only a token counts", async () => {
    const app = appWith();
    const cookies = await signedIn(app);
    for (const path of ["/api/me/repositories", "/api"]) {
      assert.equal((await visit(app, path, cookies)).status, 401, path);
    }
    const wrong = { headers: { authorization: "Bearer tk_wrong" } };
    assert.equal((await visit(app, "/repos", cookies, wrong)).status, 401);
    const bearer = { headers: { authorization: `Bearer ${token}` } };
    const page = await visit(app, "/repos", cookies, bearer);
    assert.equal(page.status, 200);
    assert.doesNotMatch(page.text, /Sign out/);
    const basic = { headers: { authorization: `Basic ${btoa(`x:${token}`)}` } };
    assert.equal((await visit(app, "/repos", new Cookies(), basic)).status, 200);
  });

  it("takes the organization of a claim, and refuses who has none", async () => {
    const app = appWith({ organization: { claim: "organization" } });
    assert.equal((await visit(app, "/repos", await signedIn(app))).status, 200);
    const without = appWith({ organization: { claim: "team" } });
    const cookies = new Cookies();
    const begun = await visit(without, "/sign-in", cookies);
    const back = await passThrough(begun.headers.get("location")!, "ada");
    const refused = await visit(without, back.slice(PUBLIC_URL.length), cookies);
    assert.equal(refused.status, 403);
    assert.equal(cookies.get(SESSION), undefined);
  });

  it("says so when the provider refuses or cannot be reached", async () => {
    const app = appWith();
    const cookies = new Cookies();
    const begun = await visit(app, "/sign-in", cookies);
    const state = new URL(begun.headers.get("location")!).searchParams.get("state");
    const denied = `/sign-in/callback?error=access_denied&state=${state}&iss=${
      encodeURIComponent(provider.issuer)
    }`;
    const refused = await visit(app, denied, cookies);
    assert.deepEqual([refused.status, cookies.get(SESSION)], [403, undefined]);
    const away = await visit(appWith({ issuer: "http://127.0.0.1:1" }), "/sign-in", new Cookies());
    assert.equal(away.status, 502);
    assert.match(away.text, /provider cannot be reached/);
  });

  it("is refused when the clocks differ by a minute, in either direction", async () => {
    const app = appWith();
    for (const [difference, status] of [[-60, 502], [60, 502], [-10, 302], [10, 302]] as const) {
      ahead = difference;
      const cookies = new Cookies();
      const begun = await visit(app, "/sign-in", cookies);
      const back = await passThrough(begun.headers.get("location")!, "ada");
      const done = await visit(app, back.slice(PUBLIC_URL.length), cookies);
      ahead = 0;
      assert.equal(done.status, status, String(difference));
      if (status === 302) continue;
      assert.match(done.text, /the clocks of the provider and of this service differ by \d\d s/);
      assert.equal(cookies.get(SESSION), undefined);
    }
  });

  it("has cookies for its own path where the service is below one", async () => {
    const publicUrl = "https://example.org/below";
    const below = await startProvider(`${publicUrl}/sign-in/callback`);
    try {
      const app = appWith({ issuer: below.issuer, publicUrl });
      const cookies = new Cookies();
      // The proxy removes the path.
      const begun = await visit(app, "/sign-in?to=/owners", cookies);
      const back = await passThrough(begun.headers.get("location")!, "ada");
      assert.ok(back.startsWith(`${publicUrl}/sign-in/callback?`), back);
      const done = await visit(app, back.slice(publicUrl.length), cookies);
      assert.equal(done.headers.get("location"), `${publicUrl}/owners`);
      for (const response of [begun, done]) {
        for (const line of response.headers.getSetCookie()) {
          assert.match(
            line,
            /^__Secure-[a-z-]+=[^;]*; Path=\/below; .*HttpOnly; Secure; SameSite=Lax$/,
          );
        }
      }
      assert.equal((await visit(app, "/repos", cookies)).status, 200);
      const ended = await visit(app, "/sign-out", cookies, { method: "POST" });
      assert.match(
        ended.headers.getSetCookie()[0]!,
        /^__Secure-session=; Path=\/below; Max-Age=0;/,
      );
    } finally {
      await below.close();
    }
  });

  it("ends with a reason where the organization does not exist", async () => {
    const app = appWith({ organization: { name: "gone" } });
    const cookies = new Cookies();
    const begun = await visit(app, "/sign-in", cookies);
    const back = await passThrough(begun.headers.get("location")!, "ada");
    const { status, text } = await visit(app, back.slice(PUBLIC_URL.length), cookies);
    assert.equal(status, 403);
    assert.match(text, /You are not signed in: the account belongs to no organization here/);
    assert.equal(cookies.get(SESSION), undefined);
    assert.match(
      lines.join("\n"),
      /error="no such organization" user=ada@acme\.example organization=gone/,
    );
  });

  it("knows who may act by the groups of the provider", async () => {
    for (const [account, isEditor] of [["ada", true], ["guest", false]] as const) {
      const app = appWith();
      const cookies = await signedIn(app, account);
      const settings = settingsOf({});
      const session = await createSignIn(settings, { log, now, hasOrganization })
        .session(new Headers({ cookie: cookies.header }));
      assert.equal(session?.isEditor, isEditor, account);
      assert.equal(session?.person, `${provider.issuer} ${account}`);
      // Of a group that has lost the right since then.
      const others = { ...settings, editors: { groups: ["leads"], claim: "groups" } };
      const later = await createSignIn(others, { log, now, hasOrganization })
        .session(new Headers({ cookie: cookies.header }));
      assert.equal(later?.isEditor, false);
    }
  });

  it("asks the provider for the claims that its ID token lacks", async () => {
    const thin = await startProvider(`${PUBLIC_URL}/sign-in/callback`, { isThin: true });
    try {
      const settings = settingsOf({
        issuer: thin.issuer,
        organization: { claim: "organization" },
      });
      const signIn = createSignIn(settings, { log, now, hasOrganization });
      const app = createApp({
        sql: database().sql,
        windowSeconds: WINDOW_SECONDS,
        log,
        signIn,
      });
      for (const [account, isEditor] of [["ada", true], ["guest", false]] as const) {
        const cookies = await signedIn(app, account);
        const session = await signIn.session(new Headers({ cookie: cookies.header }));
        assert.deepEqual(
          [session?.name, session?.organization, session?.isEditor],
          [`${account}@acme.example`, "Acme", isEditor],
        );
      }
    } finally {
      await thin.close();
    }
  });

  it("is not ended by the page of another site", async () => {
    const app = appWith();
    const cookies = await signedIn(app);
    const forgeries: Record<string, string>[] = [
      { "sec-fetch-site": "cross-site" },
      { origin: "https://evil.example" },
      { origin: "null" },
    ];
    for (const headers of forgeries) {
      const forged = { method: "POST", headers };
      assert.equal((await visit(app, "/sign-out", cookies, forged)).status, 403);
    }
    assert.equal((await visit(app, "/repos", cookies)).status, 200);
  });

  it("leads to no other site afterwards", () => {
    for (
      const text of [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "repos",
        "",
        `/${"x".repeat(1_001)}`,
        // Encoded, it has no room in the cookie.
        `/${"\u{1f600}".repeat(400)}`,
      ]
    ) assert.equal(pathWithin(text), "/", text);
    assert.equal(pathWithin("/repos/acme/shop?q=a%20b#x"), "/repos/acme/shop?q=a%20b");
  });
});
