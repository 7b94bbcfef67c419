/**
 * Sign-in of people by OpenID Connect: the authorization code flow with PKCE, state and nonce, by
 * `oauth4webapi`. Nothing is stored: what the service has to remember is in sealed cookies.
 */
import * as oauth from "oauth4webapi";
import * as v from "valibot";
import { errorCode, errorMessage } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { cutText, oneLine } from "../../base/text.ts";
import { layout, PAGE_HEADERS } from "../../html/layout.ts";
import { type Markup, markup } from "../../html/markup.ts";
import { FORM_TOKEN } from "./form_token.ts";
import { cookieOf, createSeal, isEqual } from "./sealed_cookies.ts";

/** A working day. */
const SESSION_SECONDS = 12 * 60 * 60;
/** Time to enter a password and a second factor. */
const PENDING_SECONDS = 10 * 60;
/** For a request to the provider, and how long what its discovery document says is used. */
const TIMEOUT_MS = 10_000;
const FRESH_MS = 10 * 60_000;
const MAX_BODY_BYTES = 256 * 1024;
/** The clock of the provider may differ from ours. An ID token is issued while we wait for it. */
const MAX_CLOCK_DIFFERENCE_SECONDS = 30;
/** Short enough for the label of a token. */
const MAX_NAME_CHARACTERS = 100;
/** As OpenID Connect limits the subject. */
const MAX_SUBJECT_CHARACTERS = 255;
const MAX_ORGANIZATION_CHARACTERS = 200;
const MAX_GROUPS = 10;
const MAX_PATH_CHARACTERS = 1_000;

/** Who is signed in. */
export interface Session {
  organization: string;
  /** The name of the person, for the log. */
  name: string;
  /** Issuer and subject of the account: a name may change, or belong to somebody else one day. */
  person: string;
  /** Whether the person is in a group that may act. */
  isEditor: boolean;
  /** What forms send along, against requests that other sites forge. */
  formToken: string;
}

/** What sign-in needs to know. */
export interface SignInSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The organization of all who may sign in, or the claim that names each person's. */
  organization: { name: string } | { claim: string };
  /** The groups that may act, and the claim that names the groups of a person. */
  editors: { groups: readonly string[]; claim: string };
  /** The address of the service as its users see it, without a slash at its end. */
  publicUrl: string;
}

/** Signs people in. */
export interface SignIn {
  /** Responds to the paths of sign-in, `null` for any other. */
  respond(request: Request, url: { path: string; search: string }): Promise<Response | null>;
  /** Who is signed in by the cookie of a request. */
  session(headers: Headers): Promise<Session | null>;
  /** What is wrong with a form that a session sent; `null` if a page of this service sent it. */
  forgery(headers: Headers, form: URLSearchParams, session: Session): string | null;
}

const SESSION = v.object({
  iss: v.string(),
  sub: v.string(),
  organization: v.string(),
  name: v.string(),
  groups: v.array(v.string()),
});
const PENDING = v.object({
  verifier: v.string(),
  state: v.string(),
  nonce: v.string(),
  to: v.string(),
});

