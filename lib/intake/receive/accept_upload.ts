/** Checks the received files of an upload and stores them as an archive in the inbox. */
import { join } from "node:path";
import { caseKey } from "../../base/identity.ts";
import { quote } from "../../base/quote.ts";
import { formatRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import { readEntries } from "../../report/archive/entries.ts";
import {
  type ArchiveContent,
  archivePath,
  type ArchiveSource,
  type FileToPack,
} from "../../report/archive/mod.ts";
import { ARCHIVE_LIMITS as LIMITS } from "../../report/limits.ts";
import { readGitUrl } from "../ci/git.ts";
import { archiveName, FilesToPack, packArchive } from "../files_to_pack.ts";
import { type FoundFacts, parseFacts, type ReadArchive } from "../read_archive.ts";
import type { RunValues } from "../upload_values.ts";
import { fileSource } from "../../storage/folder.ts";
import type { Inbox } from "../../storage/inbox.ts";
import type { StoredFile } from "../../storage/storage.ts";
import type { ReaderPool } from "./reader_pool.ts";
import { type ReceivedBody, type ReceivedFile, UploadError } from "./receive_body.ts";

/** An upload that is durable in the inbox, with what its check has read. */
export interface AcceptedUpload {
  /** Of the archive in the inbox. */
  key: string;
  /** Of the archive in bytes. */
  size: number;
  /** The same as when the archive in the inbox is read. */
  read: Pick<ReadArchive, "facts" | "files">;
}

/** An upload before its files are read, and what it needs. */
export interface UploadRequest {
  inbox: Inbox;
  /**
   * Called once an upload is durable, before it is acknowledged, so that it can be processed without
   * being read again. Not called for all: what is not processed here is left to the next sweep.
   */
  onAccepted?: (upload: AcceptedUpload) => void;
  readers: ReaderPool;
  /** Folder for unfinished files of this upload. */
  folder: string;
  /** Name of the organization. */
  organization: string;
  /** The parameters, and the repository of the address. */
  given: RunValues & { repo: RepositoryName };
  /** Seconds since 1970. */
  now: number;
}

// Notes are for `watch`, which reads the archive again.
const listener = { note: () => {} };

const MAX_NAME_CHARACTERS = 200;

/**
 * Checks an upload as `ingest` does and stores it as an archive, whose key it returns.
 *
 * @throws {UploadError} when the parameters do not fit the files
 * @throws {ReportError} when a file cannot be read
 */
export async function acceptUpload(body: ReceivedBody, request: UploadRequest): Promise<string> {
  const { inbox, onAccepted, readers, folder, now } = request;
  const path = join(folder, "archive.gz");
  const isCheck = onAccepted === undefined;
  let archive: StoredFile;
  let read: AcceptedUpload["read"];
  if (body.archive === null) {
    archive = await packArchive(path, await contentOfFiles(body.files, request));
    const source = { ...fileSource(path), name: "upload" };
    const options = { given: {}, now, recordedAt: now, areNamed: true, isCheck, listener };
    read = await readers.use(body.byteCount, (reader) => reader.read(source, options));
  } else {
    const source = { ...fileSource(body.archive), name: "archive" };
    const options = { given: request.given, now, recordedAt: now, isCheck, listener };
    const found = await readers.use(body.byteCount, (reader) => reader.read(source, options));
    const content = repacked(source, found, request);
    archive = await packArchive(path, content);
    const { checkoutFolder: _, ...facts } = content.facts;
    read = { facts, files: found.files };
  }
  const { facts, files } = read;
  const key = await inbox.put(archive, archiveName(facts, archive.digest));
  onAccepted?.({ key, size: archive.size, read: { facts, files } });
  return key;
}

async function contentOfFiles(
  received: readonly ReceivedFile[],
  { given, now, organization }: UploadRequest,
): Promise<ArchiveContent> {
  if (given.commit === undefined) {
    throw new UploadError(400, { commit: ["missing commit: expected 7 to 64 hex digits"] });
  }
  const packed = new FilesToPack();
  let codeowners: string | null = null;
  for (const { part, name, path: file, size } of received) {
    if (part !== "codeowners") packed.add(pathOf(part, name), { file, size });
    else if (codeowners !== null || size > LIMITS.codeownersBytes) {
      const problem = `expected one file of at most ${LIMITS.codeownersBytes} bytes`;
      throw new UploadError(400, { codeowners: [problem] });
    } else codeowners = await Deno.readTextFile(file);
  }
  if (packed.files.length === 0) {
    throw new UploadError(400, { report: ["missing report: expected one, or coverage"] });
  }
  const options = { archive: "upload", given, now, recordedAt: now, onNote: listener.note };
  const { facts, problem } = parseFacts(null, options);
  if (!facts) throw problem;
  return { facts: { ...facts, organization }, codeowners, files: packed.files };
}

function pathOf(part: "report" | "coverage", name: string): string {
  const plain = name.replaceAll(/\p{Cc}/gu, "_").slice(-MAX_NAME_CHARACTERS);
  const path = archivePath(part === "report" ? "test-results" : "coverage", plain);
  const named = path.endsWith("/") ? `${path}${part}` : path;
  return part === "coverage" || /\.xml$/i.test(named) ? named : `${named}.xml`;
}

/** The archive with the parameters, the organization, and only the files that are read. */
function repacked(
  source: ArchiveSource,
  { contents, facts }: ReadArchive,
  { given, organization }: UploadRequest,
): ArchiveContent & { facts: FoundFacts & { checkoutFolder: string } } {
  const { metadata, codeowners } = contents;
  const wanted = formatRepositoryName(given.repo);
  const named = metadata?.repository ?? "";
  if (!["", "/", caseKey(wanted)].includes(caseKey(named))) {
    throw new UploadError(400, {
      repository: [
        `the archive belongs to ${quote(named)}: expected ${quote(wanted)}, as in the address`,
      ],
    });
  }
  const wantedOrdinals = new Set(
    [...contents.reports, ...contents.coverage].map(({ ordinal }) => ordinal),
  );
  const files = async function* (): AsyncGenerator<FileToPack, void> {
    for await (const { ordinal, bytes, ...file } of readEntries(source.open(), { archive })) {
      if (wantedOrdinals.has(ordinal)) yield { ...file, open: () => bytes };
    }
  };
  const archive = source.name;
  const repositoryUrl = readGitUrl(metadata?.repositoryUrl ?? "").page;
  const checkoutFolder = metadata?.checkoutFolder ?? "";
  return {
    facts: { ...facts, organization, repositoryUrl, checkoutFolder },
    codeowners,
    files: files(),
  };
}
