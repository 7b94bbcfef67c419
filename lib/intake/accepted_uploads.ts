/** Uploads that the receiver of this process has accepted, stored from what it read of them. */
import { errorMessage } from "../base/error.ts";
import type { Metrics } from "../base/metrics.ts";
import type { FolderStorage } from "../storage/folder.ts";
import {
  completeArchive,
  finishRunning,
  processArchive,
  type ReadUpload,
  type WatcherContext,
} from "./process_archive.ts";

/** An upload that is durable in the inbox, with what its check has read. */
export interface AcceptedUpload {
  /** Key of the archive in the inbox. */
  key: string;
  read: ReadUpload;
}

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
export class AcceptedUploads {
  readonly #uploads = new Map<string, AcceptedUpload>();
  readonly #waiting: AcceptedUpload[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #waitingBytes = 0;
  #isClosed = false;

  constructor(
    private readonly context: WatcherContext & {
      storage: FolderStorage;
      metrics: Metrics | undefined;
      /** How long `close` waits for what is being stored. */
      shutdownTimeoutMs?: number;
    },
  ) {}

  /** Takes an upload that is not acknowledged yet, unless there are too many. */
  add(upload: AcceptedUpload): void {
    const bytes = bytesOf(upload);
    const fits = this.#uploads.size === 0 || this.#waitingBytes + bytes <= MAX_WAITING_BYTES;
    if (this.#isClosed || !fits || this.#uploads.has(upload.key)) return;
    this.#uploads.set(upload.key, upload);
    this.#waitingBytes += bytes;
    this.#waiting.push(upload);
    this.#startNext();
  }

  /** Whether an upload waits here or is being stored: a sweep would read it again. */
  has(key: string): boolean {
    return this.#uploads.has(key);
  }

  /** Stores what has begun, unless that takes too long; the next start finds the others in the inbox. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const { log, shutdownTimeoutMs: timeoutMs } = this.context;
    await finishRunning(this.#running, { log, stop: this.#stop, timeoutMs });
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
    const { storage, log } = this.context;
    try {
      const archive = await storage.find(key);
      // `null`: another process has processed it, or does.
      if (!archive) return;
      const context = { ...this.context, stop: this.#stop.signal };
      const outcome = await processArchive(context, archive, read);
      if (outcome) await completeArchive(this.context, archive, outcome);
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
