import { ReportError } from "../report_error.ts";

/**
 * Limits of an archive. No real CI comes near them; they bound memory and time when an archive is
 * broken or hostile.
 */
export const DEFAULT_ARCHIVE_LIMITS = {
  /** Of the archive as it is stored. Half a million results are about 10 MB. */
  compressedBytes: 512 * 1024 * 1024,
  /** Of all that comes out of it, headers and padding included. */
  decompressedBytes: 2 * 1024 * 1024 * 1024,
  /** Reports of similar tests shrink to a fortieth; nothing but zeros to a thousandth. */
  expansionRatio: 200,
  /** Files, folders and links. A large project has a file for each test class. */
  entryCount: 100_000,
  /** Of one file in it. */
  entryBytes: 1024 * 1024 * 1024,
  pathCharacters: 4_096,
  /** Of `buildpulse.yml`. */
  metadataBytes: 256 * 1024,
  /** Of `CODEOWNERS`: what GitHub takes at most. */
  codeownersBytes: 3 * 1024 * 1024,
};

export type ArchiveLimits = Readonly<typeof DEFAULT_ARCHIVE_LIMITS>;

/** Up to here the expansion ratio is not checked. */
export const RATIO_FREE_BYTES = 64 * 1024 * 1024;

/** The error of a file that exceeds a limit. */
export function limitError(file: string, found: string): ReportError {
  return new ReportError({ file, kind: "limit", problem: `found ${found}` });
}
