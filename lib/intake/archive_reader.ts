/**
 * Reads archives in a worker thread, under a deadline. The main thread keeps leases, receives
 * signals and continues with other archives even if a file blocks or crashes its parser.
 */
import { contentOf } from "../analysis/submission_content.ts";
import type { ArchiveSource } from "../report/archive/mod.ts";
import { ReportError } from "../report/report_error.ts";
import { StorageError } from "../storage/storage.ts";
import type { FromWorker, ToWorker } from "./archive_worker.ts";
import type { ReadArchive, ReadArchiveOptions, ReadCallbacks } from "./read_archive.ts";

// In the bundle this module is part of the one file, which starts itself as the worker, see `main.ts` of the project.
const WORKER_URL = import.meta.url.endsWith(".ts")
  ? new URL("./archive_worker.ts", import.meta.url)
  : import.meta.url;

/** How long the worker may compute for one archive. Waiting for the storage does not count. */
const DEADLINE = {
  /** For any archive. An ordinary one takes milliseconds. */
  baseMs: 10_000,
  /** For each byte of the compressed archive. Reports shrink to a thirtieth, so that 1 MB is read in 0.5 s. */
  msPerByte: 0.02,
};

// Time is counted in ticks, so that suspending the machine does not fail an archive.
const TICK_MS = 100;

/** Reads archives in a worker thread, one at a time, each within its deadline. */
export class ArchiveReader {
  #worker: Promise<Worker> | null = null;

  /** @param options.stop ends what is being read, with a StorageError: it says nothing about the archive */
  constructor(private readonly options: { deadline?: typeof DEADLINE; stop?: AbortSignal } = {}) {}

  /**
   * As `readArchive` of read_archive.ts; waits for a promise of `onFacts` before it continues.
   *
   * @throws {ReportError} `limit` after the deadline
   */
  async read(
    source: ArchiveSource,
    { listener, onFacts, ...options }: ReadArchiveOptions & ReadCallbacks,
  ): Promise<ReadArchive> {
    const { deadline = DEADLINE, stop } = this.options;
    const worker = await (this.#worker ??= startWorker());
    const { promise, resolve, reject } = Promise.withResolvers<ReadArchive>();
    const send = (message: ToWorker) => worker.postMessage(message);
    let hasAnswered = false;
    let bytes: AsyncIterator<Uint8Array> | undefined;
    let shown: unknown;
    let isComputing = true;
    let computedMs = 0;
    let deadlineMs = deadline.baseMs;

    const timer = setInterval(() => {
      if (!isComputing || (computedMs += TICK_MS) < deadlineMs) return;
      const problem = `not read within ${Math.round(deadlineMs / 1000)} s`;
      reject(new ReportError({ file: source.name, kind: "limit", problem }));
    }, TICK_MS);
    const onStop = () => reject(new StorageError(`${source.name}: stopped`));
    const deliver = async () => {
      isComputing = false;
      await shown;
      const { value, done } = await bytes!.next();
      // Read ahead: the worker would take the bytes for those of the next archive.
      if (hasAnswered) return;
      isComputing = true;
      if (!done) deadlineMs += value.length * deadline.msPerByte;
      send({ chunk: done ? null : value });
    };

    const finish = async (data: FromWorker & { type: "done" | "error" }) => {
      hasAnswered = true;
      isComputing = false;
      await shown;
      if (data.type === "error") throw errorOf(data);
      const { results } = data.value.files;
      if (results) results.content = contentOf(results.content);
      resolve(data.value);
    };
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (data.type === "open") {
        bytes?.return?.().catch(() => {});
        bytes = source.open()[Symbol.asyncIterator]();
      } else if (data.type === "pull") deliver().catch(reject);
      else if (data.type === "note") listener.note(data.text);
      else if (data.type === "progress") listener.progress?.(data);
      else if (data.type === "facts") {
        shown = Promise.resolve(onFacts?.(data.facts)).catch(reject);
      } else if (data.type === "done" || data.type === "error") finish(data).catch(reject);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(event.message));
    };
    stop?.addEventListener("abort", onStop);
    if (stop?.aborted) onStop();
    send({ name: source.name, ...options });
    try {
      return await promise;
    } finally {
      clearInterval(timer);
      stop?.removeEventListener("abort", onStop);
      // Not awaited after an answer: the storage may wait for bytes that are not needed any more.
      const closed = bytes?.return?.().catch(() => {});
      if (!hasAnswered) {
        this.close();
        await closed;
      }
    }
  }

  /** Ends the worker thread; the next read starts another. */
  close(): void {
    this.#worker?.then((worker) => worker.terminate(), () => {});
    this.#worker = null;
  }
}

async function startWorker(): Promise<Worker> {
  const worker = new Worker(WORKER_URL, { type: "module" });
  await new Promise<void>((resolve, reject) => {
    worker.onmessage = () => resolve();
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(`the worker thread that reads archives did not start: ${event.message}`));
    };
  });
  return worker;
}

function errorOf({ message, report }: FromWorker & { type: "error" }): Error {
  if (!report) return new Error(message);
  return Object.assign(new ReportError({ ...report, problem: "" }), { message });
}
