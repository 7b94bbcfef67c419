// Tests: tests/lib/intake/receive/upload_app_test.ts
import { join } from "node:path";
import {
  buildPage,
  formatRepositoryName,
  type RepositoryName,
} from "../../base/repository_name.ts";
import { badRequest, jsonResponse } from "../../http/request/errors.ts";
import type { LoggedRequest } from "../../http/request/request_log.ts";
import { readUploadParameters } from "../upload_parameters.ts";
import { acceptUpload } from "./accept_upload.ts";
import { unavailable } from "./failed_upload.ts";
import { receiveBody } from "./receive_body.ts";
import { RunningUploads } from "./running_uploads.ts";
import { otherRepository, WrongRepositoryError } from "./token_repository.ts";
import type { UploadContext } from "./upload_context.ts";
import type { AuthenticatedUploader } from "./uploader_authentication.ts";

/** An upload from a caller who may send it. */
interface ReceivedUpload extends Pick<AuthenticatedUploader, "uploader" | "claims"> {
  request: Request;
  search: string;
  /** `null`: the upload names it. */
  repo: RepositoryName | null;
  now: number;
}

/** Creates the handler of uploads, which counts those that run. */
export function createUploadReceiver(
  context: UploadContext,
): (upload: ReceivedUpload, logged: LoggedRequest) => Promise<Response> {
  const { metrics } = context;
  const running = new RunningUploads(context.quotas);
  let uploadCount = 0;

  return async (upload, logged) => {
    const parameters = new URLSearchParams(upload.search);
    const read = readUploadParameters(parameters, upload.now);
    if (read.errors) return badRequest(read.errors);
    if (running.count >= context.maxRunningUploads) return unavailable();
    const receiving = context.room?.receive();
    const { addBytes, end } = running.begin(upload.uploader);
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
      const byteCount = await receiveBody(upload.request, join(folder, "body"), limits);
      return await accept({ ...upload, parameters: [...parameters], folder, byteCount }, logged);
    } finally {
      end();
      receiving?.end();
      metrics?.set("uploads_running", running.count);
      await Deno.remove(folder, { recursive: true }).catch(() => {});
    }
  };

  /** Keeps an upload whose body is in its folder. */
  async function accept(
    { request, uploader, byteCount, search: _, ...upload }: ReceivedUpload & {
      parameters: [string, string][];
      folder: string;
      byteCount: number;
    },
    logged: LoggedRequest,
  ): Promise<Response> {
    const { key, notes, facts } = await acceptUpload(context, {
      ...upload,
      contentType: request.headers.get("content-type") ?? "",
      organization: uploader.organizationName,
    }, {
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
  }
}
