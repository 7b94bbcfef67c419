/** Whether the disk of an inbox has room for another upload. */
import { freeBytes } from "../base/files.ts";
import { StorageError } from "./storage.ts";

const MEGABYTE = 1024 * 1024;

/** Left free in addition to what is reserved: a segment of the log of the embedded database. */
const MARGIN_BYTES = 16 * MEGABYTE;

/** The free space is checked again after this much of a body. */
const BYTES_PER_CHECK = 4 * MEGABYTE;

/** What a new test takes in the embedded database: its row, two indexes, and the same in the log. */
const BYTES_PER_TEST = 600;

/** Names of tests and texts of failures are stored once, and written to the log too. */
const BYTES_PER_TEXT_BYTE = 2;

/** For an archive that was not read: numbered names shrink to a sixtieth of what is stored. */
const BYTES_PER_ARCHIVE_BYTE = 64;

/** What is known of an archive that waits to be processed. */
export interface WaitingArchive {
  /** In bytes. */
  size: number;
  /** `null` when it was not kept. */
  content: { testCount: number; textBytes: number } | null;
}

export interface ReceivingUpload {
  /** Counts bytes that arrived. @throws {DiskFullError} */
  addBytes(count: number): void;
  /** Reserves what processing the archive takes. @throws {DiskFullError} */
  accept(key: string, archive: WaitingArchive): void;
  end(): void;
}

/** The disk is too full to accept uploads. */
export class DiskFullError extends StorageError {
  override name = "DiskFullError";
}

/**
 * Refuses uploads before the disk is too full to process those that were accepted: the embedded database
 * refuses writes on a disk that is almost full, and only what is processed is deleted from the inbox.
 */
export class DiskRoom {
  /** Bytes that processing takes, by key of the archive. */
  readonly #waiting = new Map<string, number>();
  #receivingBytes = 0;
  /** Waiting archives without a file when that was checked last. */
  #missing = new Set<string>();

  /**
   * @param folder on the disk; may not exist yet
   * @param databaseFloor bytes that the embedded database needs free on the same disk; `null`: the database
   * is elsewhere, so that processing takes nothing
   */
  constructor(private readonly folder: string, private readonly databaseFloor: number | null) {}

  get freeBytes(): number {
    return freeBytes(this.folder);
  }

  /** Bytes that must be free for another upload. */
  get neededBytes(): number {
    const waiting = this.#waiting.values().reduce((sum, bytes) => sum + bytes, 0);
    return MARGIN_BYTES + this.#receivingBytes + (this.databaseFloor ?? 0) + waiting;
  }

  /** @throws {DiskFullError} unless so many bytes more fit */
  check(bytes = 0): void {
    const free = this.freeBytes;
    const needed = this.neededBytes + bytes;
    if (free >= needed) return;
    throw new DiskFullError(
      `the disk of ${JSON.stringify(this.folder)} is almost full: ${
        megabytes(free)
      } MB are free, ` +
        `another upload needs ${megabytes(needed)} MB`,
    );
  }

  /** Begins to receive an upload. @throws {DiskFullError} */
  receive(): ReceivingUpload {
    this.check();
    let own = 0;
    let uncheckedBytes = 0;
    const end = () => {
      this.#receivingBytes -= own;
      own = 0;
    };
    return {
      end,
      addBytes: (count) => {
        own += count;
        this.#receivingBytes += count;
        uncheckedBytes += count;
        if (uncheckedBytes < BYTES_PER_CHECK) return;
        uncheckedBytes = 0;
        this.check();
      },
      accept: (key, archive) => {
        // The body is on the disk by now, and is removed next.
        const body = own;
        end();
        this.check(this.#bytesToProcess(archive) - body);
        this.reserve(key, archive);
      },
    };
  }

  /** The same for an archive that was accepted before. */
  reserve(key: string, archive: WaitingArchive): void {
    const bytes = this.#bytesToProcess(archive);
    if (bytes > 0) this.#waiting.set(key, bytes);
  }

  /** The archive no longer waits. */
  release(key: string): void {
    this.#waiting.delete(key);
  }

  /**
   * Releases archives without a file, such as those that were deleted by hand, at the second call: the
   * file of an archive that is just being stored appears soon.
   */
  async releaseMissing(exists: (key: string) => Promise<boolean>): Promise<void> {
    const missing = new Set<string>();
    for (const key of [...this.#waiting.keys()]) {
      if (await exists(key)) continue;
      if (this.#missing.has(key)) this.release(key);
      else missing.add(key);
    }
    this.#missing = missing;
  }

  #bytesToProcess({ size, content }: WaitingArchive): number {
    if (this.databaseFloor === null) return 0;
    if (!content) return size * BYTES_PER_ARCHIVE_BYTE;
    return content.testCount * BYTES_PER_TEST + content.textBytes * BYTES_PER_TEXT_BYTE;
  }
}

function megabytes(bytes: number): number {
  return Math.floor(bytes / MEGABYTE);
}
