// Tests: tests/lib/intake/pack_upload_test.ts
/** The files of an archive, the archive, and its name. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { formatRepositoryName, type RepositoryName } from "../base/repository_name.ts";
import { formatTimestamp } from "../base/time.ts";
import {
  type ArchiveContent,
  type FileToPack,
  isReport,
  writeArchive,
} from "../report/archive/mod.ts";
import { hashed } from "../report/file_chunks.ts";
import { ARCHIVE_LIMITS } from "../report/limits.ts";
import { limitError } from "../report/report_error.ts";
import type { StoredFile } from "../storage/storage.ts";

// Fits into a segment of a path, or a key of 1,024 bytes, with the rest of the name.
const MAX_SEGMENT_CHARACTERS = 100;
const DIGEST_CHARACTERS = 16;

/** Collects files for an archive, where no two have the same path. */
export class FilesToPack {
  readonly files: FileToPack[] = [];
  readonly #usedPaths = new Set<string>();
  /** The next number of files that would have the same path. */
  readonly #nextNo = new Map<string, number>();

  /**
   * Adds a report. What reads the archive finds it by its name or its beginning. The name is kept where that is enough,
   * because it may tell the order of attempts.
   */
  async addReport(path: string, file: Omit<FileToPack, "path">): Promise<void> {
    const isFound = await isReport({ path, bytes: file.open() });
    this.add(isFound ? path : `${path}.xml`, file);
  }

  /** @param path inside the archive; a file with the path of another is of another folder */
  add(path: string, file: Omit<FileToPack, "path">): void {
    const wanted = path;
    let no = this.#nextNo.get(wanted) ?? 2;
    while (this.#usedPaths.has(path)) {
      path = wanted.replace(/[^/]*$/, `${no++}/$&`);
    }
    this.#nextNo.set(wanted, no);
    this.#usedPaths.add(path);
    this.files.push({ path, ...file });
  }
}

/** Writes an archive to a file. @throws {ReportError} `limit` */
export async function packArchive(path: string, content: ArchiveContent): Promise<StoredFile> {
  const hash = createHash("sha256");
  await pipeline(hashed(writeArchive(content), hash), createWriteStream(path));
  const { size } = await Deno.stat(path);
  const { compressedBytes } = ARCHIVE_LIMITS;
  if (size > compressedBytes) {
    throw limitError("the archive", `${size} bytes`, `at most ${compressedBytes}: fewer reports`);
  }
  return { path, size, digest: hash.digest("hex") };
}

/**
 * The name of an archive: names sort by time within a repository, and the same archive has the same
 * name. No segment begins with a dot, as `watch` ignores hidden folders.
 *
 * @param digest SHA-256 of the archive, hex
 */
export function archiveName(
  { repository, recordedAt }: { repository: RepositoryName; recordedAt: number },
  digest: string,
): string {
  const moment = formatTimestamp(recordedAt).replaceAll(/[-:]/g, "");
  const folder = formatRepositoryName(repository).replaceAll(/[^A-Za-z0-9._/-]/g, "_").split("/")
    .map((segment) => segment.replace(/^\./, "_").slice(0, MAX_SEGMENT_CHARACTERS)).join("/");
  return `${folder}/${moment}-${digest.slice(0, DIGEST_CHARACTERS)}.gz`;
}
