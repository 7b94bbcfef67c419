// Tests: tests/lib/intake/pack_upload_test.ts tests/lib/intake/process_archive_test.ts
import * as database from "../../db/connection/errors.ts";
import { ReportError } from "../report/report_error.ts";
import { StorageError } from "../storage/storage.ts";

/** Whether storage, database or system are at fault, and not the archive, so that a retry makes sense. */
export function isSystemFault(error: unknown): boolean {
  if (error instanceof ReportError) return error.kind === "unreadable";
  return error instanceof StorageError || database.isSystemFault(error);
}
