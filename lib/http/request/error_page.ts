// Tests: tests/tools/documentation/docs_page_test.ts tests/lib/http/request/parsed_url_test.ts
import type { TimeZone } from "../../base/time_zone.ts";
import { keptParameters, layout, PAGE_HEADERS } from "../../html/layout.ts";
import { type Markup, markup, pathsFrom, type PathTo } from "../../html/markup.ts";
import type { ParameterErrors } from "./errors.ts";
import type { ParsedUrl } from "./parsed_url.ts";
import type { Endpoint } from "./route.ts";

/** Converts an error response to a page with the next step, which may be the route's own. */
export async function errorPage(
  response: Response,
  { root, route, parameters, hasToken, zone, signInAt }:
    & Pick<ParsedUrl, "root" | "route" | "parameters">
    & {
      /** Whether the request had a token, which was wrong if the response is 401. */
      hasToken: boolean;
      zone: TimeZone;
      /** The address that signs a person in, `null` when tokens are the only way. */
      signInAt: string | null;
    },
): Promise<Response> {
  const { status } = response;
  const body = response.headers.has("content-type") ? await response.json() : {};
  const errors = errorsOf(status, body.errors, route);
  const { tz: zoneErrors, ...others } = errors ?? {};
  // Links and other forms must not lead to the same error.
  const { tz: _, ...withoutZone } = parameters;
  const kept = zoneErrors ? withoutZone : parameters;
  const pathTo = pathsFrom(root, keptParameters(kept));
  const [title, content] = [403, 429].includes(status)
    ? ["Not done", markup`<p>${body.message}.</p>`]
    : describe(status, errors ?? {}, { pathTo, hasToken, signInAt });
  const own = errors && route?.errorPage?.(others, { parameters: kept, root });
  const html = layout(
    own ?? { title, content: markup`<h1>${title}</h1>${content}` },
    status === 401
      ? null
      : { pathTo, path: errors && route ? route.path : "", parameters, zone, zoneErrors },
  );
  const bytes = new TextEncoder().encode(html);
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(PAGE_HEADERS)) headers.set(name, value);
  headers.set("content-type", "text/html; charset=utf-8");
  headers.set("content-length", String(bytes.length));
  return new Response(bytes, { status, headers });
}

/** Messages by parameter, `null` when it is something else that is wrong. */
function errorsOf(
  status: number,
  errors: ParameterErrors | undefined,
  route: Endpoint | null,
): ParameterErrors | null {
  if (status === 400) return errors ?? {};
  const isSelection = status === 404 && route?.resource === "repositories in query";
  return isSelection ? { repository: ["no such repository: expected one of the list"] } : null;
}

function describe(
  status: number,
  errors: ParameterErrors,
  { pathTo, hasToken, signInAt }: { pathTo: PathTo; hasToken: boolean; signInAt: string | null },
): [title: string, content: Markup] {
  if (status === 401) {
    const wrong = hasToken &&
      markup`<p>The token was not accepted: it is unknown, expired, revoked, or
of another kind.</p>`;
    if (signInAt !== null) {
      return [
        "Sign in",
        markup`${wrong}<p><a class="button" href="${signInAt}">Sign in</a></p>
<p class="soft">Without an account: open <a href="${
          pathTo(["docs"])
        }">the documentation</a>, enter an API
token as the password, and come back.</p>`,
      ];
    }
    return [
      "Sign in",
      markup`${wrong}<p>Reload this page and enter an API token as the password, with any user name. The
operator of this service creates one with <code>test-analytics token create --org NAME</code>.</p>`,
    ];
  }
  if (status === 400) {
    const messages = Object.entries(errors).map(([name, messages]) =>
      markup`<dt><code>${name}</code></dt><dd>${messages.join("; ")}</dd>`
    );
    return [
      "Invalid address",
      markup`<dl>${messages}</dl><p>Go back and correct it, or start again from
<a href="${pathTo(["flaky-tests"], { quarantine: "false" })}">all flaky tests</a>.</p>`,
    ];
  }
  return [
    "Not found",
    markup`<p>There is no such repository, test or build. It may not have uploaded anything yet, or
was deleted. See <a href="${pathTo(["repos"])}">all repositories</a>.</p>`,
  ];
}
