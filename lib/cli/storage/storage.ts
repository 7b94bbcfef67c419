import type { ArchiveSource } from "../../report/archive/mod.ts";

/** An archive that lies somewhere. */
export interface StoredArchive {
  /** Path below the folder with `/`, or key of the object. */
  key: string;
  /** Changes with the contents: entity tag, or size and time of change. */
  version: string;
  /** Seconds since 1970. */
  uploadedAt: number;
  /** False while somebody may still be writing it. */
  isComplete: boolean;
}

/** Where archives come from. */
export interface ArchiveStorage {
  /** What it is remembered by and called: a folder, or `s3://bucket/prefix`. */
  name: string;
  /** The archives that are there, in batches. */
  list(): AsyncIterable<StoredArchive[]>;
  open(archive: StoredArchive): ArchiveSource;
}

/**
 * A folder or bucket cannot be reached or does not let us in. That is nobody's archive's fault: it
 * may work later.
 */
export class StorageError extends Error {
  override name = "StorageError";
}

/** True for what is taken for an archive: others may share the folder or bucket. */
export function isArchiveName(key: string): boolean {
  return /\.(gz|tgz)$/i.test(key);
}

/** False for a key that PostgreSQL has no text for: it takes neither NUL nor half a character. */
export function isStorableKey(key: string): boolean {
  return !key.includes("\0") && key.isWellFormed();
}
