/** ID tokens and responses that no honest provider sends, and what becomes of them. */
import { after, before, describe, it } from "@std/testing/bdd";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import assert from "node:assert/strict";
import { createLog } from "../../../../lib/base/log.ts";
import type { Session } from "../../../../lib/http/sign_in/sessions.ts";
import { createSignIn } from "../../../../lib/http/sign_in/sign_in.ts";
import { Cookies } from "./provider.ts";

const PUBLIC_URL = "https://flaky.example";
const CLIENT_ID = "test-analytics";
const SECRET = "s3cr3t-of-the-client-with-32-characters";

/** What a provider says in place of what an honest one would. */
interface Lies {
  claims?: JWTPayload & Record<string, unknown>;
  /** Signs with a key that the provider does not publish. */
  hasOtherKey?: boolean;
  /** Publishes and uses another key, of this id. */
  nextKey?: string;
  alg?: "none" | "HS256";
  discoveredIssuer?: string;
  noIdToken?: boolean;
  /** What its userinfo endpoint responds with; without it, the provider has none. */
  userInfo?: Response | Record<string, unknown>;
}

describe("sign-in with a hostile provider", () => {
  const lines: string[] = [];
  const log = createLog({ write: (line) => void lines.push(line), now: () => 0 });
  const now = () => Math.floor(Date.now() / 1000);
  let server: Deno.HttpServer<Deno.NetAddr>;
  let issuer = "";
  let nonce = "";
  let lies: Lies = {};
  let keys: CryptoKeyPair;
  let others: CryptoKeyPair;

  before(async () => {
    keys = await generateKeyPair("RS256");
    others = await generateKeyPair("RS256");
    const published = async ({ publicKey }: CryptoKeyPair, kid: string) => (
      { ...await exportJWK(publicKey), kid, alg: "RS256", use: "sig" }
    );
    server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async ({ url }) => {
      switch (new URL(url).pathname) {
        case "/.well-known/openid-configuration":
          return Response.json({
            issuer: lies.discoveredIssuer ?? issuer,
            authorization_endpoint: `${issuer}/auth`,
            token_endpoint: `${issuer}/token`,
            jwks_uri: `${issuer}/jwks`,
            ...lies.userInfo && { userinfo_endpoint: `${issuer}/userinfo` },
            id_token_signing_alg_values_supported: ["RS256"],
          });
        case "/jwks":
          return Response.json({
            keys: [await published(lies.nextKey ? others : keys, lies.nextKey ?? "1")],
          });
        case "/token":
          return Response.json({
            access_token: "access-token-of-the-provider",
            token_type: "Bearer",
            ...!lies.noIdToken && { id_token: await idToken() },
          });
        case "/userinfo":
          return lies.userInfo instanceof Response ? lies.userInfo : Response.json(lies.userInfo);
        default:
          return new Response(null, { status: 404 });
      }
    });
    issuer = `http://127.0.0.1:${server.addr.port}`;
  });
  after(() => server.shutdown());

  async function idToken(): Promise<string> {
    const claims: JWTPayload = {
      iss: issuer,
      sub: "ada",
      aud: CLIENT_ID,
      iat: now(),
      exp: now() + 300,
      nonce,
      preferred_username: "ada",
      ...lies.claims,
    };
    if (lies.alg === "none") {
      const parts = [{ alg: "none" }, claims].map((part) =>
        btoa(JSON.stringify(part)).replaceAll("=", "").replaceAll("+", "-").replaceAll("/", "_")
      );
      return `${parts.join(".")}.`;
    }
    const token = new SignJWT(claims).setProtectedHeader({
      alg: lies.alg ?? "RS256",
      kid: lies.nextKey ?? "1",
    });
    if (lies.alg === "HS256") return await token.sign(new TextEncoder().encode(SECRET));
    return await token.sign((lies.hasOtherKey || lies.nextKey ? others : keys).privateKey);
  }

  /** Signs in, as far as it goes. `more` is added to the address that leads back. */
  async function signIn(told: Lies, more = ""): Promise<[status: number, isSignedIn: boolean]> {
    const [status, found] = await sessionAfter(told, more);
    return [status, found !== null];
  }

  function newService() {
    const settings = {
      issuer,
      clientId: CLIENT_ID,
      clientSecret: SECRET,
      organization: { name: "acme" },
      editors: { groups: ["qa"], claim: "groups" },
      publicUrl: PUBLIC_URL,
    };
    return createSignIn(settings, { log, now, hasOrganization: () => Promise.resolve(true) });
  }

  async function sessionAfter(
    told: Lies,
    more = "",
    { respond, session } = newService(),
  ): Promise<[number, Session | null]> {
    lies = told;
    const cookies = new Cookies();
    const ask = async (path: string, search: string) => {
      const headers = { cookie: cookies.header };
      const response = await respond(new Request(`${PUBLIC_URL}${path}`, { headers }), {
        path,
        search,
      });
      cookies.take(response!);
      await response!.body?.cancel();
      return response!;
    };
    const begun = await ask("/sign-in", "");
    if (begun.status !== 302) return [begun.status, null];
    const asked = new URL(begun.headers.get("location")!).searchParams;
    nonce = asked.get("nonce")!;
    const done = await ask("/sign-in/callback", `?code=c0de&state=${asked.get("state")}${more}`);
    return [done.status, await session(new Headers({ cookie: cookies.header }))];
  }

  it("takes what an honest one sends", async () => {
    assert.deepEqual(await signIn({}), [302, true]);
    assert.deepEqual(await signIn({}, `&iss=${encodeURIComponent(issuer)}`), [302, true]);
    assert.deepEqual(await signIn({ claims: { aud: [CLIENT_ID] } }), [302, true]);
  });

  for (
    const [name, told] of [
      ["another nonce", { claims: { nonce: "n0nce" } }],
      ["no nonce", { claims: { nonce: undefined } }],
      ["another audience", { claims: { aud: "another-client" } }],
      ["several audiences without its own as the party", {
        claims: { aud: [CLIENT_ID, "other"], azp: "other" },
      }],
      ["another issuer in the token", { claims: { iss: "https://accounts.example" } }],
      ["another issuer in its discovery document", {
        discoveredIssuer: "https://accounts.example",
      }],
      ["a token that ended a minute ago", { claims: { exp: Math.floor(Date.now() / 1000) - 60 } }],
      ["a token without an end", { claims: { exp: undefined } }],
      ["a token of the future", { claims: { iat: Math.floor(Date.now() / 1000) + 3_600 } }],
      ["an old token", { claims: { iat: Math.floor(Date.now() / 1000) - 3_000 } }],
      ["no time of issue", { claims: { iat: undefined } }],
      ["no subject", { claims: { sub: undefined } }],
      ["a subject of 300 characters", { claims: { sub: "x".repeat(300) } }],
      ["a signature by another key", { hasOtherKey: true }],
      ["no signature", { alg: "none" }],
      ["a signature with the secret", { alg: "HS256" }],
      ["no ID token", { noIdToken: true }],
    ] as [string, Lies][]
  ) {
    it(`refuses ${name}`, async () => {
      const [status, isSignedIn] = await signIn(told);
      assert.deepEqual([status, isSignedIn], [502, false]);
    });
  }

  it("takes the signature by a new key of the provider at once, whatever its id", async () => {
    for (const nextKey of ["2", "1"]) {
      const service = newService();
      assert.equal((await sessionAfter({}, "", service))[0], 302);
      assert.equal((await sessionAfter({ nextKey }, "", service))[0], 302, nextKey);
      assert.equal((await sessionAfter({ hasOtherKey: true }, "", service))[0], 502);
    }
  });

  it("refuses the response of another provider, and parameters that are sent twice", async () => {
    for (const more of ["&iss=https://accounts.example", "&state=x", "&code=x"]) {
      const [status, isSignedIn] = await signIn({}, more);
      assert.ok(status === 502 || status === 403, String(status));
      assert.equal(isSignedIn, false, more);
    }
  });

  it("gives no right by a userinfo that is not the person's, or contradicts the ID token", async () => {
    const rights = async (told: Lies) => {
      const [status, session] = await sessionAfter(told);
      assert.equal(status, 302);
      return [session?.name, session?.isEditor];
    };
    const own = { sub: "ada", groups: ["qa"] };
    assert.deepEqual(await rights({ userInfo: own }), ["ada", true]);
    for (
      const [name, userInfo] of [
        ["another person's", { ...own, sub: "grace" }],
        ["nobody's", { groups: ["qa"] }],
        ["an error", new Response(null, { status: 500 })],
        ["a redirect", new Response(null, { status: 302, headers: { location: "/userinfo" } })],
        ["no JSON", new Response("{", { headers: { "content-type": "application/json" } })],
        ["too large", { ...own, more: "x".repeat(300_000) }],
      ] as [string, Response | Record<string, unknown>][]
    ) assert.deepEqual(await rights({ userInfo }), ["ada", false], name);
    const claims = { groups: ["guests"], preferred_username: undefined };
    const more = { ...own, preferred_username: "ada@acme.example" };
    assert.deepEqual(await rights({ claims, userInfo: more }), ["ada@acme.example", false]);
  });

  it("writes nothing secret to the log", () => {
    for (const line of lines) {
      for (const secret of [SECRET, "access-token-of-the-provider", "c0de", "eyJ"]) {
        assert.ok(!line.includes(secret), line);
      }
    }
  });

  it("replaces unpaired surrogates in a name, which the database does not take", async () => {
    lies = {};
    assert.deepEqual(await signIn({ claims: { preferred_username: "x\ud800y" } }), [302, true]);
    assert.match(lines.findLast((line) => line.includes("signed in"))!, /user="x\ufffdy"/);
  });

  it("takes one line of at most 100 characters as a name, and cuts the cookie off at 4 kB", async () => {
    lies = {};
    const long = {
      preferred_username: ` a\n\u202eb${"\u{1f600}".repeat(300)}`,
      groups: Array(500).fill("g"),
    };
    assert.deepEqual(await signIn({ claims: long }), [302, true]);
    const line = lines.findLast((line) => line.includes("signed in"))!;
    assert.doesNotMatch(line, /\u202e|\n./);
    assert.deepEqual(
      await signIn({ claims: { preferred_username: "\u0001", name: "", email: 7 } }),
      [302, true],
    );
    assert.match(lines.findLast((line) => line.includes("signed in"))!, /user=ada/);
  });
});
