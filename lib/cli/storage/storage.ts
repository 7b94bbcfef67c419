import { isTransient } from "../../../db/connection/errors.ts";
import { errorCode, errorMessage } from "../../base/error.ts";
import type { ArchiveSource } from "../../report/archive/mod.ts";
import { ReportError } from "../../report/report_error.ts";

export interface StoredArchive {
  /** Path relative to the folder, with `/`, or key of the object. */
  key: string;
  /** Changes with the contents: ETag, or size and modification time. */
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
  /** Removes an archive that was processed; absent where archives are kept. */
  remove?(key: string): Promise<void>;
}

/** A folder or bucket is unavailable. It is retried and does not count as a failure of the archive. */
export class StorageError extends Error {
  override name = "StorageError";
}

/**
 * True when storage or database are at fault, so that a retry makes sense: for any code of the system or
 * SQLSTATE, except where the database refuses the data (classes 22, 23 and 54).
 */
export function isOutage(error: unknown): boolean {
  if (error instanceof StorageError || isTransient(error)) return true;
  if (error instanceof ReportError) return error.kind === "unreadable";
  return /^(E[A-Z0-9]+|(?!22|23|54)[0-9A-Z]{5})$/.test(errorCode(error));
}

/**
 * True for the name of an archive; other files in the folder or bucket are ignored, as are names with
 * NUL or an unpaired surrogate, which PostgreSQL cannot store.
 */
export function isArchiveName(key: string): boolean {
  return /\.(gz|tgz)$/i.test(key) && !key.includes("\0") && key.isWellFormed();
}

interface Interrupts {
  /** Timeout for each chunk. */
  idleMs: number;
  /** Aborts the reading. */
  stop?: AbortSignal | undefined;
}

/**
 * The chunks of a file or object.
 *
 * @param options.what the beginning of error messages
 * @param options.close releases the source; called at the end
 * @throws {StorageError} for any failure, timeout or `stop`
 */
export async function* readChunks(
  bytes: AsyncIterable<Uint8Array>,
  { what, idleMs, stop, close }: Interrupts & { what: string; close(): void },
): AsyncGenerator<Uint8Array, void> {
  const iterator = bytes[Symbol.asyncIterator]();
  try {
    while (true) {
      const { value, done } = await nextInTime(iterator, { idleMs, stop });
      if (done) return;
      yield value;
    }
  } catch (error) {
    if (error instanceof StorageError) throw error;
    throw new StorageError(`${what}: ${stop?.aborted ? "stopped" : errorMessage(error)}`);
  } finally {
    close();
  }
}

async function nextInTime(
  iterator: AsyncIterator<Uint8Array>,
  { idleMs, stop }: Interrupts,
): Promise<IteratorResult<Uint8Array, void>> {
  const { promise: interrupted, reject } = Promise.withResolvers<never>();
  const onStop = () => reject(stop?.reason);
  if (stop?.aborted) onStop();
  stop?.addEventListener("abort", onStop);
  const timer = setTimeout(
    () => reject(new Error(`no data for ${idleMs / 1000} s`)),
    idleMs,
  );
  try {
    return await Promise.race([interrupted, iterator.next()]);
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener("abort", onStop);
  }
}
