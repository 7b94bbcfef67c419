import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Busboy } from "@fastify/busboy";
import { quote } from "../../base/quote.ts";
import type { ParameterErrors } from "../../http/request/errors.ts";
import { readChunks, StorageError } from "../../storage/storage.ts";

/** The parts of a form. */
const PARTS = ["report", "coverage", "codeowners"] as const;

// Bound the memory for names. Larger uploads can be sent as an archive.
const MAX_FILES = 10_000;
const MAX_HEADER_BYTES = 4_096;

export interface ReceivedFile {
  part: typeof PARTS[number];
  /** File name from the client; `""` without one. */
  name: string;
  path: string;
  size: number;
}

/** The body of an upload: an archive, or files. */
export interface ReceivedBody {
  /** Path of the archive; `null` for files. */
  archive: string | null;
  files: ReceivedFile[];
  byteCount: number;
}

export interface BodyLimits {
  maxBytes: number;
  /** Timeout for the next bytes. */
  idleMs: number;
  /** Timeout for the whole body. */
  timeoutMs: number;
  /** Aborts the upload. */
  stop: AbortSignal;
}

/** The upload is rejected; messages by parameter or part. */
export class UploadError extends Error {
  override name = "UploadError";

  constructor(
    readonly status: 400 | 408 | 413,
    readonly errors: ParameterErrors,
  ) {
    super(Object.values(errors).flat().join("; "));
  }
}

/**
 * Receives a body into a folder.
 *
 * @throws {UploadError} when it is incomplete, too large or a malformed form
 */
export async function receiveBody(
  request: Request,
  folder: string,
  limits: BodyLimits,
): Promise<ReceivedBody> {
  const received: ReceivedBody = { archive: null, files: [], byteCount: 0 };
  const contentType = request.headers.get("content-type") ?? "";
  const chunks = countedChunks(request, limits, received);
  if (/^multipart\//i.test(contentType)) {
    await receiveForm(chunks, { contentType, folder, received });
  } else {
    const path = join(folder, "body");
    await pipeline(chunks, createWriteStream(path));
    const { byteCount: size } = received;
    if (await beginsGzip(path)) received.archive = path;
    else if (size > 0) received.files.push({ part: "report", name: "report.xml", path, size });
  }
  if (received.byteCount === 0) {
    throw new UploadError(400, {
      body: ["empty body: expected a JUnit report, a form with report=@FILE, or an archive"],
    });
  }
  return received;
}

async function* countedChunks(
  { body, headers }: Request,
  { maxBytes, idleMs, timeoutMs, stop }: BodyLimits,
  received: ReceivedBody,
): AsyncGenerator<Uint8Array, void> {
  if (!body) return;
  const tooLarge = { body: [`more than ${maxBytes} bytes: upload fewer reports at a time`] };
  if (Number(headers.get("content-length")) > maxBytes) throw new UploadError(413, tooLarge);
  const deadline = performance.now() + timeoutMs;
  const chunks = readChunks(Readable.fromWeb(body), { what: "the upload", idleMs, stop });
  try {
    for await (const chunk of chunks) {
      received.byteCount += chunk.length;
      if (received.byteCount > maxBytes) throw new UploadError(413, tooLarge);
      if (performance.now() > deadline) {
        throw new StorageError(`the upload: not complete after ${timeoutMs / 1000} s`);
      }
      yield chunk;
    }
  } catch (error) {
    // The client was too slow or is gone.
    if (!(error instanceof StorageError) || stop.aborted) throw error;
    throw new UploadError(408, { body: [error.message] });
  }
}

async function beginsGzip(path: string): Promise<boolean> {
  using file = await Deno.open(path);
  const start = new Uint8Array(2);
  return await file.read(start) === 2 && start[0] === 0x1f && start[1] === 0x8b;
}

async function receiveForm(
  chunks: AsyncIterable<Uint8Array>,
  { contentType, folder, received }: {
    contentType: string;
    folder: string;
    received: ReceivedBody;
  },
): Promise<void> {
  const errors: ParameterErrors = {};
  const failure = new AbortController();
  const writing: Promise<unknown>[] = [];
  const onFile = (part: string, bytes: Readable & { bytesRead: number }, name?: string) => {
    if (!isPart(part)) {
      errors.body ??= [
        `unknown part ${quote(part)}: expected ${PARTS.join(", ")}; facts of the run are ` +
        "query parameters",
      ];
      return void bytes.resume();
    }
    const path = join(folder, String(received.files.length));
    const file: ReceivedFile = { part, name: name ?? "", path, size: 0 };
    received.files.push(file);
    const { signal } = failure;
    writing.push(
      pipeline(bytes, createWriteStream(path), { signal }).then(
        () => file.size = bytes.bytesRead,
        (error) => failure.abort(error),
      ),
    );
  };
  try {
    const form = new Busboy({
      headers: { "content-type": contentType },
      preservePath: true,
      isPartAFile: () => true,
      limits: { files: MAX_FILES, headerSize: MAX_HEADER_BYTES },
    });
    form.on("file", onFile);
    form.on("filesLimit", () => errors.body ??= [`more than ${MAX_FILES} files: expected fewer`]);
    await pipeline(Readable.from(chunks), form, { signal: failure.signal });
  } catch (error) {
    failure.abort(error);
  }
  await Promise.all(writing);
  if (failure.signal.aborted) throw asUploadError(failure.signal.reason);
  if (Object.keys(errors).length > 0) throw new UploadError(400, errors);
}

/** Errors of the form parser have neither a code nor a class of their own. */
function asUploadError(error: unknown): unknown {
  const isFormError = error instanceof Error && error.name === "Error" && !("code" in error);
  return isFormError ? new UploadError(400, { body: [`broken form: ${error.message}`] }) : error;
}

function isPart(name: string): name is ReceivedFile["part"] {
  return PARTS.some((part) => part === name);
}
