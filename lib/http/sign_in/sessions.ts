// Tests: tests/lib/http/sign_in/sign_in_test.ts tests/routes/actions_test.ts
/** Sessions of people, in a cookie, and the check that a form was sent from one. */
import * as v from "valibot";
import type { createCookies } from "./cookies.ts";
import { FORM_TOKEN } from "./form_token.ts";
import type { Person } from "./person.ts";
import { isEqual } from "./sealed_cookies.ts";
import type { SignInSettings } from "./settings.ts";

/** A working day. */
const SESSION_SECONDS = 12 * 60 * 60;

/** Who is signed in. */
export interface Session {
  organization: string;
  /** The name of the person, for the log. */
  name: string;
  /** Issuer and subject of the account: a name may change, or belong to another person one day. */
  person: string;
  /** Whether the person is in a group that may act. */
  isEditor: boolean;
  /** What forms send along, against requests that other sites forge. */
  formToken: string;
}

const SESSION = v.object({
  iss: v.string(),
  sub: v.string(),
  organization: v.string(),
  name: v.string(),
  groups: v.array(v.string()),
});

/** Creates what begins, reads and ends sessions. */
export function createSessions(
  settings: SignInSettings,
  cookies: ReturnType<typeof createCookies>,
) {
  const { issuer, editors } = settings;
  const { origin: ownOrigin } = new URL(settings.publicUrl);

  return {
    /** The header that signs a person in. */
    async begin({ sub, organization, name, groups }: Person): Promise<string> {
      const content = { iss: issuer, sub, organization, name, groups };
      return await cookies.set("session", content, SESSION_SECONDS);
    },
    /** The header that signs a person out. */
    end: () => cookies.remove("session"),
    /** Who is signed in by the cookie of a request. */
    async read(headers: Headers): Promise<Session | null> {
      const found = await cookies.read(headers, "session", SESSION);
      if (found?.iss !== issuer) return null;
      const { organization, name, iss, sub, groups } = found;
      // Settings that were changed since count.
      return {
        organization: "name" in settings.organization ? settings.organization.name : organization,
        name,
        person: `${iss} ${sub}`,
        isEditor: groups.some((group) => editors.groups.includes(group)),
        formToken: cookies.formToken(headers),
      };
    },
    /** Whether a request to sign out is of this service, as far as its headers say. */
    isOwnSignOut(headers: Headers): boolean {
      return !["cross-site", "same-site"].includes(headers.get("sec-fetch-site") ?? "") &&
        (headers.get("origin") ?? ownOrigin) === ownOrigin;
    },
    /** What is wrong with a form that a session sent; `null` if a page of this service sent it. */
    forgery(headers: Headers, form: URLSearchParams, session: Session): string | null {
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
