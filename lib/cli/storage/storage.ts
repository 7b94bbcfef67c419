import type { ArchiveSource } from "../../report/archive/mod.ts";

/** An archive in a folder or bucket. */
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

/** A folder or bucket of archives. */
export interface ArchiveStorage {
  /** Its name in the database and in messages: a path, or `s3://bucket/prefix`. */
  name: string;
  /** Lists the archives, in batches. */
  list(): AsyncIterable<StoredArchive[]>;
  open(archive: StoredArchive): ArchiveSource;
}

/** A folder or bucket is unavailable. It is retried and does not count as a failure of the archive. */
export class StorageError extends Error {
  override name = "StorageError";
}

/** True for the name of an archive; other files in the folder or bucket are ignored. */
export function isArchiveName(key: string): boolean {
  return /\.(gz|tgz)$/i.test(key);
}

/** False for a key with NUL or an unpaired surrogate, which PostgreSQL cannot store. */
export function isStorableKey(key: string): boolean {
  return !key.includes("\0") && key.isWellFormed();
}
