/**
 * The worker thread of {@link ArchiveReader}: this module runs in it. It gets the bytes of an archive
 * from the main thread, so it needs neither credentials nor the kind of storage.
 */
import type { ArchiveMetadata } from "../../report/archive/mod.ts";
import { ReportError } from "../../report/report_error.ts";
import type { ArchiveRequest, FromWorker, ToWorker } from "./archive_messages.ts";
import { openArchive, readArchiveFiles } from "./read_archive.ts";
import type { Listener, UploadFiles } from "./read_files.ts";

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
  return {
    value: { ...files, results: { ...files.results, content } },
    transfer: [content.testHashes, content.firstResults, positions, ...chunks].map(({ buffer }) =>
      buffer
    ),
  };
}
