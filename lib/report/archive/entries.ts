/** From the bytes of a gzip'd tar to the files in it, one after the other. */
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ARCHIVE_LIMITS, type ArchiveLimits } from "../limits.ts";
import { excerpt, limitError, ReportError } from "../report_error.ts";
import { readTar } from "./tar.ts";

export interface ArchiveEntry {
  /** As the archive has it, without `./` segments. Never used as a path: nothing is extracted. */
  path: string;
  /** Position among the entries of the archive. */
  ordinal: number;
  size: number;
  /** The file, to be read before the next entry is requested. */
  bytes: AsyncIterable<Uint8Array>;
}

interface ReadEntriesOptions {
  /** Path or key of the archive, for errors. */
  archive: string;
  limits?: ArchiveLimits;
  /** Called for links and devices, with a path that is safe to show. */
  onSkipped?(path: string): void;
}

/**
 * The files of a gzip'd tar, in its order. Folders, links and devices are skipped, and so is what
 * is not read of a file. @throws {ReportError} when the archive is damaged, cut off or exceeds a
 * limit; an error of the source itself as it is
 */
export async function* readEntries(
  source: AsyncIterable<Uint8Array>,
  options: ReadEntriesOptions,
): AsyncGenerator<ArchiveEntry, void> {
  const { archive, limits = ARCHIVE_LIMITS } = options;
  let ordinal = 0;
  const head: number[] = [];
  try {
    const tar = readTar(decompressed(source, { ...options, head }));
    for await (const { name, type, size, bytes } of tar) {
      if (ordinal >= limits.entryCount) {
        throw limitError(archive, `${ordinal + 1} entries`, `at most ${limits.entryCount}`);
      }
      const path = checkedPath(name, archive, limits);
      if (type === "file") {
        if (size > limits.entryBytes) {
          const found = `${excerpt(path)} with ${size} bytes`;
          throw limitError(archive, found, `at most ${limits.entryBytes}`);
        }
        yield { path, ordinal, size, bytes: explained(bytes, archive) };
      } else if (type === "other") {
        options.onSkipped?.(path);
      }
      ordinal++;
    }
  } catch (error) {
    throw explain(error, archive, head);
  }
}

const HEADER_BYTES = 512;

// Each chunk is a task of another thread: with the 16 KiB of the library they take as long as the rest.
const CHUNK_BYTES = 128 * 1024;

/** The source cannot be read: no fault of the archive. */
class SourceError extends Error {}

async function* decompressed(
  source: AsyncIterable<Uint8Array>,
  { archive, limits = ARCHIVE_LIMITS, head }: ReadEntriesOptions & {
    /** Gets the first bytes. */
    head: number[];
  },
): AsyncGenerator<Uint8Array, void> {
  let bytesIn = 0;
  let bytesOut = 0;
  async function* counted() {
    try {
      for await (const chunk of source) {
        bytesIn += chunk.length;
        if (bytesIn > limits.compressedBytes) {
          throw limitError(archive, `more than ${limits.compressedBytes} compressed bytes`);
        }
        yield chunk;
      }
    } catch (error) {
      throw new SourceError("unreadable", { cause: error });
    }
  }
  const input = Readable.from(counted(), { objectMode: false });
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  input.on("error", (error) => gunzip.destroy(error));
  try {
    for await (const chunk of input.pipe(gunzip)) {
      if (head.length < HEADER_BYTES) head.push(...chunk.subarray(0, HEADER_BYTES - head.length));
      bytesOut += chunk.length;
      if (bytesOut > limits.decompressedBytes) {
        throw limitError(archive, `more than ${limits.decompressedBytes} decompressed bytes`);
      }
      if (bytesOut > limits.ratioFreeBytes && bytesOut > bytesIn * limits.expansionRatio) {
        const found = `${bytesOut} bytes decompressed from ${bytesIn}`;
        throw limitError(archive, found, `at most ${limits.expansionRatio} times as many`);
      }
      yield chunk;
    }
  } finally {
    gunzip.destroy();
    input.destroy();
  }
}

async function* explained(
  bytes: AsyncIterable<Uint8Array>,
  archive: string,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* bytes;
  } catch (error) {
    throw explain(error, archive);
  }
}

/**
 * Distinguishes a damaged archive from a source that cannot be read, and by its first bytes from a report
 * that was compressed alone.
 */
function explain(error: unknown, archive: string, head: readonly number[] = []): unknown {
  if (error instanceof SourceError) return error.cause;
  if (error instanceof ReportError || !(error instanceof Error)) return error;
  // A header of a tar is padded with zeros, which a text does not have.
  if (head.length > 0 && !head.includes(0)) {
    return new ReportError({
      file: archive,
      kind: "malformed",
      problem: "found a gzip'd file that is not a tar, expected a gzip'd tar archive; " +
        "send a single report uncompressed",
    });
  }
  const isGzip = "code" in error && String(error.code).startsWith("Z_");
  return new ReportError({
    file: archive,
    kind: "malformed",
    problem: `found ${isGzip ? "gzip" : "tar"} data that is damaged or cut off ` +
      `(${error.message.replace(/\.$/, "")}), expected a complete gzip'd tar archive`,
  });
}

function checkedPath(name: string, archive: string, limits: ArchiveLimits): string {
  if (name.length > limits.pathCharacters) {
    const found = `a path of ${name.length} characters`;
    throw limitError(archive, found, `at most ${limits.pathCharacters}`);
  }
  if (/\p{Cc}/u.test(name)) {
    throw new ReportError({
      file: archive,
      kind: "malformed",
      problem: `found the path ${excerpt(name)}, expected no control characters in it`,
    });
  }
  return name.split("/").filter((segment) => segment !== ".").join("/");
}
