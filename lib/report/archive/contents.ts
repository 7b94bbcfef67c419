/**
 * What an archive holds, found in a first reading, so that the second one reads each report once
 * and straight from the stream: nothing is ever written to disk.
 */
import { createHash } from "node:crypto";
import { ReportError } from "../report_error.ts";
import { type ArchiveEntry, readEntries, type ReadEntriesOptions } from "./entries.ts";
import { type ArchiveLimits, DEFAULT_ARCHIVE_LIMITS } from "./limits.ts";
import { type ArchiveMetadata, parseMetadata } from "./metadata.ts";

/** An archive that can be read from its beginning more than once. */
export interface ArchiveSource {
  /** What errors call it: its path or key. */
  name: string;
  open(): AsyncIterable<Uint8Array>;
}

/** A file of an archive. */
export interface ArchivedFile {
  /** Path inside the archive, such as `test_results/a.xml`. */
  path: string;
  ordinal: number;
}

/** What an archive holds. */
export interface ArchiveContents {
  /** `null` when there is no `buildpulse.yml`. */
  metadata: ArchiveMetadata | null;
  /** Text of `CODEOWNERS`; `null` when there is none. */
  codeowners: string | null;
  reports: ArchivedFile[];
  coverage: ArchivedFile[];
  /** SHA-256 of the archive's bytes, hex. */
  digest: string;
}

/** What {@link inspectArchive} may be told. */
export interface InspectOptions {
  limits?: Partial<ArchiveLimits>;
  /** Called with what was passed over, one line each. */
  onNote?(note: string): void;
  /** Called as soon as the metadata was read, which may be long before the archive turns out bad. */
  onMetadata?(metadata: ArchiveMetadata): void;
}

const REPORT_FOLDERS = ["test_results/", "test-results/"];
const COVERAGE_FOLDER = "coverage/";
// Enough for a declaration and a comment before the root element.
const SNIFFED_BYTES = 4_096;

/**
 * Reads an archive to its end, which proves that it is whole.
 *
 * Of a path that stands in it twice the last counts, as if it were extracted.
 *
 * @throws {ReportError} when it is damaged, exceeds a limit or its metadata cannot be read
 */
export async function inspectArchive(
  source: ArchiveSource,
  options: InspectOptions = {},
): Promise<ArchiveContents> {
  const limits = { ...DEFAULT_ARCHIVE_LIMITS, ...options.limits };
  const digest = createHash("sha256");
  const contents: Omit<ArchiveContents, "digest"> = {
    metadata: null,
    codeowners: null,
    reports: [],
    coverage: [],
  };
  const files = new Map<string, ArchivedFile & { isReport: boolean }>();
  const entries = readEntries(hashed(source.open(), digest), {
    archive: source.name,
    limits,
    onPassedOver: (path) =>
      options.onNote?.(`${source.name}: ${path}: is a link or device: passed over`),
  });
  for await (const entry of entries) {
    const { path, ordinal } = entry;
    const file = `${source.name}: ${path}`;
    if (path === "buildpulse.yml") {
      contents.metadata = parseMetadata(await textOf(entry, file, limits.metadataBytes), file);
      options.onMetadata?.(contents.metadata);
    } else if (path === "CODEOWNERS") {
      contents.codeowners = await textOf(entry, file, limits.codeownersBytes);
    } else if (path.startsWith(COVERAGE_FOLDER)) {
      if (entry.size > 0) files.set(path, { path, ordinal, isReport: false });
      else options.onNote?.(`${file}: is empty: passed over`);
    } else if (REPORT_FOLDERS.some((folder) => path.startsWith(folder))) {
      if (await looksLikeReport(entry)) files.set(path, { path, ordinal, isReport: true });
      else options.onNote?.(`${file}: is no XML file: passed over`);
    }
  }
  const inOrder = [...files.values()].sort((a, b) => a.ordinal - b.ordinal);
  for (const { path, ordinal, isReport } of inOrder) {
    (isReport ? contents.reports : contents.coverage).push({ path, ordinal });
  }
  return { ...contents, digest: digest.digest("hex") };
}

/**
 * The given files of an archive that was inspected, in its order.
 *
 * @throws {ReportError} when the archive is not the same any more
 */
export async function* readArchived(
  source: ArchiveSource,
  files: readonly ArchivedFile[],
  options: { digest: string } & Pick<ReadEntriesOptions, "limits">,
): AsyncGenerator<ArchiveEntry, void> {
  if (files.length === 0) return;
  const wanted = new Set(files.map(({ ordinal }) => ordinal));
  const digest = createHash("sha256");
  const entries = readEntries(hashed(source.open(), digest), { ...options, archive: source.name });
  for await (const entry of entries) if (wanted.has(entry.ordinal)) yield entry;
  if (digest.digest("hex") !== options.digest) {
    throw new ReportError({
      file: source.name,
      kind: "unreadable",
      problem: "changed while it was read, expected an archive that is complete",
    });
  }
}

async function* hashed(
  bytes: AsyncIterable<Uint8Array>,
  digest: ReturnType<typeof createHash>,
): AsyncGenerator<Uint8Array, void> {
  for await (const piece of bytes) {
    digest.update(piece);
    yield piece;
  }
}

async function textOf(
  { bytes, size }: ArchiveEntry,
  file: string,
  maxBytes: number,
): Promise<string> {
  if (size > maxBytes) {
    const problem = `found ${size} bytes, expected at most ${maxBytes}`;
    throw new ReportError({ file, kind: "limit", problem });
  }
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of bytes) text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}

/** Reporters pack whatever they are given: logs and screenshots too. */
async function looksLikeReport({ path, bytes }: ArchiveEntry): Promise<boolean> {
  if (/\.xml$/i.test(path)) return true;
  let start = "";
  for await (const piece of bytes) {
    // One byte a character is enough to find a tag.
    start += new TextDecoder("latin1").decode(piece.subarray(0, SNIFFED_BYTES));
    if (start.length >= SNIFFED_BYTES) break;
  }
  return /<testsuites?[\s>/]/.test(start);
}
