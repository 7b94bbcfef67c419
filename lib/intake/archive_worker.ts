/**
 * The worker thread of {@link ArchiveReader}: this module runs in it. It gets the bytes of an archive
 * from the main thread, so it needs neither credentials nor the kind of storage.
 */
import { ReportError, type ReportErrorKind } from "../report/report_error.ts";
import {
  type FoundFacts,
  type ReadArchive,
  readArchive,
  type ReadArchiveOptions,
} from "./read_archive.ts";
import type { ReadProgress } from "./read_files.ts";
import { errorMessage } from "../base/error.ts";

/** To the worker: an archive to read, or its next bytes (`null` at the end). */
export type ToWorker = ReadArchiveOptions & { name: string } | { chunk: Uint8Array | null };

/** From the worker. */
export type FromWorker =
  | { type: "ready" }
  // The archive is read from its beginning; the next bytes are needed.
  | { type: "open" | "pull" }
  | { type: "note"; text: string }
  | { type: "progress" } & ReadProgress
  | { type: "facts"; facts: FoundFacts }
  | { type: "done"; value: ReadArchive }
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

async function handle({ name, ...options }: ReadArchiveOptions & { name: string }): Promise<void> {
  const listener = {
    note: (text: string) => scope.postMessage({ type: "note", text }),
    progress: (read: ReadProgress) => scope.postMessage({ type: "progress", ...read }),
  };
  const onFacts = (facts: FoundFacts) => scope.postMessage({ type: "facts", facts });
  try {
    const value = await readArchive({ name, open: chunks }, { ...options, listener, onFacts });
    scope.postMessage({ type: "done", value }, withoutFunctions(value));
  } catch (error) {
    const message = errorMessage(error);
    const report = error instanceof ReportError ? { file: error.file, kind: error.kind } : null;
    scope.postMessage({ type: "error", message, report });
  }
}

/** The archive from its beginning. */
async function* chunks(): AsyncGenerator<Uint8Array, void> {
  scope.postMessage({ type: "open" });
  while (true) {
    const chunk = await new Promise<Uint8Array | null>((resolve) => {
      deliver = resolve;
      scope.postMessage({ type: "pull" });
    });
    if (chunk === null) return;
    yield chunk;
  }
}

/** Removes what cannot be sent; returns the large arrays, which are handed over and not copied. */
function withoutFunctions({ files: { results } }: ReadArchive): ArrayBufferLike[] {
  if (!results) return [];
  const { identityAt: _, ...content } = results.content;
  // The main thread adds the function again.
  results.content = content as typeof results.content;
  const { chunks, positions } = content.identities;
  const arrays = [content.testHashes, content.firstResults, positions, ...chunks];
  return arrays.map(({ buffer }) => buffer);
}
