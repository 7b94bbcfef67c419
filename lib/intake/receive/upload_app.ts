/**
 * Routes of `receive`: `PUT` or `POST /upload/OWNER/NAME`, `/quarantine/OWNER/NAME` and `GET /health`.
 */
import { join } from "node:path";
import type { Database } from "../../../db/connection/connect.ts";
import { loadUploader, type Uploader, validUploadTokenHashes } from "../../../db/read/caller.ts";
import { trustedIssuers } from "../../../db/read/trusts.ts";
import { errorCode, errorMessage } from "../../base/error.ts";
import { errorFields } from "../../base/log.ts";
import { caseKey } from "../../base/identity.ts";
import { quote } from "../../base/quote.ts";
import { RunningChanges, TOO_MANY_CHANGES } from "../../base/running_changes.ts";
import {
  buildPage,
  formatRepositoryName,
  parseRepositoryName,
  type RepositoryName,
} from "../../base/repository_name.ts";
import type { ClaimedRun } from "../../ci/claims.ts";
import type { App, Context } from "../../http/request/context.ts";
import {
  ALLOWED_METHODS,
  badRequest,
  forbidden,
  internalServerError,
  jsonResponse,
  methodNotAllowed,
  notFound,
  tooManyRequests,
  unauthorizedClient,
} from "../../http/request/errors.ts";
import { splitUrl } from "../../http/request/parsed_url.ts";
import { type LoggedRequest, logRequests } from "../../http/request/request_log.ts";
import { completeError } from "../../http/request/responses.ts";
import { createTokenThrottle } from "../../http/request/token_throttle.ts";
import { ReportError } from "../../report/report_error.ts";
import { isSystemFault } from "../system_fault.ts";
import { type Acceptance, acceptUpload } from "./accept_upload.ts";
import { changeQuarantine } from "./change_quarantine.ts";
import { createIdentityTokens, issuerOf, readIdentityToken } from "./identity_token.ts";
import { type BodyLimits, receiveBody } from "./receive_body.ts";
import { RunningUploads, type UploadQuota, UploadQuotaError } from "./running_uploads.ts";
import { UploadError } from "../upload_error.ts";
import { readUploadParameters } from "../upload_parameters.ts";
import { invalidToken, readReceiverToken, type ReceiverTokenType } from "./upload_token.ts";

const UPLOAD_METHODS = ["POST", "PUT"];

/** Retry-After in seconds: most outages and queues are short. */
const RETRY_AFTER_SECONDS = "5";

export interface UploadContext
  extends Pick<Context, "sql" | "log" | "metrics" | "trustedProxies" | "onTokenUse">, Acceptance {
  /** Whole seconds since 1970. */
  now(): number;
  /**
   * Connections for changes of quarantine, which are not read-only. They wait for the lock of their
   * repository: look-ups of tokens need others.
   */
  writableSql: Database["sql"];
  /** Address of the pages without a trailing slash; `""`: no links. */
  pagesUrl: string;
  /** Parent of a folder for each upload. */
  workFolder: string;
  limits: BodyLimits;
  /** The public address of this door, without a slash at its end: identity tokens are for it. `""`: unknown. */
  publicUrl: string;
  /** Above it, the response is 503. */
  maxRunningUploads: number;
  /** Above it, the response is 429. */
  quotas: Record<"token" | "organization", UploadQuota>;
}

