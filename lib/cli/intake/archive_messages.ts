/** The messages between {@link ArchiveReader} and its worker thread. */
import type { ArchiveContents, ArchiveMetadata } from "../../report/archive/mod.ts";
import type { ReportErrorKind } from "../../report/report_error.ts";
import type { RunValues } from "./run_options.ts";

/** One of the two functions of read_archive.ts, with its arguments. */
export type ArchiveRequest =
  | {
    call: "openArchive";
    name: string;
    given: RunValues;
    now: number;
    recordedAt: number;
  }
  | { call: "readArchiveFiles"; name: string; contents: ArchiveContents; mayBeEmpty: boolean };

/** To the worker: a request, or the next bytes of the archive (`null` at the end). */
export type ToWorker = ArchiveRequest | { chunk: Uint8Array | null };

/** From the worker. */
export type FromWorker =
  | { type: "ready" }
  // The archive is read from its beginning, the next bytes are needed, no more are needed.
  | { type: "open" | "pull" | "close" }
  | { type: "note"; text: string }
  | { type: "progress"; results: number; file: string }
  | { type: "metadata"; metadata: ArchiveMetadata }
  | { type: "done"; value: unknown }
  | { type: "error"; message: string; report: { file: string; kind: ReportErrorKind } | null };
