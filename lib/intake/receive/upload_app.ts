/**
 * Routes of `receive`: `PUT` or `POST /upload/OWNER/NAME`, `/quarantine/OWNER/NAME` and `GET /health`.
 */
import { ConcurrencyLimit, MAX_CHANGES, TOO_MANY_CHANGES } from "../../base/concurrency_limit.ts";
import { quote } from "../../base/quote.ts";
import { formatRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import type { App } from "../../http/request/context.ts";
import {
  ALLOWED_METHODS,
  forbidden,
  jsonResponse,
  methodNotAllowed,
  notFound,
  tooManyRequests,
  unauthorizedClient,
} from "../../http/request/errors.ts";
import { splitUrl } from "../../http/request/parsed_url.ts";
import { type LoggedRequest, logRequests } from "../../http/request/request_log.ts";
import { completeError } from "../../http/request/responses.ts";
import { changeQuarantine } from "./change_quarantine.ts";
import { failedUpload, RETRY_AFTER_SECONDS, unavailable } from "./failed_upload.ts";
import { createUploadReceiver } from "./receive_upload.ts";
import { otherRepository, wrongRepository } from "./token_repository.ts";
import type { UploadContext } from "./upload_context.ts";
import { API_PATH, OTHER_PORT, targetOf } from "./upload_paths.ts";
import {
  type AuthenticatedUploader,
  createUploaderAuthentication,
} from "./uploader_authentication.ts";

export function createUploadApp(context: UploadContext): App {
  const authenticate = createUploaderAuthentication(context);
  const receiveUpload = createUploadReceiver(context);
  const changes = new ConcurrencyLimit({ ofOrganization: MAX_CHANGES });

  const { log, metrics, trustedProxies } = context;
  // Not the whole context: in `up` it also has the limit of the API, 30 s for a request.
  return logRequests({ log, metrics, trustedProxies }, async (request, logged) => {
    const response = await respond(request, logged)
      .catch((error) => failedUpload(error, logged, log));
    return completeError(request, response, logged.requestId);
  });

  async function respond(request: Request, logged: LoggedRequest): Promise<Response> {
    const { path, search } = splitUrl(request.url);
    if (/^\/health\/?$/.test(path)) {
      logged.route = "/health";
      if (!ALLOWED_METHODS.includes(request.method)) return methodNotAllowed();
      return jsonResponse(200, { status: "ok" });
    }
    const now = context.now();
    const type = path.startsWith("/quarantine/") ? "quarantine" : "upload";
    const isOfApi = API_PATH.test(path);
    const found = await authenticate(request.headers, { type, address: logged.address, now });
    if ("problem" in found) {
      if (found.isLogged) logged.more.reason = found.problem;
      return unauthorizedClient(isOfApi ? OTHER_PORT : found.problem);
    }
    if ("unavailable" in found) {
      logged.more.reason = found.unavailable;
      return unavailable(found.unavailable);
    }
    const { uploader, hash, claims, trustId } = found;
    logged.caller = uploader;
    if (trustId !== undefined) logged.more.trusted_issuer_id = trustId;
    const target = targetOf(path, request.method);
    if (!target) return isOfApi ? notFound(OTHER_PORT) : notFound();
    const { repo, rest, methods } = target;
    logged.route = `/${type}${repo ? "/:owner/:name" : ""}${rest === null ? "" : "/:id"}`;
    if (!methods.includes(request.method)) return methodNotAllowed(methods);
    const refusal = repo && refuseRepository(found, repo);
    if (refusal) return refusal;
    if (type !== "quarantine" || !repo) {
      return await receiveUpload({ request, search, repo, uploader, claims, now }, logged);
    }
    const end = changes.begin(uploader.organizationId);
    if (!end) return tooManyRequests(TOO_MANY_CHANGES, RETRY_AFTER_SECONDS);
    try {
      const { writableSql: sql, limits } = context;
      const given = { request, rest, search: new URLSearchParams(search), repo, hash, now };
      return await changeQuarantine({ sql, limits }, { ...given, caller: uploader });
    } finally {
      end();
    }
  }
}

/** The response to a token of another repository than the address names, otherwise `null`. */
function refuseRepository(
  { uploader, claims }: AuthenticatedUploader,
  repo: RepositoryName,
): Response | null {
  const other = otherRepository(uploader, repo);
  if (other === null) return null;
  if (!claims) return wrongRepository(other);
  const named = formatRepositoryName(repo);
  return forbidden(
    `the job of this token is of ${quote(other)}, the address is of ${quote(named)}`,
  );
}
