/** The contents of an archive, found in a first pass; reports are read in a second one. */
import { createHash } from "node:crypto";
import { hashed } from "../file_chunks.ts";
import { ARCHIVE_LIMITS, type ArchiveLimits } from "../limits.ts";
import { excerpt, limitError, ReportError } from "../report_error.ts";
import { looksLikeReport } from "../read_report.ts";
import { inOrderOfAttempts } from "../../analysis/repetition/report_order.ts";
import { type ArchiveEntry, readEntries } from "./entries.ts";
import { type ArchiveMetadata, parseMetadata } from "./metadata.ts";

/** An archive that can be read from its beginning more than once. */
export interface ArchiveSource {
  /** Path or key, for errors. */
  name: string;
  open(): AsyncIterable<Uint8Array>;
}

export interface ArchivedFile {
  /** Path inside the archive, such as `test_results/a.xml`. */
  path: string;
  ordinal: number;
}

export interface ArchiveContents {
  /** `null` when there is no `buildpulse.yml`. */
  metadata: ArchiveMetadata | null;
  /** Text of `ci.env`, the variables of the CI job; `""` when there is none. */
  ci: string;
  /** Text of `path-prefixes.txt`; `""` when there is none. */
  pathPrefixes: string;
  /** Text of `CODEOWNERS`; `null` when there is none. */
  codeowners: string | null;
  /** In natural order of their paths. */
  reports: ArchivedFile[];
  coverage: ArchivedFile[];
  /** SHA-256 of the archive's bytes, hex. */
  digest: string;
}

interface InspectOptions {
  limits?: ArchiveLimits;
  /** Called with what was skipped, one line each. */
  onNote?(note: string): void;
  /** Called as soon as the metadata was read, even if the archive turns out to be damaged later. */
  onMetadata?(metadata: ArchiveMetadata): void;
  /** Called likewise with the text of `ci.env`. */
  onCi?(text: string): void;
}

/** The file with the variables of the CI job. */
export const CI_FILE = "ci.env";

/** The file with the folders of the checkout that paths in reports begin at. */
export const PREFIXES_FILE = "path-prefixes.txt";

const REPORT_FOLDERS = ["test_results/", "test-results/"];
const COVERAGE_FOLDER = "coverage/";
// Enough for a declaration and a comment before the root element.
const SNIFFED_BYTES = 4_096;

/**
 * Reads an archive to its end, which proves that it is complete. If a path is repeated, the last entry counts, except
 * for reports: all are read, because `tar -C a junit.xml -C ../b junit.xml` packs those of two folders.
 *
 * @throws {ReportError} when it is damaged, exceeds a limit or has invalid metadata
 */
export async function inspectArchive(
  source: ArchiveSource,
  options: InspectOptions = {},
): Promise<ArchiveContents> {
  const { limits = ARCHIVE_LIMITS } = options;
  const digest = createHash("sha256");
  let metadata: ArchiveMetadata | null = null;
  let ci = "";
  let pathPrefixes = "";
  let codeowners: string | null = null;
  const reports: ArchivedFile[] = [];
  const coverage = new Map<string, ArchivedFile>();
  const skip = (path: string, reason: string) =>
    options.onNote?.(`${source.name}: ${path}: ${reason}: skipped`);
  const entries = readEntries(hashed(source.open(), digest), {
    archive: source.name,
    limits,
    onSkipped: (path) => skip(path, "is a link or device"),
  });
  for await (const entry of entries) {
    const { path, ordinal } = entry;
    const file = `${source.name}: ${path}`;
    if (path === "buildpulse.yml") {
      metadata = parseMetadata(await textOf(entry, file, limits.metadataBytes), file);
      options.onMetadata?.(metadata);
    } else if (path === CI_FILE) {
      ci = await textOf(entry, file, limits.metadataBytes);
      options.onCi?.(ci);
    } else if (path === PREFIXES_FILE) {
      pathPrefixes = await textOf(entry, file, limits.metadataBytes);
    } else if (path === "CODEOWNERS") {
      codeowners = await textOf(entry, file, limits.codeownersBytes);
    } else if (path.startsWith(COVERAGE_FOLDER)) {
      coverage.set(path, { path: insidePath(path), ordinal });
    } else if (REPORT_FOLDERS.some((folder) => path.startsWith(folder))) {
      if (await isReport(entry)) reports.push({ path: insidePath(path), ordinal });
      else skip(path, "is not a report");
    } else if (path.startsWith("/") || path.split("/").includes("..")) {
      skip(excerpt(path), "leads out of the archive");
    }
  }
  return {
    metadata,
    ci,
    pathPrefixes,
    codeowners,
    reports: inOrderOfAttempts(reports),
    coverage: [...coverage.values()].sort((a, b) => a.ordinal - b.ordinal),
    digest: digest.digest("hex"),
  };
}

