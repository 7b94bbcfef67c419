/**
 * Sign-in of people by OpenID Connect. Nothing is stored: what the service has to remember is in sealed
 * cookies.
 */
import * as v from "valibot";
import { errorCode, errorMessage } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { cutText, oneLine } from "../../base/text.ts";
import { layout, PAGE_HEADERS } from "../../html/layout.ts";
import { type Markup, markup } from "../../html/markup.ts";
import { createCookies } from "./cookies.ts";
import { groupsOf, nameOf, organizationOf } from "./person.ts";
import {
  createProvider,
  isRefusal,
  makeSecrets,
  MAX_CLOCK_DIFFERENCE_SECONDS,
} from "./provider.ts";
import { isEqual } from "./sealed_cookies.ts";
import { createSessions, type Session } from "./sessions.ts";
import type { SignInSettings } from "./settings.ts";

/** Time to enter a password and a second factor. */
const PENDING_SECONDS = 10 * 60;
const MAX_PATH_CHARACTERS = 1_000;

/** Signs people in. */
export interface SignIn {
  /** Responds to the paths of sign-in, `null` for any other. */
  respond(request: Request, url: { path: string; search: string }): Promise<Response | null>;
  /** Who is signed in by the cookie of a request. */
  session(headers: Headers): Promise<Session | null>;
  /** What is wrong with a form that a session sent; `null` if a page of this service sent it. */
  forgery(headers: Headers, form: URLSearchParams, session: Session): string | null;
}

const PENDING = v.object({
  verifier: v.string(),
  state: v.string(),
  nonce: v.string(),
  to: v.string(),
});

/** Creates the sign-in. The provider is first contacted at the first sign-in. */
export function createSignIn(
  settings: SignInSettings,
  { log, now, hasOrganization }: {
    log: Log;
    now(): number;
    /** Whether an organization exists here. */
    hasOrganization(name: string): Promise<boolean>;
  },
): SignIn {
  const { publicUrl } = settings;
  const redirectUri = `${publicUrl}/sign-in/callback`;
  const provider = createProvider(settings, { redirectUri, log, now });
  const cookies = createCookies(settings, { now });
  const sessions = createSessions(settings, cookies);

  /** Sends the browser to the provider. */
  async function begin(search: string): Promise<Response> {
    const secrets = makeSecrets();
    const page = await atProvider(() => provider.signInPage(secrets));
    if (page instanceof Response) return page;
    const to = pathWithin(new URLSearchParams(search).get("to") ?? "");
    const pending = await cookies.set("sign-in", { ...secrets, to }, PENDING_SECONDS);
    return redirect(page.href, [pending]);
  }

  /** Takes the person back from the provider. */
  async function finish(search: string, headers: Headers): Promise<Response> {
    const pending = await cookies.read(headers, "sign-in", PENDING);
    if (!pending) {
      return failed(400, "it was not begun in this browser, or more than 10 minutes ago");
    }
    const callback = new URL(redirectUri + search);
    // Two tabs, or the link of another person, who would be signed in.
    if (!isEqual(callback.searchParams.get("state") ?? "", pending.state)) {
      return failed(400, "another sign-in was begun in this browser since");
    }
    const claims = await atProvider(() => provider.claimsOf(callback, pending));
    if (claims instanceof Response) return claims;
    const seconds = Math.abs(claims.iat - now());
    if (seconds > MAX_CLOCK_DIFFERENCE_SECONDS) {
      log.warn("sign-in failed", { error: "the clocks differ", seconds });
      return failed(502, clocksDiffer(seconds));
    }
    const name = nameOf(claims);
    const organization = organizationOf(claims, settings);
    if (organization === null || !await hasOrganization(organization)) {
      log.warn("sign-in failed", {
        error: "no such organization",
        user: name,
        organization: organization ?? undefined,
      });
      return failed(403, "the account belongs to no organization here");
    }
    const groups = groupsOf(claims, settings);
    const session = await sessions.begin({ sub: claims.sub, organization, name, groups });
    log.info("signed in", { user: name, organization });
    return redirect(publicUrl + pending.to, [session, cookies.remove("sign-in")]);
  }

  const failed = (status: number, reason: string) => failurePage(publicUrl, status, reason);

  /** What the provider says, or the page that says why it does not. */
  async function atProvider<T>(call: () => Promise<T>): Promise<T | Response> {
    try {
      return await call();
    } catch (error) {
      log.warn("sign-in failed", {
        error: cutText(oneLine(errorMessage(error)), 300),
        code: errorCode(error) || undefined,
      });
      return isRefusal(error)
        ? failed(403, "the provider refused it")
        : failed(502, "the provider cannot be reached, or its response is not valid");
    }
  }

  return {
    async respond({ method, headers }, { path: given, search }) {
      const path = given.replace(/(?<=.)\/$/, "");
      const isCallback = path === "/sign-in/callback";
      if ((path === "/sign-in" || isCallback) && isRead(method)) {
        return isCallback ? await finish(search, headers) : await begin(search);
      }
      const isSignOut = path === "/sign-out" && (isRead(method) || method === "POST");
      return isSignOut ? signOut(headers, { sessions, publicUrl }) : null;
    },
    session: sessions.read,
    forgery: sessions.forgery,
  };
}

/** A page that says why a sign-in failed, and the way to begin again. */
function failurePage(publicUrl: string, status: number, reason: string): Response {
  return page(
    status,
    "Sign-in failed",
    markup`<p>You are not signed in: ${reason}. <a href="${publicUrl}/sign-in">Sign in again</a>.</p>`,
  );
}

function signOut(
  headers: Headers,
  { sessions, publicUrl }: { sessions: ReturnType<typeof createSessions>; publicUrl: string },
): Response {
  if (!sessions.isOwnSignOut(headers)) {
    return page(403, "Sign out", markup`<p>The request came from another site.</p>`);
  }
  const response = page(
    200,
    "Signed out",
    markup`<p>You are signed out. <a href="${publicUrl}/sign-in">Sign in</a>.</p>`,
  );
  response.headers.append("set-cookie", sessions.end());
  return response;
}

function redirect(location: string, cookies: readonly string[]): Response {
  const response = new Response(null, { status: 302, headers: { location } });
  for (const one of cookies) response.headers.append("set-cookie", one);
  return response;
}

function clocksDiffer(seconds: number): string {
  return `the clocks of the provider and of this service differ by ${seconds} s, expected at most ` +
    `${MAX_CLOCK_DIFFERENCE_SECONDS} s`;
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
