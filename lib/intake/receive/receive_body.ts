// Tests: tests/lib/intake/receive/change_quarantine_test.ts tests/lib/intake/receive/upload_app_test.ts
import { Buffer } from "node:buffer";
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { DiskFullError } from "../../storage/disk_room.ts";
import { readChunks, StorageError } from "../../storage/storage.ts";
import type { RunningUpload } from "./running_uploads.ts";
import { UploadError } from "../upload_error.ts";

export interface BodyLimits {
  maxBytes: number;
  /** What to do about a larger body. */
  advice?: string;
  /** Timeout for the next bytes. */
  idleMs: number;
  /** Timeout for the whole body. */
  timeoutMs: number;
  /** Aborts the upload. */
  stop: AbortSignal;
}

/**
 * Writes the body of a request to a file as it is; returns its size. A worker parses it: here one
 * thread would parse for all clients.
 *
 * @throws {UploadError} when it is incomplete or too large
 * @throws {UploadQuotaError} by `addBytes`
 */
export async function receiveBody(
  request: Request,
  path: string,
  limits: BodyLimits & Pick<RunningUpload, "addBytes">,
): Promise<number> {
  const received = { byteCount: 0 };
  await pipeline(countedChunks(request, limits, received), createWriteStream(path));
  return received.byteCount;
}

/** Reads the body of a request as UTF-8, with the same limits. */
export async function receiveText(request: Request, limits: BodyLimits): Promise<string> {
  const chunks = countedChunks(request, { ...limits, addBytes: () => {} }, { byteCount: 0 });
  return new TextDecoder().decode(Buffer.concat(await Array.fromAsync(chunks)));
}

async function* countedChunks(
  { body, headers }: Request,
  { maxBytes, advice = "upload fewer reports at a time", idleMs, timeoutMs, stop, addBytes }:
    Parameters<typeof receiveBody>[2],
  received: { byteCount: number },
): AsyncGenerator<Uint8Array, void> {
  if (!body) return;
  const tooLarge = { body: [`more than ${maxBytes} bytes: ${advice}`] };
  // Counted in advance where it is known: better refused at the beginning than at the end.
  let expectedBytes = Number(headers.get("content-length")) || 0;
  if (expectedBytes > maxBytes) throw new UploadError(413, tooLarge);
  addBytes(expectedBytes);
  const deadline = performance.now() + timeoutMs;
  const chunks = readChunks(Readable.fromWeb(body), { what: "the upload", idleMs, stop });
  try {
    for await (const chunk of chunks) {
      received.byteCount += chunk.length;
      if (received.byteCount > maxBytes) throw new UploadError(413, tooLarge);
      expectedBytes -= chunk.length;
      if (expectedBytes < 0) {
        addBytes(-expectedBytes);
        expectedBytes = 0;
      }
      if (performance.now() > deadline) {
        throw new StorageError(`the upload: not complete after ${timeoutMs / 1000} s`);
      }
      yield chunk;
    }
  } catch (error) {
    // The client was too slow or is gone.
    const isOwn = error instanceof DiskFullError || stop.aborted;
    if (!(error instanceof StorageError) || isOwn) throw error;
    throw new UploadError(408, { body: [error.message] });
  }
}
