/** Has the received body of an upload checked and packed, and stores the archive in the inbox. */
import type { DiskRoom, ReceivingUpload, WaitingArchive } from "../../storage/disk_room.ts";
import type { Inbox } from "../../storage/inbox.ts";
import { archiveName } from "../files_to_pack.ts";
import type { ReadArchive } from "../read_archive.ts";
import type { UploadToPack } from "./pack_upload.ts";
import type { ReaderPool } from "./reader_pool.ts";

/** An upload that is durable in the inbox, with what its check has read. */
export interface AcceptedUpload {
  /** Of the archive in the inbox. */
  key: string;
  /** Of the archive in bytes. */
  size: number;
  /** The same as when the archive in the inbox is read. */
  read: Pick<ReadArchive, "facts" | "files">;
}

/** Where uploads go. */
export interface Acceptance {
  inbox: Inbox;
  readers: ReaderPool;
  /** Of the disk of the inbox; not given for a bucket. */
  room?: DiskRoom | undefined;
  /**
   * Called once an upload is durable, before it is acknowledged, so that it can be processed without
   * being read again. Not called for uploads of very many results: they are left to the next sweep.
   */
  onAccepted?: (upload: AcceptedUpload) => void;
}

/**
 * Checks an upload as `ingest` does and stores it as an archive. Returns its key, and what was
 * repaired, ignored or left out.
 *
 * @throws {UploadError} when the parameters do not fit the files
 * @throws {ReportError} when a file cannot be read
 */
export async function acceptUpload(
  { inbox, readers, room, onAccepted }: Acceptance,
  upload: Omit<UploadToPack, "keepsResults">,
  { byteCount, tokenId, receiving }: {
    byteCount: number;
    tokenId: number;
    receiving: ReceivingUpload | undefined;
  },
): Promise<{ key: string; notes: string[] }> {
  const keepsResults = onAccepted !== undefined;
  const { archive, facts, files, notes } = await readers.use(
    { byteCount, tokenId },
    (reader) => reader.pack({ ...upload, keepsResults }, byteCount),
  );
  const name = archiveName(facts, archive.digest);
  receiving?.accept(name, { size: archive.size, content: sizeOf(files) });
  const key = await inbox.put(archive, name).catch((error) => {
    room?.release(name);
    throw error;
  });
  if (files) onAccepted?.({ key, size: archive.size, read: { facts, files } });
  return { key, notes };
}

function sizeOf(files: ReadArchive["files"] | null): WaitingArchive["content"] {
  if (!files) return null;
  const { testHashes, texts } = files.results?.content ?? { testHashes: [], texts: [] };
  return {
    testCount: testHashes.length,
    textBytes: texts.reduce((sum, { message, body }) => sum + message.length + body.length, 0),
  };
}
