// Tests: tests/lib/storage/disk_room_test.ts tests/lib/storage/folder_test.ts
import { addAbortSignal, type Readable } from "node:stream";
import { pause } from "../base/delay.ts";
import { errorMessage } from "../base/error.ts";
import type { ArchiveSource } from "../report/archive/mod.ts";

export interface StoredArchive {
  /** Path relative to the folder, with `/`, or key of the object. */
  key: string;
  /** Changes whenever it is written: ETag or size, and modification time. */
  version: string;
  /** Seconds since 1970. */
  uploadedAt: number;
  /** False while it may still be written. */
  isComplete: boolean;
}

/** An archive on disk. */
export interface StoredFile {
  path: string;
  size: number;
  /** SHA-256, hex. */
  digest: string;
}

export interface ArchiveStorage {
  /** Its name in the database and in messages: a path, or `s3://bucket/prefix`. */
  name: string;
  /** Lists the archives, in batches. */
  list(): AsyncIterable<StoredArchive[]>;
  open(archive: StoredArchive): ArchiveSource;
  /** Removes an archive, unless it was written again; absent where archives are kept. */
  remove?(archive: StoredArchive): Promise<void>;
}

/** A folder or bucket is unavailable. It is retried and does not count as a failure of the archive. */
export class StorageError extends Error {
  override name = "StorageError";
}

/**
 * True for the name of an archive; other files in the folder or bucket are ignored, as are names with
 * NUL or an unpaired surrogate, which PostgreSQL cannot store.
 */
export function isArchiveName(key: string): boolean {
  return /\.(gz|tgz)$/i.test(key) && !key.includes("\0") && key.isWellFormed();
}

/**
 * The chunks of a file, an object or the body of a request.
 *
 * @param options.what the beginning of error messages
 * @param options.idleMs timeout for each chunk
 * @throws {StorageError} for any failure, timeout or `stop`
 */
export async function* readChunks(
  bytes: Readable,
  { what, idleMs, stop }: { what: string; idleMs: number; stop?: AbortSignal | undefined },
): AsyncGenerator<Uint8Array, void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const startTimer = () => {
    const expire = () => bytes.destroy(new Error(`no data for ${idleMs / 1000} s`));
    timer = setTimeout(expire, idleMs);
  };
  try {
    if (stop) addAbortSignal(stop, bytes);
    startTimer();
    for await (const chunk of bytes) {
      clearTimeout(timer);
      yield chunk;
      startTimer();
    }
  } catch (error) {
    if (error instanceof StorageError) throw error;
    throw new StorageError(`${what}: ${stop?.aborted ? "stopped" : errorMessage(error)}`);
  } finally {
    clearTimeout(timer);
  }
}

const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 200;
/** Limit of `Retry-After`. */
const MAX_PAUSE_SECONDS = 30;

/**
 * Sends a request again after 429, 5xx and a failed connection, not before `Retry-After`.
 *
 * @param request names it in errors, without secrets
 * @param options.problemOf reads what a response that is an error says
 * @throws {StorageError} when all attempts failed, or repeating is of no use
 */
export async function fetchWithRetries(
  request: string,
  { send, problemOf, stop }: {
    send: () => Promise<Response>;
    problemOf: (response: Response) => Promise<string>;
    stop?: AbortSignal | undefined;
  },
): Promise<Response> {
  for (let attempt = 1;; attempt++) {
    let problem: string;
    let isRetryable = true;
    let pauseMs = FIRST_PAUSE_MS * 2 ** (attempt - 1);
    try {
      const response = await send();
      if (response.ok) return response;
      isRetryable = response.status >= 500 || response.status === 429;
      problem = await problemOf(response);
      const seconds = Number(response.headers.get("retry-after")) || 0;
      pauseMs = Math.max(pauseMs, Math.min(seconds, MAX_PAUSE_SECONDS) * 1000);
    } catch (error) {
      if (error instanceof StorageError) throw error;
      if (stop?.aborted) throw new StorageError(`${request}: stopped`);
      problem = error instanceof DOMException ? error.name : causeOf(error);
    }
    if (!isRetryable || attempt === ATTEMPTS) throw new StorageError(`${request}: ${problem}`);
    await pause(pauseMs, stop);
  }
}

/** The message of a failed fetch contains the URL, whose query may be a secret. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause || error;
  return errorMessage(cause).replaceAll(/\?\S*/g, "?...");
}
