/** Uploads that the receiver of this process has accepted, stored from what it read of them. */
import { errorMessage } from "../base/error.ts";
import type { Metrics } from "../base/metrics.ts";
import type { FolderStorage } from "../storage/folder.ts";
import {
  completeArchive,
  finishRunning,
  storeAccepted,
  type WatcherContext,
} from "./process_archive.ts";
import type { AcceptedQueue, AcceptedUpload } from "./receive/accept_upload.ts";

/** Uploads of different repositories are stored concurrently. */
const CONCURRENT_UPLOADS = 2;

/** Memory of all waiting uploads together. More are left to the next sweep, which reads them again. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** A result without its names and texts: hash, duration, kind, positions of the names. */
const BYTES_PER_RESULT = 40;

/**
 * The queue between the receiver of `up` and the database. An upload that is not stored from it, for whatever
 * reason, still lies in the inbox, and the next sweep processes it.
 */
export class AcceptedUploads implements AcceptedQueue {
  /** Keys of archives that appear in the inbox before the rest is done. */
  readonly #expected = new Set<string>();
  readonly #uploads = new Map<string, AcceptedUpload>();
  readonly #waiting: AcceptedUpload[] = [];
  readonly #running = new Set<Promise<void>>();
  #waitingBytes = 0;
  #isClosed = false;

  constructor(
    private readonly context: Omit<WatcherContext, "reader"> & {
      storage: FolderStorage;
      metrics: Metrics | undefined;
      /** How long `close` waits for what is being stored. */
      shutdownTimeoutMs?: number;
    },
  ) {}

  /** Keeps sweeps from an archive that is just being moved into the inbox: they would read it again. */
  expect(key: string): void {
    this.#expected.add(key);
  }

  forget(key: string): void {
    this.#expected.delete(key);
  }

  add(upload: AcceptedUpload): void {
    this.#expected.delete(upload.key);
    const bytes = bytesOf(upload);
    const fits = this.#uploads.size === 0 || this.#waitingBytes + bytes <= MAX_WAITING_BYTES;
    if (this.#isClosed || !fits || this.#uploads.has(upload.key)) return;
    this.#uploads.set(upload.key, upload);
    this.#waitingBytes += bytes;
    this.#waiting.push(upload);
    this.#startNext();
  }

  /** Whether an upload is expected, waits here or is being stored. */
  has(key: string): boolean {
    return this.#expected.has(key) || this.#uploads.has(key);
  }

  /** Stores what has begun, unless that takes too long; the next start finds the others in the inbox. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const { log, shutdownTimeoutMs } = this.context;
    await finishRunning(this.#running, log, shutdownTimeoutMs);
  }

  #startNext(): void {
    while (!this.#isClosed && this.#running.size < CONCURRENT_UPLOADS) {
      const upload = this.#waiting.shift();
      if (!upload) return;
      const task = this.#store(upload).finally(() => {
        this.#uploads.delete(upload.key);
        this.#waitingBytes -= bytesOf(upload);
        this.#running.delete(task);
        this.#startNext();
      });
      this.#running.add(task);
    }
  }

  async #store({ key, read }: AcceptedUpload): Promise<void> {
    const { storage, log, listener } = this.context;
    try {
      const archive = await storage.find(key);
      // Processed by another process.
      if (!archive) return;
      for (const note of read.files.notes) listener.note(`${key}: ${note}`);
      const outcome = await storeAccepted(this.context, archive, read);
      await completeArchive(this.context, archive, outcome);
    } catch (error) {
      log.warn("archive will be retried", { key, reason: errorMessage(error) });
    }
  }
}

function bytesOf({ read }: AcceptedUpload): number {
  const { resultCount, textBytes } = read.files.results?.content ??
    { resultCount: 0, textBytes: 0 };
  return resultCount * BYTES_PER_RESULT + textBytes;
}
