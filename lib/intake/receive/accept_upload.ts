// Tests: tests/lib/intake/receive/upload_app_test.ts
/** Has the received body of an upload checked and packed, and stores the archive in the inbox. */
import type { DiskRoom } from "../../storage/disk_room.ts";
import type { Inbox } from "../../storage/inbox.ts";
import type { RepositoryName } from "../../base/repository_name.ts";
import type { AcceptedUploads } from "../accepted_uploads.ts";
import type { FoundFacts } from "../archive_facts.ts";
import { archiveName } from "../files_to_pack.ts";
import type { UploadToPack } from "../pack_upload.ts";
import type { ReaderPool } from "./reader_pool.ts";

/** Where uploads go. */
export interface Acceptance {
  inbox: Inbox;
  readers: ReaderPool;
  /** Room on the disk of the inbox; not given for a bucket. */
  room?: DiskRoom | undefined;
  /** Processes uploads without reading them again, except very large ones, which the next sweep reads. */
  accepted?: Pick<AcceptedUploads, "add">;
}

/**
 * Checks an upload as `ingest` does and stores it as an archive. Returns its key, what was repaired,
 * ignored or left out, and its facts.
 *
 * @throws {UploadError} when the parameters do not fit the files
 * @throws {ReportError} when a file cannot be read
 */
export async function acceptUpload(
  { inbox, readers, accepted }: Acceptance,
  upload: Omit<UploadToPack, "keepsResults">,
  { byteCount, uploaderId, check }: {
    byteCount: number;
    uploaderId: string;
    /** Throws when the upload may not be for this repository. */
    check(repository: RepositoryName): void;
  },
): Promise<{ key: string; notes: string[]; facts: FoundFacts }> {
  const keepsResults = accepted !== undefined;
  const { archive, facts, files, notes } = await readers.use(
    { byteCount, uploaderId },
    (reader) => reader.pack({ ...upload, keepsResults }, byteCount),
  );
  check(facts.repository);
  const key = await inbox.put(archive, archiveName(facts, archive.digest));
  if (files) accepted?.add({ key, read: { facts, files } });
  return { key, notes, facts };
}
