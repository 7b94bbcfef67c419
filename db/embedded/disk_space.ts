// Tests: tests/db/embedded/full_disk_test.ts
import { freeBytes } from "../../lib/system/files.ts";

const MEGABYTE = 1024 * 1024;

/**
 * Free disk space below which writes are refused. PostgreSQL allocates its log in segments of 16 MB
 * and ends when it cannot: one segment, one more at a checkpoint, and what a statement writes.
 */
const MIN_FREE_DISK_MB = 64;

/** The same in bytes. */
export const MIN_FREE_DISK_BYTES = MIN_FREE_DISK_MB * MEGABYTE;

const NEW_DATABASE_MB = 40;

/** Why writes to a database in this folder are refused, or a new one is; `null` when they are not. */
export function diskFull(folder: string, isNew = false): string | null {
  const bytes = freeBytes(folder);
  const expectedMb = MIN_FREE_DISK_MB + (isNew ? NEW_DATABASE_MB : 0);
  if (bytes >= expectedMb * MEGABYTE) return null;
  return `the disk of ${JSON.stringify(folder)} is almost full: ` +
    `${Math.floor(bytes / MEGABYTE)} MB are free, writing needs ${expectedMb} MB`;
}
