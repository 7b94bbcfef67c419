/**
 * Reads archives and packs uploads in a worker thread, under a deadline. The main thread answers
 * requests, keeps leases and receives signals meanwhile, even if a file blocks or crashes its parser.
 */
import { Worker } from "node:worker_threads";
import { contentOf } from "../analysis/submission_content.ts";
import type { ArchiveSource } from "../report/archive/mod.ts";
import { ReportError } from "../report/report_error.ts";
import { errorMessage } from "../base/error.ts";
import { StorageError } from "../storage/storage.ts";
import type { FromWorker, ToWorker } from "./archive_worker.ts";
import type { ReadArchive, ReadArchiveOptions, ReadCallbacks } from "./read_archive.ts";
import type { PackedUpload, UploadToPack } from "./pack_upload.ts";
import { UploadError } from "./upload_error.ts";

// In the bundle this module is part of the one file, which starts itself as the worker, see `main.ts` of the project.
const WORKER_URL = import.meta.url.endsWith(".ts")
  ? new URL("./archive_worker.ts", import.meta.url)
  : new URL(import.meta.url);

/**
 * Heap of a worker. The default grows with the machine: a form of 10,000 files took 236 MB instead of
 * 140 MB, in the same time. A report that exhausts the heap stops the worker and not the process.
 */
const HEAP = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 1024 };

/** How long the worker may compute for one archive. Waiting for the storage does not count. */
const DEADLINE = {
  /** For any archive. An ordinary one takes milliseconds, 100,000 small files take 5 s. */
  baseMs: 30_000,
  /** For each byte of the compressed archive. Reports shrink to a thirtieth, so that 1 MB is read in 0.5 s. */
  msPerByte: 0.02,
};

/** A thread that has read more failures is ended. */
const MAX_FAILURES_OF_THREAD = 50_000;

// Time is counted in ticks, so that suspending the machine does not fail an archive.
const TICK_MS = 100;

/** What the worker thread works on. */
interface Task {
  send(message: ToWorker): void;
  fail(error: unknown): void;
  /** False while the worker waits for the storage. */
  isComputing: boolean;
  /** Computing time that it may take. */
  deadlineMs: number;
  /** The worker has finished, well or not. */
  isOver: boolean;
  /** Awaited before the task ends. */
  shown?: Promise<unknown>;
}

/** Reads archives and packs uploads in a worker thread, one at a time, each within its deadline. */
export class ArchiveReader {
  readonly #deadline: typeof DEADLINE;
  readonly #stop: AbortSignal | undefined;
  #worker: Promise<Worker> | null = null;

  /** @param options.stop ends what is being read, with a StorageError: it says nothing about the archive */
  constructor(
    { deadline = DEADLINE, stop }: { deadline?: typeof DEADLINE; stop?: AbortSignal } = {},
  ) {
    this.#deadline = deadline;
    this.#stop = stop;
  }