/** Creates the app. */
export function createUploadApp(context: UploadContext): App {
  const { log, metrics } = context;
  const throttle = createTokenThrottle({
    log,
    // Of an identity token its issuer, which no hash looks like.
    async loadExisting(keys) {
      const { http: issuers = [], hash: hashes = [] } = Object.groupBy(
        keys,
        (key) => key.startsWith("http") ? "http" : "hash",
      );
      const found = await Promise.all([
        validUploadTokenHashes(context.sql, { hashes, now: context.now() }),
        trustedIssuers(context.sql, issuers),
      ]);
      return found[0].union(found[1]);
    },
  });
  const checkIdentityToken = createIdentityTokens({ ...context, audience: context.publicUrl });
  let uploadCount = 0;
  const running = new RunningUploads(context.quotas);
  const changes = new RunningChanges();

  return logRequests(context, async (request, logged) => {
    const response = await respond(request, logged).catch((error) => {
      const [response, reason] = failureResponse(error);
      const request_id = logged.requestId;
      if (response.status === 500) {
        log.error("upload failed", { request_id, ...errorFields(error) });
      } // The disk is full, or the database away: each upload says so, and a stack would add nothing.
      else if (response.status > 500) {
        const code = errorCode(error) || undefined;
        log.warn("upload failed", { request_id, error: errorMessage(error), code });
      } else logged.more.reason = reason;
      return response;
    });
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
    const found = await authenticate(request, { type, address: logged.address, now });
    const isOfApi = API_PATH.test(path);
    if ("problem" in found) {
      if (found.isLogged) logged.more.reason = found.problem;
      return unauthorizedClient(isOfApi ? OTHER_PORT : found.problem);
    }
    if ("unavailable" in found) {
      logged.more.reason = found.unavailable;
      return unavailable(found.unavailable);
    }
    const { uploader, hash, claims } = found;
    logged.caller = uploader;
    if (found.trustId !== undefined) logged.more.trusted_issuer_id = found.trustId;
    const target = targetOf(path, request.method);
    if (!target) return isOfApi ? notFound(OTHER_PORT) : notFound();
    const { repo, rest, methods } = target;
    logged.route = `/${type}${repo ? "/:owner/:name" : ""}${rest === null ? "" : "/:id"}`;
    if (!methods.includes(request.method)) return methodNotAllowed(methods);
    const other = repo && otherRepository(uploader, repo);
    if (other !== null) {
      const named = formatRepositoryName(repo!);
      return claims
        ? forbidden(
          `the job of this token is of ${quote(other)}, the address is of ${quote(named)}`,
        )
        : wrongRepository(other);
    }
    if (type === "quarantine" && repo) {
      const change = changes.begin(uploader.organizationId);
      if (!change) return tooManyRequests(TOO_MANY_CHANGES, RETRY_AFTER_SECONDS);
      try {
        const { writableSql: sql, limits } = context;
        const given = { request, rest, search: new URLSearchParams(search), repo, hash, now };
        return await changeQuarantine({ sql, limits }, { ...given, caller: uploader });
      } finally {
        change.end();
      }
    }
    const parameters = new URLSearchParams(search);
    const read = readUploadParameters(parameters, now);
    if (read.errors) return badRequest(read.errors);
    if (running.count >= context.maxRunningUploads) return unavailable();
    const receiving = context.room?.receive();
    const { addBytes, end } = running.begin(uploader);
    const folder = join(context.workFolder, String(uploadCount++));
    metrics?.set("uploads_running", running.count);
    try {
      await Deno.mkdir(folder);
      const limits = {
        ...context.limits,
        addBytes(count: number) {
          addBytes(count);
          receiving?.addBytes(count);
        },
      };
      const byteCount = await receiveBody(request, join(folder, "body"), limits);
      const upload = {
        folder,
        contentType: request.headers.get("content-type") ?? "",
        organization: uploader.organizationName,
        parameters: [...parameters],
        repo,
        claims,
        now,
      };
      const { key, notes, facts } = await acceptUpload(context, upload, {
        byteCount,
        uploaderId: uploader.id,
        check(repository) {
          const other = otherRepository(uploader, repository);
          if (other !== null) throw new WrongRepositoryError(other);
        },
      });
      Object.assign(logged.more, { bytes: byteCount, key });
      metrics?.count("upload_bytes_total", {}, byteCount);
      const repository = formatRepositoryName(facts.repository);
      const page = buildPage(context.pagesUrl, repository, { buildUrl: facts.buildUrl, key });
      return jsonResponse(202, {
        key,
        ...page !== "" && { web_url: page },
        ...notes.length > 0 && { notes },
      });
    } finally {
      end();
      receiving?.end();
      metrics?.set("uploads_running", running.count);
      await Deno.remove(folder, { recursive: true }).catch(() => {});
    }
  }

  /** Looks up the token for every request, so that a revoked one is rejected immediately. */
  async function authenticate(
    { headers }: Request,
    { type, address, now }: { type: ReceiverTokenType; address: string; now: number },
  ): Promise<Authenticated | { problem: string; isLogged?: boolean } | { unavailable: string }> {
    const identityToken = type === "upload"
      ? readIdentityToken(headers.get("authorization"))
      : null;
    if (identityToken !== null) return await authenticateJob(identityToken, address);
    const token = readReceiverToken(headers.get("authorization"), type);
    if ("problem" in token) return token;
    const { hash } = token;
    const problem = invalidToken(type);
    if (!await throttle.mayBeValid(address, hash)) return { problem };
    const uploader = await loadUploader(context.sql, type, { hash, now });
    if (uploader) context.onTokenUse?.({ hash, hour: now - now % 3600 });
    else throttle.recordWrong(address);
    return uploader ? { uploader, hash } : { problem };
  }

  /** Looks up for every request what is trusted, so that what no longer is is rejected immediately. */
  async function authenticateJob(token: string, address: string) {
    const issuer = issuerOf(token);
    const isThrottled = issuer.startsWith("http") && !await throttle.mayBeValid(address, issuer);
    const found = isThrottled
      ? { problem: "the issuer of the identity token is not trusted" }
      : await checkIdentityToken(token);
    if ("problem" in found) {
      throttle.recordWrong(address);
      return { ...found, isLogged: true };
    }
    if ("unavailable" in found) return found;
    const { uploader, run, trustId } = found;
    return { uploader, hash: "", claims: run, trustId };
  }
}

/** Who sends a request with a valid token. */
interface Authenticated {
  uploader: Uploader;
  /** Of the token, `""` for an identity token. */
  hash: string;
  /** What an identity token says about the run. */
  claims?: ClaimedRun;
  trustId?: number;
}

/** The token is for another repository than the upload names. */
class WrongRepositoryError extends Error {
  constructor(readonly repository: string) {
    super("wrong repository");
  }
}

function wrongRepository(repository: string): Response {
  return forbidden(`this token is only for "${repository}"`);
}

/** The repository of a token that is for one other than this; `null` when it may be used. */
function otherRepository({ repository }: Uploader, repo: RepositoryName): string | null {
  const name = repository && formatRepositoryName(repository);
  return name === null || caseKey(name) === caseKey(formatRepositoryName(repo)) ? null : name;
}

/** What `serve` responds to. */
const API_PATH =
  /^\/(?:api|repos|tests|flaky-tests|owners|docs|openapi\.yaml|llms-full\.txt|mcp)(?:\/|$)/;
const OTHER_PORT =
  "this port takes uploads; the API and the pages are on the port of `serve`, or of " +
  "`up --port` (8000 by default)";

// Together with the name of the archive it must fit into a path and a key.
const MAX_NAME_CHARACTERS = 500;

const TEST_ID = /^[0-9a-f]{24}$/i;

/** What a path names. */
interface Target {
  /** `null`: the upload names it. */
  repo: RepositoryName | null;
  /** What follows the repository: a test id, or nothing. */
  rest: string | null;
  methods: string[];
}

/**
 * The repository of `/upload/OWNER/NAME` or `/quarantine/OWNER/NAME`, and the test of the latter with
 * DELETE, or where it looks like an id. Slashes of the owner may be encoded.
 */
function targetOf(path: string, method: string): Target | null {
  if (/^\/upload\/?$/.test(path)) return { repo: null, rest: null, methods: UPLOAD_METHODS };
  const [, isQuarantine, encoded] = /^\/(?:upload|(quarantine))\/(.+?)\/?$/.exec(path) ?? [];
  if (encoded === undefined || encoded.length > MAX_NAME_CHARACTERS) return null;
  try {
    const parts = encoded.split("/").map(decodeURIComponent);
    const hasTest = isQuarantine && parts.length > 2 &&
      (method === "DELETE" || TEST_ID.test(parts.at(-1)!));
    const rest = hasTest ? parts.pop()! : null;
    const methods = isQuarantine ? [rest === null ? "POST" : "DELETE"] : UPLOAD_METHODS;
    return { repo: parseRepositoryName(parts.join("/")), rest, methods };
  } catch {
    return null;
  }
}

function unavailable(message?: string): Response {
  const response = message === undefined
    ? new Response(null, { status: 503 })
    : jsonResponse(503, { message });
  response.headers.set("retry-after", RETRY_AFTER_SECONDS);
  return response;
}

/** The response to an upload that failed, and the reason for the log. */
function failureResponse(error: unknown): [Response, reason: string] {
  if (error instanceof UploadQuotaError) {
    return [tooManyRequests(error.message, RETRY_AFTER_SECONDS), error.message];
  }
  if (error instanceof WrongRepositoryError) {
    return [wrongRepository(error.repository), error.message];
  }
  if (error instanceof UploadError) {
    return [badRequest(error.errors, error.status), error.message];
  }
  if (error instanceof ReportError && error.kind !== "unreadable") {
    const [, part] = /^upload: (test-results|coverage)\//.exec(error.file) ?? [];
    const name = part === "coverage" ? "coverage" : part === undefined ? "body" : "report";
    const message = error.message.replace(/^upload: (test-results|coverage)\//, "");
    return [
      badRequest({ [name]: [message] }, ["limit", "too-long"].includes(error.kind) ? 413 : 400),
      message,
    ];
  }
  return [isSystemFault(error) ? unavailable() : internalServerError(), ""];
}