/** Creates the sign-in. The provider is first contacted at the first sign-in. */
export function createSignIn(
  settings: SignInSettings,
  { log, now }: { log: Log; now(): number },
): SignIn {
  const { publicUrl, clientId, clientSecret, editors } = settings;
  const issuer = new URL(settings.issuer);
  const redirectUri = `${publicUrl}/sign-in/callback`;
  const { pathname: cookiePath, origin: ownOrigin } = new URL(publicUrl);
  // With this prefix no other host, such as one of the same domain, can set the cookie.
  const prefix = cookiePath === "/" ? "__Host-" : "__Secure-";
  const names = { session: `${prefix}session`, pending: `${prefix}sign-in` };
  const { seal, open, formToken } = createSeal(clientSecret);
  const http = {
    [oauth.customFetch]: boundedFetch,
    [oauth.allowInsecureRequests]: issuer.protocol === "http:",
  };
  const client = (): oauth.Client => ({
    client_id: clientId,
    [oauth.clockSkew]: now() - Math.floor(Date.now() / 1000),
    [oauth.clockTolerance]: MAX_CLOCK_DIFFERENCE_SECONDS,
  });

  let provider: { metadata: Promise<oauth.AuthorizationServer>; askedAt: number } | null = null;
  /** Single-flight: concurrent callers share one request. A failure is not kept. */
  async function providerMetadata(): Promise<oauth.AuthorizationServer> {
    const at = performance.now();
    if (!provider || at - provider.askedAt > FRESH_MS) {
      const metadata = oauth.discoveryRequest(issuer, http)
        .then((response) => oauth.processDiscoveryResponse(issuer, response));
      provider = { metadata, askedAt: at };
    }
    try {
      return await provider.metadata;
    } catch (error) {
      provider = null;
      throw error;
    }
  }

  function cookie(name: string, value: string, seconds: number): string {
    return `${name}=${value}; Path=${cookiePath}; Max-Age=${seconds}; HttpOnly; Secure; SameSite=Lax`;
  }

  function redirect(location: string, cookies: readonly string[]): Response {
    const response = new Response(null, { status: 302, headers: { location } });
    for (const one of cookies) response.headers.append("set-cookie", one);
    return response;
  }

  /** Sends the browser to the provider. */
  async function begin(search: string): Promise<Response> {
    const { authorization_endpoint: endpoint, scopes_supported: scopes = [] } =
      await providerMetadata();
    const target = URL.parse(endpoint ?? "");
    if (!target || target.protocol !== issuer.protocol && target.protocol !== "https:") {
      throw new Error("the provider has no address for sign-in");
    }
    const [verifier, state, nonce] = [
      oauth.generateRandomCodeVerifier(),
      oauth.generateRandomState(),
      oauth.generateRandomNonce(),
    ];
    const to = pathWithin(new URLSearchParams(search).get("to") ?? "");
    const sealed = await seal({ verifier, state, nonce, to }, {
      purpose: "sign-in",
      now: now(),
      seconds: PENDING_SECONDS,
    });
    const parameters = {
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: "code",
      // Some providers name groups only if they are asked to; others refuse a scope that they do not know.
      scope: ["openid profile email", ...scopes.filter((scope) => scope === "groups")].join(" "),
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      nonce,
    };
    for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
    return redirect(target.href, [cookie(names.pending, sealed, PENDING_SECONDS)]);
  }

  /** Takes the person back from the provider. */
  async function finish(search: string, headers: Headers): Promise<Response> {
    const pending = await open(cookieOf(headers, names.pending), {
      purpose: "sign-in",
      now: now(),
      schema: PENDING,
    });
    if (!pending) {
      return failed(400, "it was not begun in this browser, or more than 10 minutes ago");
    }
    const { verifier, state, nonce, to } = pending;
    const address = new URL(redirectUri + search);
    // Two tabs, or the link of somebody else, who would be signed in.
    if (!isEqual(address.searchParams.get("state") ?? "", state)) {
      return failed(400, "another sign-in was begun in this browser since");
    }
    const provider = await providerMetadata();
    const answer = oauth.validateAuthResponse(provider, client(), address, state);
    const methods = provider.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    const authentication = methods.includes("client_secret_basic")
      ? oauth.ClientSecretBasic(clientSecret)
      : oauth.ClientSecretPost(clientSecret);
    const response = await oauth.authorizationCodeGrantRequest(
      provider,
      client(),
      authentication,
      answer,
      redirectUri,
      verifier,
      http,
    );
    const result = await oauth.processAuthorizationCodeResponse(provider, client(), response, {
      expectedNonce: nonce,
      requireIdToken: true,
    });
    await oauth.validateApplicationLevelSignature(provider, response, http);
    const claims = oauth.getValidatedIdTokenClaims(result)!;
    const difference = Math.abs(claims.iat - now());
    if (difference > MAX_CLOCK_DIFFERENCE_SECONDS) {
      log.warn("sign-in failed", { error: "the clocks differ", seconds: difference });
      return failed(
        502,
        `the clocks of the provider and of this service differ by ${difference} s, expected at most ${MAX_CLOCK_DIFFERENCE_SECONDS} s`,
      );
    }
    if (claims.sub.length > MAX_SUBJECT_CHARACTERS) throw new Error("the subject is too long");
    const organization = organizationOf(claims);
    if (organization === null) return failed(403, "the account belongs to no organization here");
    const session = {
      iss: settings.issuer,
      sub: claims.sub,
      organization,
      name: nameOf(claims),
      // Those that count, so that the cookie stays small.
      groups: groupsOf(claims).filter((group) => editors.groups.includes(group))
        .slice(0, MAX_GROUPS),
    };
    const sealed = await seal(session, {
      purpose: "session",
      now: now(),
      seconds: SESSION_SECONDS,
    });
    log.info("signed in", { user: session.name, organization });
    return redirect(publicUrl + to, [
      cookie(names.session, sealed, SESSION_SECONDS),
      cookie(names.pending, "", 0),
    ]);
  }

  function organizationOf(claims: oauth.IDToken): string | null {
    if ("name" in settings.organization) return settings.organization.name;
    const value = claims[settings.organization.claim];
    const only = Array.isArray(value) && value.length === 1 ? value[0] : value;
    const isName = typeof only === "string" && only !== "" &&
      only.length <= MAX_ORGANIZATION_CHARACTERS;
    return isName ? only : null;
  }

  function groupsOf(claims: oauth.IDToken): string[] {
    return [claims[editors.claim]].flat().filter((group) => typeof group === "string");
  }

  /** A page that says why, and the way to begin again. */
  function failed(status: number, reason: string): Response {
    return page(
      status,
      "Sign-in failed",
      markup`<p>You are not signed in: ${reason}. <a href="${publicUrl}/sign-in">Sign in again</a>.</p>`,
    );
  }

  async function attempt(act: () => Promise<Response>): Promise<Response> {
    try {
      return await act();
    } catch (error) {
      log.warn("sign-in failed", {
        error: cutText(oneLine(errorMessage(error)), 300),
        code: errorCode(error) || undefined,
      });
      // What the provider says is wrong is about the person's request; the rest about the provider.
      const isRefused = error instanceof oauth.AuthorizationResponseError ||
        error instanceof oauth.ResponseBodyError && error.error === "invalid_grant";
      return isRefused
        ? failed(403, "the provider refused it")
        : failed(502, "the provider cannot be reached, or its response is not valid");
    }
  }

  return {
    async respond({ method, headers }, { path: given, search }) {
      const path = given.replace(/(?<=.)\/$/, "");
      if (path === "/sign-in" && isRead(method)) return await attempt(() => begin(search));
      if (path === "/sign-in/callback" && isRead(method)) {
        return await attempt(() => finish(search, headers));
      }
      if (path !== "/sign-out" || !(isRead(method) || method === "POST")) return null;
      const isOwn = !["cross-site", "same-site"].includes(headers.get("sec-fetch-site") ?? "") &&
        (headers.get("origin") ?? ownOrigin) === ownOrigin;
      if (!isOwn) return page(403, "Sign out", markup`<p>The request came from another site.</p>`);
      const response = page(
        200,
        "Signed out",
        markup`<p>You are signed out. <a href="${publicUrl}/sign-in">Sign in</a>.</p>`,
      );
      response.headers.append("set-cookie", cookie(names.session, "", 0));
      return response;
    },
    async session(headers) {
      const cookie = cookieOf(headers, names.session);
      const found = await open(cookie, {
        purpose: "session",
        now: now(),
        schema: SESSION,
      });
      if (found?.iss !== settings.issuer) return null;
      const { organization, name, iss, sub, groups } = found;
      // Settings that were changed since count.
      return {
        organization: "name" in settings.organization ? settings.organization.name : organization,
        name,
        person: `${iss} ${sub}`,
        isEditor: groups.some((group) => editors.groups.includes(group)),
        formToken: formToken(cookie),
      };
    },
    forgery(headers, form, session) {
      const origin = headers.get("origin");
      const site = headers.get("sec-fetch-site");
      const isOwnOrigin = origin === null ? site !== null : origin === ownOrigin;
      if (!isOwnOrigin || site !== null && site !== "same-origin") {
        return "the form was not sent from a page of this service";
      }
      // Two of them are none: which one counts would be a guess.
      const [given = "", ...more] = form.getAll(FORM_TOKEN);
      return more.length === 0 && isEqual(given, session.formToken)
        ? null
        : "the form is not of this session: reload the page and send it again";
    },
  };
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

function page(status: number, title: string, content: Markup): Response {
  const html = layout({ title, content: markup`<h1>${title}</h1>${content}` }, null);
  return new Response(new TextEncoder().encode(html), {
    status,
    headers: { ...PAGE_HEADERS, "content-type": "text/html; charset=utf-8" },
  });
}

/** A path of this service; the start page in place of anything that could lead elsewhere. */
export function pathWithin(text: string): string {
  const origin = "http://service.invalid";
  const url = text.startsWith("/") ? URL.parse(text, origin) : null;
  const isPlain = /^\/(?![/\\])[^\\\p{Cc}]*$/u.test(text);
  if (url?.origin !== origin || !isPlain) return "/";
  const path = url.pathname + url.search;
  return path.length <= MAX_PATH_CHARACTERS ? path : "/";
}

/** What the log calls a person. */
function nameOf(claims: oauth.IDToken): string {
  const known = [claims.preferred_username, claims.email, claims.name, claims.sub];
  const names = known.map((value) => typeof value === "string" ? oneLine(value).trim() : "");
  return cutText(names.find((name) => name !== "") ?? "unnamed", MAX_NAME_CHARACTERS - 3);
}

/** A request to the provider, bounded in time and size. Redirects are not followed. */
async function boundedFetch(url: string, options: RequestInit): Promise<Response> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), TIMEOUT_MS);
  try {
    const response = await fetch(url, { ...options, redirect: "manual", signal: timeout.signal });
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) throw new Error("the response of the provider is too large");
      chunks.push(chunk);
    }
    const { status, headers } = response;
    return new Response(bytes === 0 ? null : await new Blob(chunks).bytes(), { status, headers });
  } finally {
    clearTimeout(timer);
  }
}