  /**
   * As `readArchive` of read_archive.ts; waits for a promise of `onFacts` before it continues.
   *
   * @throws {ReportError} `limit` after the deadline, or when it does not fit into memory
   */
  async read(
    source: ArchiveSource,
    { listener, onFacts, ...options }: ReadArchiveOptions & ReadCallbacks,
  ): Promise<ReadArchive> {
    let bytes: AsyncIterator<Uint8Array> | undefined;
    const deliver = async (task: Task) => {
      task.isComputing = false;
      await task.shown;
      const { value, done } = await bytes!.next();
      // Read ahead: the worker would take the bytes for the next archive.
      if (task.isOver) return;
      task.isComputing = true;
      if (!done) task.deadlineMs += value.length * this.#deadline.msPerByte;
      task.send({ type: "chunk", chunk: done ? null : value });
    };
    const { name } = source;
    return await this.#run<ReadArchive>({ type: "read", name, options }, {
      name,
      byteCount: 0,
      onMessage(data, task) {
        if (data.type === "open") {
          bytes?.return?.().catch(() => {});
          bytes = source.open()[Symbol.asyncIterator]();
        } else if (data.type === "pull") deliver(task).catch(task.fail);
        else if (data.type === "note") listener.note(data.text);
        else if (data.type === "progress") listener.progress?.(data);
        else if (data.type === "facts") {
          task.shown = Promise.resolve(onFacts?.(data.facts)).catch(task.fail);
        }
      },
      close: async () => await bytes?.return?.().catch(() => {}),
    });
  }

  /**
   * As `packUpload` of pack_upload.ts.
   *
   * @param byteCount of the body
   * @throws {ReportError} `limit` after the deadline, or when it does not fit into memory
   */
  async pack(upload: UploadToPack, byteCount: number): Promise<PackedUpload> {
    return await this.#run<PackedUpload>({ type: "pack", upload }, { name: "upload", byteCount });
  }

  async #run<T extends ReadArchive | PackedUpload>(
    message: ToWorker,
    { name, byteCount, onMessage, close }: {
      /** For errors. */
      name: string;
      /** Bytes that the worker reads by itself. */
      byteCount: number;
      onMessage?(data: FromWorker, task: Task): void;
      close?(): Promise<unknown>;
    },
  ): Promise<T> {
    const stop = this.#stop;
    // At a shutdown with many waiting uploads, none of them starts another thread.
    if (stop?.aborted) throw new StorageError(`${name}: stopped`);
    const worker = await (this.#worker ??= startWorker()).catch((error) => {
      // A thread that did not start says nothing about the archive: the next read starts another.
      this.#worker = null;
      throw new StorageError(errorMessage(error));
    });
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const task: Task = {
      send: (message) => worker.postMessage(message),
      fail: reject,
      isComputing: true,
      deadlineMs: this.#deadline.baseMs + byteCount * this.#deadline.msPerByte,
      isOver: false,
    };
    let computedMs = 0;
    const timer = setInterval(() => {
      if (!task.isComputing || (computedMs += TICK_MS) < task.deadlineMs) return;
      const problem = `not read within ${Math.round(task.deadlineMs / 1000)} s`;
      reject(new ReportError({ file: name, kind: "limit", problem }));
    }, TICK_MS);
    const onStop = () => reject(new StorageError(`${name}: stopped`));
    const finish = async (data: FromWorker & { type: "done" | "error" }) => {
      task.isOver = true;
      task.isComputing = false;
      await task.shown;
      if (data.type === "error") throw errorOf(data);
      const results = data.value.files?.results;
      if (results) results.content = contentOf(results.content);
      // Its heap would stay as large as it was, while the results are stored.
      if (results && results.content.negatives.length > MAX_FAILURES_OF_THREAD) this.close();
      resolve(data.value as T);
    };
    const receive = (data: FromWorker) => {
      if (data.type === "done" || data.type === "error") finish(data).catch(reject);
      else onMessage?.(data, task);
    };
    const onError = (error: unknown) => reject(workerFailure(error, name));
    worker.on("message", receive);
    worker.on("error", onError);
    stop?.addEventListener("abort", onStop);
    if (stop?.aborted) onStop();
    task.send(message);
    try {
      return await promise;
    } finally {
      clearInterval(timer);
      stop?.removeEventListener("abort", onStop);
      worker.off("message", receive);
      worker.off("error", onError);
      // Not awaited after an answer: the storage may wait for bytes that are not needed any more.
      const closed = close?.();
      if (!task.isOver) {
        this.close();
        await closed;
      }
    }
  }

  /**
   * Starts the worker thread, which otherwise the first use does: it stops the caller for 100 ms.
   *
   * @throws {Error} when it does not start
   */
  async start(): Promise<void> {
    await (this.#worker ??= startWorker());
  }

  /** Ends the worker thread; the next read starts another. */
  close(): void {
    this.#worker?.then((worker) => worker.terminate(), () => {});
    this.#worker = null;
  }
}

async function startWorker(): Promise<Worker> {
  const worker = new Worker(WORKER_URL, { resourceLimits: HEAP });
  await new Promise<void>((resolve, reject) => {
    worker.once("message", () => resolve());
    worker.once("error", ({ message }) => {
      reject(new Error(`the worker thread that reads archives did not start: ${message}`));
    });
  });
  return worker;
}

/** The error of an upload whose worker thread ended: one that does not fit into memory is the upload's fault. */
export function workerFailure(error: unknown, name: string): unknown {
  if ((error as { code?: unknown } | null)?.code !== "ERR_WORKER_OUT_OF_MEMORY") return error;
  const problem = `takes more than ${HEAP.maxOldGenerationSizeMb} MB of memory to read: split it`;
  return new ReportError({ file: name, kind: "limit", problem });
}

function errorOf({ message, code, report, upload }: FromWorker & { type: "error" }): Error {
  if (upload) return new UploadError(upload.status, upload.errors);
  if (report) return Object.assign(new ReportError({ ...report, problem: "" }), { message });
  return Object.assign(new Error(message), code && { code });
}
