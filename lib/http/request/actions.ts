// Tests: tests/routes/actions_test.ts
/** What people who are signed in do: the checks of a form before it changes anything, and the response. */
import { TestDeletedError } from "../../../db/admin/quarantine.ts";
import type { Caller, CallerScope } from "../../../db/read/caller.ts";
import { ConcurrencyLimit, MAX_CHANGES, TOO_MANY_CHANGES } from "../../base/concurrency_limit.ts";
import { readBody } from "../../base/read_body.ts";
import type { TimeZone } from "../../base/time_zone.ts";
import { keptParameters, layout, PAGE_HEADERS } from "../../html/layout.ts";
import { pathsFrom } from "../../html/markup.ts";
import type { Session } from "../sign_in/sessions.ts";
import type { Context } from "./context.ts";
import { badRequest, forbidden, notFound, tooManyRequests } from "./errors.ts";
import { findResource, isInPath, type ParsedUrl } from "./parsed_url.ts";
import type { Moment } from "./queries.ts";
import { commonHeaders } from "./responses.ts";
import type { Endpoint } from "./route.ts";

/** A form is a few lines of text. */
const MAX_FORM_BYTES = 16_384;
/** Time to send it. */
const FORM_TIMEOUT_MS = 10_000;
const RETRY_AFTER_SECONDS = "5";

/** A request of a person who may act. */
interface ActionRequest extends Moment {
  request: Request;
  requestId: string;
  session: Session;
  caller: Caller;
  scope: CallerScope;
  parsed: ParsedUrl & { route: Endpoint };
  zone: TimeZone;
  refuse(response: Response): Promise<Response>;
}

/** Creates the function that responds to people who may act. */
export function createActions({ signIn, writableSql }: Context) {
  const changes = new ConcurrencyLimit({ ofOrganization: MAX_CHANGES });

  return async (given: ActionRequest): Promise<Response> => {
    const { request, session, caller, scope, parsed, refuse } = given;
    const { route } = parsed;
    if (isInPath(route) && findResource(parsed, scope).isMissing) return await refuse(notFound());
    if (request.method !== "POST") return await respond(given, null);
    const form = await readForm(request);
    if (typeof form === "string") return await refuse(badRequest({ form: [form] }));
    const problem = signIn!.forgery(request.headers, form, session);
    if (problem !== null) return await refuse(forbidden(problem));
    const end = changes.begin(caller.organizationId);
    if (!end) return await refuse(tooManyRequests(TOO_MANY_CHANGES, RETRY_AFTER_SECONDS));
    try {
      return await respond(given, form);
    } catch (error) {
      if (!(error instanceof TestDeletedError)) throw error;
      return await refuse(notFound());
    } finally {
      end();
    }
  };

  async function respond(
    { request, requestId, session, caller, parsed, zone, now, windowStart }: ActionRequest,
    form: URLSearchParams | null,
  ): Promise<Response> {
    const { route, selection, parameters, root } = parsed;
    const test = selection.kind === "test" ? selection : null;
    const pathTo = pathsFrom(root, keptParameters(parameters));
    const result = await route.act!({
      editor: session,
      caller,
      form,
      test,
      pathTo,
      zone,
      now,
      windowStart,
    }, writableSql!);
    const headers = new Headers(commonHeaders(requestId, "no-store"));
    if ("redirect" in result) {
      headers.set("location", result.redirect);
      return new Response(null, { status: 303, headers });
    }
    const html = layout(result.page, {
      pathTo,
      path: route.path,
      parameters,
      zone,
      hasSession: true,
      isEditor: true,
    });
    const bytes = new TextEncoder().encode(html);
    for (const [name, value] of Object.entries(PAGE_HEADERS)) headers.set(name, value);
    headers.set("content-type", "text/html; charset=utf-8");
    headers.set("content-length", String(bytes.length));
    const status = result.isWrong ? 400 : 200;
    return new Response(request.method === "HEAD" ? null : bytes, { status, headers });
  }
}

/** The fields of a form, or what is wrong with it. */
async function readForm({ body, headers }: Request): Promise<URLSearchParams | string> {
  const [type = ""] = (headers.get("content-type") ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded") {
    return "expected a form (application/x-www-form-urlencoded)";
  }
  const bytes = await readBody(body, { maxBytes: MAX_FORM_BYTES, timeoutMs: FORM_TIMEOUT_MS });
  if (bytes === "too large") return `more than ${MAX_FORM_BYTES} bytes: expected shorter texts`;
  if (bytes === "late") return `it took longer than ${FORM_TIMEOUT_MS / 1000} s`;
  return new URLSearchParams(new TextDecoder().decode(bytes));
}
