// Tests: tests/lib/intake/receive/upload_app_test.ts
/** Responses to uploads that failed, and their lines in the log. */
import { errorCode, errorMessage } from "../../base/error.ts";
import { errorFields, type Log } from "../../base/log.ts";
import {
  badRequest,
  internalServerError,
  jsonResponse,
  tooManyRequests,
} from "../../http/request/errors.ts";
import type { LoggedRequest } from "../../http/request/request_log.ts";
import { ReportError } from "../../report/report_error.ts";
import { isSystemFault } from "../system_fault.ts";
import { UploadError } from "../upload_error.ts";
import { UploadQuotaError } from "./running_uploads.ts";
import { wrongRepository, WrongRepositoryError } from "./token_repository.ts";

/** Retry-After in seconds: most outages and queues are short. */
export const RETRY_AFTER_SECONDS = "5";

/** 503 for now: the client sends the upload again. */
export function unavailable(message?: string): Response {
  const response = message === undefined
    ? new Response(null, { status: 503 })
    : jsonResponse(503, { message });
  response.headers.set("retry-after", RETRY_AFTER_SECONDS);
  return response;
}

/** Logs why an upload failed, and returns the response. */
export function failedUpload(error: unknown, logged: LoggedRequest, log: Log): Response {
  const [response, reason] = failureResponse(error);
  const request_id = logged.requestId;
  if (response.status === 500) {
    log.error("upload failed", { request_id, ...errorFields(error) });
  } // A full disk or a database outage fails every upload; a stack would add nothing.
  else if (response.status > 500) {
    const code = errorCode(error) || undefined;
    log.warn("upload failed", { request_id, error: errorMessage(error), code });
  } else logged.more.reason = reason;
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
