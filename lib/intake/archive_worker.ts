// Tests: tests/lib/intake/archive_reader_test.ts
/**
 * The worker thread of {@link ArchiveReader}: this module runs in it. It gets the bytes of an archive
 * from the main thread, so it needs neither credentials nor the kind of storage. Uploads that it packs
 * are on disk.
 */
import { parentPort } from "node:worker_threads";
import { ReportError } from "../report/report_error.ts";
import type { FoundFacts } from "./archive_facts.ts";
import { type ReadArchive, readArchive, type ReadArchiveOptions } from "./read_archive.ts";
import type { ReadProgress, UploadFiles } from "./read_files.ts";
import { errorCode, errorMessage } from "../base/error.ts";
import { type PackedUpload, packUpload, type UploadToPack } from "./pack_upload.ts";
import { UploadError } from "./upload_error.ts";

/** To the worker: an archive to read, its next bytes (`null` at the end), or an upload to pack. */
export type ToWorker =
  | { type: "read"; name: string; options: ReadArchiveOptions }
  | { type: "chunk"; chunk: Uint8Array | null }
  | { type: "pack"; upload: UploadToPack };

export type FromWorker =
  | { type: "ready" }
  // The archive is read from its beginning; the next bytes are needed.
  | { type: "open" | "pull" }
  | { type: "note"; text: string }
  | { type: "progress" } & ReadProgress
  | { type: "facts"; facts: FoundFacts }
  | { type: "done"; value: ReadArchive | PackedUpload }
  | { type: "error" } & SentError;

/** An error as plain data. */
interface SentError {
  message: string;
  /** Code of a system error, such as `ENOSPC`. */
  code: string;
  report: Pick<ReportError, "file" | "kind"> | null;
  upload: Pick<UploadError, "status" | "errors"> | null;
}

const post = (message: FromWorker, transferred?: ArrayBuffer[]) =>
  parentPort!.postMessage(message, transferred);

let deliver: (chunk: Uint8Array | null) => void = () => {};

parentPort!.on("message", (data: ToWorker) => {
  if (data.type === "chunk") deliver(data.chunk);
  else if (data.type === "pack") void respond(packUpload(data.upload));
  else void respond(read(data));
});
post({ type: "ready" });

async function respond(work: Promise<ReadArchive | PackedUpload>): Promise<void> {
  try {
    const value = await work;
    post({ type: "done", value }, withoutFunctions(value.files));
  } catch (error) {
    post({
      type: "error",
      message: errorMessage(error),
      code: errorCode(error),
      report: error instanceof ReportError ? { file: error.file, kind: error.kind } : null,
      upload: error instanceof UploadError ? { status: error.status, errors: error.errors } : null,
    });
  }
}

function read({ name, options }: ToWorker & { type: "read" }): Promise<ReadArchive> {
  const listener = {
    note: (text: string) => post({ type: "note", text }),
    progress: (read: ReadProgress) => post({ type: "progress", ...read }),
  };
  const onFacts = (facts: FoundFacts) => post({ type: "facts", facts });
  return readArchive({ name, open: chunks }, { ...options, listener, onFacts });
}

/** The archive from its beginning. */
async function* chunks(): AsyncGenerator<Uint8Array, void> {
  post({ type: "open" });
  while (true) {
    const chunk = await new Promise<Uint8Array | null>((resolve) => {
      deliver = resolve;
      post({ type: "pull" });
    });
    if (chunk === null) return;
    yield chunk;
  }
}

/** Removes what cannot be sent; returns the large arrays, which are handed over and not copied. */
function withoutFunctions(files: UploadFiles | null): ArrayBuffer[] {
  if (!files?.results) return [];
  const { results } = files;
  const { identityAt: _, forgetIdentities: _forget, ...content } = results.content;
  // The main thread adds the function again.
  results.content = content as typeof results.content;
  const { identities, negatives, texts } = content;
  const arrays = [
    content.testHashes,
    content.firstResults,
    identities.positions,
    ...identities.chunks,
    negatives.testHashes,
    negatives.resultNos,
    negatives.textNos,
    negatives.errors,
    texts.ids,
    texts.fingerprints,
    texts.positions,
    ...texts.chunks,
  ];
  return arrays.map(({ buffer }) => buffer as ArrayBuffer);
}
