/** Checks the received files of an upload and stores them as an archive in the inbox. */
import { join } from "node:path";
import { caseKey } from "../../base/identity.ts";
import { quote } from "../../base/quote.ts";
import { formatRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import { readEntries } from "../../report/archive/entries.ts";
import { type ArchiveContent, archivePath, type FileToPack } from "../../report/archive/mod.ts";
import { ARCHIVE_LIMITS as LIMITS } from "../../report/limits.ts";
import { readGitUrl } from "../ci/git.ts";
import { archiveName, FilesToPack, packArchive } from "../files_to_pack.ts";
import { parseFacts } from "../read_archive.ts";
import type { RunValues } from "../upload_values.ts";
import { fileSource } from "../../storage/folder.ts";
import type { Inbox } from "../../storage/inbox.ts";
import type { ReaderPool } from "./reader_pool.ts";
import { type ReceivedBody, type ReceivedFile, UploadError } from "./receive_body.ts";

/** An upload before its files are read, and what it needs. */
export interface UploadRequest {
  inbox: Inbox;
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
  const { inbox, readers, folder, now } = request;
  const path = join(folder, "archive.gz");
  const content = body.archive === null
    ? await contentOfFiles(body.files, request)
    : await contentOfArchive(body.archive, body, request);
  const archive = await packArchive(path, content);
  if (body.archive === null) {
    const source = { ...fileSource(path), name: "upload" };
    const options = { given: {}, now, recordedAt: now, areNamed: true, isCheck: true, listener };
    await readers.use(body.byteCount, (reader) => reader.read(source, options));
  }
  return await inbox.put(archive, archiveName(content.facts, archive.digest));
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

/** Repacks the archive with the parameters, the organization, and only the files that are read. */
async function contentOfArchive(
  archive: string,
  { byteCount }: ReceivedBody,
  { given, now, organization, readers }: UploadRequest,
): Promise<ArchiveContent> {
  const source = { ...fileSource(archive), name: "archive" };
  const options = { given, now, recordedAt: now, isCheck: true, listener };
  const { contents, facts } = await readers.use(
    byteCount,
    (reader) => reader.read(source, options),
  );
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
    for await (
      const { ordinal, bytes, ...file } of readEntries(source.open(), { archive: "archive" })
    ) {
      if (wantedOrdinals.has(ordinal)) yield { ...file, open: () => ReadableStream.from(bytes) };
    }
  };
  return {
    facts: {
      ...facts,
      organization,
      repositoryUrl: readGitUrl(metadata?.repositoryUrl ?? "").page,
      checkoutFolder: metadata?.checkoutFolder ?? "",
    },
    codeowners,
    files: files(),
  };
}
