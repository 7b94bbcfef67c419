/**
 * The worker thread of {@link ArchiveReader}: this module runs in it. It gets the bytes of an archive
 * from the main thread, so it needs neither credentials nor the kind of storage.
 */
import type { ArchiveContents, ArchiveMetadata } from "../../report/archive/mod.ts";
import { ReportError, type ReportErrorKind } from "../../report/report_error.ts";
import {
  openArchive,
  type OpenArchiveOptions,
  readArchiveFiles,
  type ReadArchiveOptions,
} from "./read_archive.ts";
import type { Listener, ReadProgress, UploadFiles } from "./read_files.ts";

/** One of the two functions of read_archive.ts, with its arguments. */
export type ArchiveRequest =
  | OpenArchiveOptions & { call: "openArchive"; name: string }
  | ReadArchiveOptions & { call: "readArchiveFiles"; name: string; contents: ArchiveContents };

/** To the worker: a request, or the next bytes of the archive (`null` at the end). */
export type ToWorker = ArchiveRequest | { chunk: Uint8Array | null };

/** From the worker. */
export type FromWorker =
  | { type: "ready" }
  // The archive is read from its beginning, the next bytes are needed, no more are needed.
  | { type: "open" | "pull" | "close" }
  | { type: "note"; text: string }
  | { type: "progress" } & ReadProgress
  | { type: "metadata"; metadata: ArchiveMetadata }
  | { type: "done"; value: unknown }
  | { type: "error"; message: string; report: { file: string; kind: ReportErrorKind } | null };

// The library types of the program are those of the main thread.
const scope = globalThis as unknown as {
  onmessage: (event: MessageEvent<ToWorker>) => void;
  postMessage(message: FromWorker, transfer?: ArrayBufferLike[]): void;
};

let deliver: (chunk: Uint8Array | null) => void = () => {};

scope.onmessage = ({ data }) => {
  if ("chunk" in data) deliver(data.chunk);
  else void handle(data);
};
scope.postMessage({ type: "ready" });

async function handle(request: ArchiveRequest): Promise<void> {
  const source = { name: request.name, open: chunks };
  const listener: Listener = {
    note: (text) => scope.postMessage({ type: "note", text }),
    progress: (read) => scope.postMessage({ type: "progress", ...read }),
  };
  try {
    if (request.call === "openArchive") {
      const onMetadata = (metadata: ArchiveMetadata) =>
        scope.postMessage({ type: "metadata", metadata });
      const value = await openArchive(source, { ...request, listener, onMetadata });
      return scope.postMessage({ type: "done", value });
    }
    const files = await readArchiveFiles(source, request.contents, { ...request, listener });
    const { value, transfer } = plainFiles(files);
    scope.postMessage({ type: "done", value }, transfer);
  } catch (error) {
    const message = error instanceof Error ? error.message || error.name : String(error);
    const report = error instanceof ReportError ? { file: error.file, kind: error.kind } : null;
    scope.postMessage({ type: "error", message, report });
  }
}

/** The archive from its beginning. */
async function* chunks(): AsyncGenerator<Uint8Array, void> {
  scope.postMessage({ type: "open" });
  try {
    while (true) {
      const chunk = await new Promise<Uint8Array | null>((resolve) => {
        deliver = resolve;
        scope.postMessage({ type: "pull" });
      });
      if (chunk === null) return;
      yield chunk;
    }
  } finally {
    scope.postMessage({ type: "close" });
  }
}

/** Without functions, which cannot be sent; the large arrays are handed over, not copied. */
function plainFiles(files: UploadFiles): { value: unknown; transfer: ArrayBufferLike[] } {
  if (!files.results) return { value: files, transfer: [] };
  const { identityAt: _, ...content } = files.results.content;
  const { chunks, positions } = content.identities;
  const arrays = [content.testHashes, content.firstResults, positions, ...chunks];
  return {
    value: { ...files, results: { ...files.results, content } },
    transfer: arrays.map(({ buffer }) => buffer),
  };
}
