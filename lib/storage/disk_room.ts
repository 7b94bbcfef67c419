/** Whether the disk of an inbox has room for another upload. */
import { freeBytes } from "../system/files.ts";
import { StorageError } from "./storage.ts";

const MEGABYTE = 1024 * 1024;

/** The free space is checked again after this much of a body. */
const BYTES_PER_CHECK = 4 * MEGABYTE;

/** Left free on the disk of an inbox. */
export const INBOX_FLOOR_BYTES = 16 * MEGABYTE;

/**
 * Left free if the embedded database is on the same disk: it refuses writes below 64 MB, and only what it has
 * stored is deleted from the inbox. The rest is enough for 60,000 new tests, its log included.
 */
export const EMBEDDED_FLOOR_BYTES = 100 * MEGABYTE;

/** The disk is too full to accept uploads. */
export class DiskFullError extends StorageError {
  override name = "DiskFullError";
}

/** Refuses uploads before the disk is full: a fixed floor, and the bodies under way, must be free. */
export class DiskRoom {
  #receivingBytes = 0;

  /** @param folder on the disk; may not exist yet */
  constructor(private readonly folder: string, private readonly floorBytes = INBOX_FLOOR_BYTES) {}

  get freeBytes(): number {
    return freeBytes(this.folder);
  }

  /** Bytes that must be free for another upload: each body is packed while it is on the disk. */
  get neededBytes(): number {
    return this.floorBytes + this.#receivingBytes;
  }

  /** @throws {DiskFullError} */
  check(): void {
    const [free, needed] = [this.freeBytes, this.neededBytes];
    if (free >= needed) return;
    throw new DiskFullError(
      `the disk of ${JSON.stringify(this.folder)} is almost full: ${
        megabytes(free)
      } MB are free, ` +
        `another upload needs ${megabytes(needed)} MB`,
    );
  }

  /** Begins to receive an upload, whose bytes are counted as they arrive. @throws {DiskFullError} */
  receive(): { addBytes(count: number): void; end(): void } {
    this.check();
    let own = 0;
    let checked = 0;
    return {
      addBytes: (count) => {
        own += count;
        this.#receivingBytes += count;
        if (own - checked < BYTES_PER_CHECK) return;
        checked = own;
        this.check();
      },
      end: () => {
        this.#receivingBytes -= own;
        own = 0;
      },
    };
  }
}

function megabytes(bytes: number): number {
  return Math.floor(bytes / MEGABYTE);
}
