import { ReportError } from "../report_error.ts";

/**
 * Limits of an archive. No real CI comes near the defaults; they bound memory and time when an
 * archive is broken or hostile.
 */
export interface ArchiveLimits {
  /** Bytes of the archive as it is stored. */
  compressedBytes: number;
  /** Bytes of all that comes out of it, headers and padding included. */
  decompressedBytes: number;
  /** Bytes that may come out for each byte that went in. */
  expansionRatio: number;
  /** Files, folders and links in it. */
  entryCount: number;
  /** Bytes of one file in it. */
  entryBytes: number;
  /** Characters of one path in it. */
  pathCharacters: number;
  /** Bytes of `buildpulse.yml`. */
  metadataBytes: number;
  /** Bytes of `CODEOWNERS`. */
  codeownersBytes: number;
}

/** The defaults. */
export const DEFAULT_ARCHIVE_LIMITS: Readonly<ArchiveLimits> = {
  // Half a million results are about 10 MB.
  compressedBytes: 512 * 1024 * 1024,
  decompressedBytes: 2 * 1024 * 1024 * 1024,
  // Reports of thousands of similar tests shrink to a fortieth; nothing but zeros to a thousandth.
  expansionRatio: 200,
  // One file for each test class of a large project.
  entryCount: 100_000,
  entryBytes: 1024 * 1024 * 1024,
  pathCharacters: 4_096,
  metadataBytes: 256 * 1024,
  // What GitHub takes at most.
  codeownersBytes: 3 * 1024 * 1024,
};

/** Up to here the expansion ratio is not checked. */
export const RATIO_FREE_BYTES = 64 * 1024 * 1024;

/** The error of a file that exceeds a limit. */
export function limitError(file: string, found: string): ReportError {
  return new ReportError({ file, kind: "limit", problem: `found ${found}` });
}
