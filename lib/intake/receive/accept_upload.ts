/** Has the received body of an upload checked and packed, and stores the archive in the inbox. */
import type { DiskRoom, ReceivingUpload, WaitingArchive } from "../../storage/disk_room.ts";
import type { Inbox } from "../../storage/inbox.ts";
import { archiveName } from "../files_to_pack.ts";
import type { ReadArchive } from "../read_archive.ts";
import type { UploadToPack } from "./pack_upload.ts";
import type { ReaderPool } from "./reader_pool.ts";

/** An upload that is durable in the inbox, with what its check has read. */
export interface AcceptedUpload {
  /** Key of the archive in the inbox. */
  key: string;
  /** Bytes of the archive. */
  size: number;
  /** The same as when the archive in the inbox is read. */
  read: Pick<ReadArchive, "facts" | "files">;
}

/** Where uploads go. */
export interface Acceptance {
  inbox: Inbox;
  readers: ReaderPool;
  /** Room on the disk of the inbox; not given for a bucket. */
  room?: DiskRoom | undefined;
  /** Processes uploads without reading them again, except very large ones, which the next sweep reads. */
  accepted?: AcceptedQueue;
}

/** Takes uploads as soon as they are durable. */
export interface AcceptedQueue {
  /** An archive with this key is about to appear in the inbox; `add` or `forget` follows. */
  expect(key: string): void;
  /** The upload is durable, and not acknowledged yet. */
  add(upload: AcceptedUpload): void;
  /** It could not be stored. */
  forget(key: string): void;
}

/**
 * Checks an upload as `ingest` does and stores it as an archive. Returns its key, and what was
 * repaired, ignored or left out.
 *
 * @throws {UploadError} when the parameters do not fit the files
 * @throws {ReportError} when a file cannot be read
 */
export async function acceptUpload(
  { inbox, readers, room, accepted }: Acceptance,
  upload: Omit<UploadToPack, "keepsResults">,
  { byteCount, tokenId, receiving }: {
    byteCount: number;
    tokenId: number;
    receiving: ReceivingUpload | undefined;
  },
): Promise<{ key: string; notes: string[] }> {
  const keepsResults = accepted !== undefined;
  const { archive, facts, files, notes } = await readers.use(
    { byteCount, tokenId },
    (reader) => reader.pack({ ...upload, keepsResults }, byteCount),
  );
  const name = archiveName(facts, archive.digest);
  receiving?.accept(name, { size: archive.size, content: sizeOf(files) });
  if (files) accepted?.expect(name);
  const key = await inbox.put(archive, name).catch((error) => {
    room?.release(name);
    accepted?.forget(name);
    throw error;
  });
  if (files) accepted?.add({ key, size: archive.size, read: { facts, files } });
  return { key, notes };
}

function sizeOf(files: ReadArchive["files"] | null): WaitingArchive["content"] {
  if (!files) return null;
  const { testHashes, textBytes } = files.results?.content ?? { testHashes: [], textBytes: 0 };
  return { testCount: testHashes.length, textBytes };
}
