// Tests: tests/lib/http/sign_in/sign_in_test.ts
/** The cookies of sign-in: of a session, and of a sign-in that has begun. */
import type * as v from "valibot";
import { cookieOf, createSeal } from "./sealed_cookies.ts";
import type { SignInSettings } from "./settings.ts";

type CookieName = "session" | "sign-in";

/** Creates what makes and reads the cookies. */
export function createCookies(
  { publicUrl, clientSecret }: Pick<SignInSettings, "publicUrl" | "clientSecret">,
  { now }: { now(): number },
) {
  const { pathname: path } = new URL(publicUrl);
  // With this prefix no other host, such as one of the same domain, can set the cookie. It demands the
  // path /; below another one the other services of the host do not receive the cookie.
  const prefix = path === "/" ? "__Host-" : "__Secure-";
  const { seal, open, formToken } = createSeal(clientSecret);

  function line(name: CookieName, value: string, seconds: number): string {
    return `${prefix}${name}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; Secure; SameSite=Lax`;
  }

  function valueOf(headers: Headers, name: CookieName): string {
    return cookieOf(headers, `${prefix}${name}`);
  }

  return {
    /** The header that sets a cookie with sealed content. */
    async set(
      name: CookieName,
      content: Record<string, string | string[]>,
      seconds: number,
    ): Promise<string> {
      return line(name, await seal(content, { purpose: name, now: now(), seconds }), seconds);
    },
    /** The header that deletes a cookie. */
    remove: (name: CookieName) => line(name, "", 0),
    /** The content of the cookie of a request; `null` when it has none that is valid. */
    async read<Schema extends v.GenericSchema>(
      headers: Headers,
      name: CookieName,
      schema: Schema,
    ): Promise<v.InferOutput<Schema> | null> {
      return await open(valueOf(headers, name), { purpose: name, now: now(), schema });
    },
    /** What the forms of the session of a request send along. */
    formToken: (headers: Headers) => formToken(valueOf(headers, "session")),
  };
}