// Reports that come before their turn are held in memory up to this, for each archive that is read at
// once. Archives made by `upload` are in order.
const BUFFER_BYTES = 64 * 1024 * 1024;

/**
 * The given files of an inspected archive in that order, except for what cannot be held until its
 * turn. @throws {ReportError} when the archive has changed since
 */
export async function* readArchived(
  source: ArchiveSource,
  files: readonly ArchivedFile[],
  { digest }: { digest: string },
): AsyncGenerator<ArchiveEntry, void> {
  const order = files.map(({ ordinal }) => ordinal);
  const waiting = new Set(order);
  const buffered = new Map<number, ArchiveEntry>();
  let bufferedBytes = 0;
  let turn = 0;
  for await (const entry of entriesOf(source, digest)) {
    if (!waiting.has(entry.ordinal)) continue;
    if (entry.ordinal !== order[turn] && bufferedBytes + entry.size <= BUFFER_BYTES) {
      bufferedBytes += entry.size;
      const chunks = await Array.fromAsync(entry.bytes, (chunk) => chunk.slice());
      buffered.set(entry.ordinal, { ...entry, bytes: ReadableStream.from(chunks) });
      continue;
    }
    for (let next: ArchiveEntry | undefined = entry; next; next = buffered.get(order[turn]!)) {
      yield next;
      waiting.delete(next.ordinal);
      if (buffered.delete(next.ordinal)) bufferedBytes -= next.size;
      while (turn < order.length && !waiting.has(order[turn]!)) turn++;
    }
  }
}

/** The entries of an archive, to its end: then its digest must be the one of the inspection. */
async function* entriesOf(
  source: ArchiveSource,
  expectedDigest: string,
): AsyncGenerator<ArchiveEntry, void> {
  const digest = createHash("sha256");
  yield* readEntries(hashed(source.open(), digest), { archive: source.name });
  if (digest.digest("hex") === expectedDigest) return;
  throw new ReportError({
    file: source.name,
    kind: "unreadable",
    problem: "changed while it was read, expected an archive that is complete",
  });
}

async function textOf(
  { bytes, size }: ArchiveEntry,
  file: string,
  maxBytes: number,
): Promise<string> {
  if (size > maxBytes) throw limitError(file, `${size} bytes`, `at most ${maxBytes}`);
  return await new Response(ReadableStream.from(bytes)).text();
}

/** Without `..` segments, which a reporter writes for files outside of its folder. */
function insidePath(path: string): string {
  return path.split("/").filter((segment) => segment !== "..").join("/");
}

/**
 * Whether a file in the folder of reports is one, by its name or its beginning: reporters also pack logs and
 * screenshots there.
 */
export async function isReport(
  { path, bytes }: Pick<ArchiveEntry, "path" | "bytes">,
): Promise<boolean> {
  if (/\.xml$/i.test(path)) return true;
  let start = "";
  for await (const chunk of bytes) {
    // One byte a character is enough to find a tag; of UTF-16 every second one is 0.
    start += new TextDecoder("latin1").decode(chunk.subarray(0, SNIFFED_BYTES)).replaceAll(
      "\0",
      "",
    );
    if (start.length >= SNIFFED_BYTES) break;
  }
  return looksLikeReport(start);
}
