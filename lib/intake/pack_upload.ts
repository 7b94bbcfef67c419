/** Checks an upload and packs it as an archive. Runs in the worker thread. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { caseKey } from "../base/identity.ts";
import { quote } from "../base/quote.ts";
import { formatRepositoryName, type RepositoryName } from "../base/repository_name.ts";
import { readEntries } from "../report/archive/entries.ts";
import {
  type ArchiveContent,
  archivePath,
  type FileToPack,
  inspectArchive,
  readArchived,
} from "../report/archive/mod.ts";
import { FILE_CHUNK_BYTES } from "../report/file_chunks.ts";
import { ARCHIVE_LIMITS as LIMITS } from "../report/limits.ts";
import { inOrderOfAttempts } from "../analysis/repetition/report_order.ts";
import { fileSource } from "../storage/folder.ts";
import type { StoredFile } from "../storage/storage.ts";
import type { ClaimedRun } from "../ci/claims.ts";
import { isCiJob } from "../ci/mod.ts";
import { formatCi, parseCi, withoutFacts } from "../ci/variables.ts";
import { readCiLines } from "./ci_facts.ts";
import { FilesToPack, packArchive } from "./files_to_pack.ts";
import { type FoundFacts, parseFacts, pathPrefixes, repositoryIn } from "./archive_facts.ts";
import { type FilesToRead, readFiles } from "./read_archive.ts";
import type { UploadFiles } from "./read_files.ts";
import { withClaims } from "./claimed_facts.ts";
import type { RunValues } from "./upload_values.ts";
import { formatPathPrefixes, parsePathPrefixes } from "../report/path_prefix.ts";
import { UploadNotes } from "./upload_notes.ts";
import { type FormFile, readForm } from "./form.ts";
import { UploadError } from "./upload_error.ts";
import { meaningOf, readUploadParameters, UPLOAD_PARAMETERS } from "./upload_parameters.ts";
import { contradictions } from "../http/request/parse_values.ts";

/** An upload on disk. */
export interface UploadToPack {
  /** Folder of this upload: contains `body`, gets the archive. */
  folder: string;
  contentType: string;
  /** Name of the organization. */
  organization: string;
  /** The parameters of the address. */
  parameters: [name: string, value: string][];
  /** The repository of the path; `null` when it names none. */
  repo: RepositoryName | null;
  /** The run of the identity token: it takes precedence over what the client says. */
  claims?: ClaimedRun | undefined;
  /** Seconds since 1970. */
  now: number;
  /** Whether the results are used, or only looked through for errors. */
  keepsResults: boolean;
}

export interface PackedUpload {
  archive: StoredFile;
  facts: FoundFacts;
  /** What reading the archive returns; `null` when it was not kept. */
  files: UploadFiles | null;
  /** What was repaired, ignored or left out. */
  notes: string[];
}

/** What an uploader says outright. */
interface Given extends RunValues {
  /** The repository that the archive and CI may not contradict; `null` with a token that names it. */
  expected: ExpectedRepository | null;
}

interface ExpectedRepository {
  name: string;
  place: "address" | "parameter";
}

/** Files that were received one by one. */
interface ReceivedFiles {
  files: readonly FormFile[];
  ci: string;
  given: Given;
}

/** What an upload contains, before its files are read. */
interface UploadContents {
  content: ArchiveContent & { facts: FoundFacts & { checkoutFolder?: string } };
  toRead: FilesToRead;
  /** The uploader named every file. */
  areNamed: boolean;
  notes: UploadNotes;
}

// 100,000 results of ordinary names take about 10 MB; 5,000 failures stop the main thread for 30 ms
// when it receives them.
// Uploads of more are read again by the watcher, which bounds the memory for results that wait.
const MAX_KEPT = { results: 100_000, failures: 5_000, textBytes: 32 * 1024 * 1024 };

const MAX_NAME_CHARACTERS = 200;

/**
 * Checks the body of an upload as `ingest` does and packs it as an archive.
 *
 * @throws {UploadError} when it is a malformed form, or the parameters do not fit the files
 * @throws {ReportError} when a file cannot be read
 */
export async function packUpload(upload: UploadToPack): Promise<PackedUpload> {
  const { folder, contentType, keepsResults } = upload;
  const body = join(folder, "body");
  if (/^multipart\//i.test(contentType)) {
    const target = join(folder, "parts");
    const { files, fields, ci } = await readForm(body, { contentType, target });
    await rm(body);
    return await packFiles(target, { files, ci, given: givenBy(upload, fields) }, upload);
  }
  const { size } = statSync(body);
  if (size === 0) {
    throw new UploadError(400, {
      body: ["empty body: expected a JUnit report, a form with report=@FILE, or an archive"],
    });
  }
  if (!isGzip(body)) {
    const file = { part: "report", name: "report.xml", start: 0, size } as const;
    return await packFiles(body, { files: [file], ci: "", given: givenBy(upload) }, upload);
  }
  const contents = await contentsOfArchive(body, upload);
  return await pack(contents, { path: join(folder, "archive.gz"), keepsResults });
}

/**
 * What the uploader says outright, in the address or in fields of the form.
 *
 * @throws {UploadError} when a value is invalid, or said twice in different ways
 */
function givenBy(
  { parameters, repo, claims, now }: UploadToPack,
  fields: URLSearchParams = new URLSearchParams(),
): Given {
  const address = new URLSearchParams(parameters);
  const errors = contradictions(UPLOAD_PARAMETERS, {
    address,
    fields,
    meaning: (name, text) => meaningOf(name, text, now),
  });
  const read = readUploadParameters(new URLSearchParams([...address, ...fields]), now);
  if (read.errors || errors) {
    throw new UploadError(400, { ...read.errors, ...errors });
  }
  const { given } = read;
  const named = given.repo && formatRepositoryName(given.repo);
  const ofPath = repo && { name: formatRepositoryName(repo), place: "address" } as const;
  checkRepository(ofPath, named, "the parameter");
  if (claims && named && !isSameName(named, formatRepositoryName(claims.repository))) {
    const own = quote(formatRepositoryName(claims.repository));
    throw new UploadError(400, {
      repository: [`the parameter names ${quote(named)}: expected ${own}, as in the token`],
    });
  }
  return {
    ...given,
    repo: claims?.repository ?? given.repo ?? repo ?? undefined,
    expected: claims ? null : named ? { name: named, place: "parameter" } : ofPath,
  };
}

/** @throws {UploadError} when a source names another repository than is expected */
function checkRepository(
  expected: ExpectedRepository | null,
  named: string | undefined,
  source: string,
): void {
  if (!expected || !named || named === "/" || isSameName(named, expected.name)) return;
  // A forge may live below a path of its host.
  if (caseKey(named).endsWith(`/${caseKey(expected.name)}`)) return;
  const { name, place } = expected;
  throw new UploadError(400, {
    repository: [
      `${source} belongs to ${quote(named)}: expected ${quote(name)}, as in the ${place}`,
    ],
  });
}

function isSameName(one: string, other: string): boolean {
  return caseKey(one) === caseKey(other);
}

/** @throws {UploadError} when nothing names the repository or the commit */
function checkFound({ facts, problem }: ReturnType<typeof parseFacts>): FoundFacts {
  if (facts && !problem) return facts;
  throw problem;
}

async function pack(
  { content, toRead, areNamed, notes }: UploadContents,
  { path, keepsResults }: { path: string; keepsResults: boolean },
): Promise<PackedUpload> {
  const maxKept = keepsResults ? MAX_KEPT : { results: 0, failures: 0, textBytes: 0 };
  const { checkoutFolder = "", ...facts } = content.facts;
  const read = await readFiles(toRead, { note: (text) => notes.add(text) }, {
    areNamed,
    exitCode: facts.exitCode,
    codeowners: content.codeowners,
    checkoutFolder,
    pathPrefixes: parsePathPrefixes(content.pathPrefixes ?? ""),
    maxKept,
  });
  const archive = await packArchive(path, content);
  // Without reports there is nothing to keep but the coverage.
  const isKept = keepsResults && read.results?.content.resultCount !== 0;
  const { list } = notes;
  return { archive, facts, files: isKept ? { ...read, notes: list } : null, notes: list };
}

/** Packs files that are ranges of one file. */
async function packFiles(
  path: string,
  form: ReceivedFiles,
  upload: UploadToPack,
): Promise<PackedUpload> {
  const handle = openSync(path, "r");
  try {
    const contents = await contentsOfFiles(handle, form, upload);
    const { folder, keepsResults } = upload;
    return await pack(contents, { path: join(folder, "archive.gz"), keepsResults });
  } finally {
    closeSync(handle);
  }
}

async function contentsOfFiles(
  handle: number,
  { files: received, ci: ciOfClient, given: ofClient }: ReceivedFiles,
  { claims, now, organization }: UploadToPack,
): Promise<UploadContents> {
  const ci = claimedCi(claims, ciOfClient);
  const run = readCiLines(ci);
  const given = {
    ...ofClient,
    commit: ofClient.commit ?? (run?.commit ? undefined : claims?.commit),
  };
  checkRepository(given.expected, run?.repository, "ci");
  const missing = {
    ...given.commit === undefined && !run?.commit &&
      { commit: ["missing commit: expected 7 to 64 hex digits"] },
    ...given.repo === undefined && !run?.repository &&
      { repository: ["missing repository: expected OWNER/NAME, in the path or in ci"] },
  };
  if (Object.keys(missing).length > 0) throw new UploadError(400, missing);
  const packed = new FilesToPack();
  let codeowners: string | null = null;
  for (const { part, path, start, size } of withPaths(received)) {
    const open = () => rangeOf(handle, start, size);
    if (part === "coverage") packed.add(path, { size, open });
    else if (part === "report") await packed.addReport(path, { size, open });
    else if (codeowners !== null || size > LIMITS.codeownersBytes) {
      const problem = `expected one file of at most ${LIMITS.codeownersBytes} bytes`;
      throw new UploadError(400, { codeowners: [problem] });
    } else codeowners = await new Response(ReadableStream.from(open())).text();
  }
  const { files } = packed;
  if (files.length === 0) {
    throw new UploadError(400, { report: ["missing report: expected one, or coverage"] });
  }
  const notes = new UploadNotes("upload");
  const onNote = (text: string) => notes.add(text);
  const options = { archive: "upload", given, ci, now, recordedAt: now, onNote };
  const facts = withClaims(checkFound(parseFacts(null, options)), claims, onNote);
  const found = files.map(({ path }, ordinal) => ({ path, ordinal }));
  return {
    content: {
      facts: { ...facts, organization },
      codeowners,
      ci: formatCi(parseCi(ci)),
      pathPrefixes: formatPathPrefixes(pathPrefixes(given, "")),
      files,
    },
    toRead: {
      name: "upload",
      reports: inOrderOfAttempts(
        found.filter(({ path }) => path.startsWith("test-results/")),
      ),
      coverage: found.filter(({ path }) => path.startsWith("coverage/")),
      open: (wanted) =>
        wanted.map(({ path, ordinal }) => ({ path, bytes: files[ordinal]!.open() })),
    },
    areNamed: true,
    notes,
  };
}

/** The variables of the client, and of a pull request those that its token implies, if the client sent none of it. */
function claimedCi(claims: ClaimedRun | undefined, given: string): string {
  const ci = claims ? withoutFacts(given, claims.notOfClient) : given;
  const [service] = Object.keys(claims?.pullVariables ?? {});
  if (service === undefined || readCiLines(ci)?.isOfPull) return ci;
  const known = parseCi(ci);
  // The names of another service say other things.
  const isOther = isCiJob(known) && !known[service];
  return isOther ? ci : formatCi({ ...known, ...claims!.pullVariables });
}

/**
 * The files with their paths in the archive. Reports of one name are of different folders, such as packages, which
 * curl does not send: then numbers take their place, and a name that comes again is in the next folder.
 */
function withPaths(files: readonly FormFile[]): (FormFile & { path: string })[] {
  let folder = 1;
  let names = new Set<string>();
  const placed = files.map((file) => {
    const path = pathOf(file);
    if (file.part !== "report") return { ...file, path, folder: 0 };
    if (names.has(path)) {
      folder++;
      names = new Set();
    }
    names.add(path);
    return { ...file, path, folder };
  });
  if (folder === 1) return placed;
  return placed.map(({ folder, path, ...file }) => (
    { ...file, path: folder === 0 ? path : path.replace("/", `/${folder}/`) }
  ));
}

function pathOf({ part, name }: FormFile): string {
  const plain = name.replaceAll(/\p{Cc}/gu, "_").slice(-MAX_NAME_CHARACTERS);
  const path = archivePath(part === "report" ? "test-results" : "coverage", plain);
  return path.endsWith("/") ? `${path}${part}` : path;
}

/** The archive with the parameters, the organization, and only the files that are read. */
async function contentsOfArchive(path: string, upload: UploadToPack): Promise<UploadContents> {
  const { claims, now, organization } = upload;
  const ofClient = givenBy(upload);
  const source = { ...fileSource(path), name: "archive" };
  const { name } = source;
  const notes = new UploadNotes(name);
  const onNote = (text: string) => notes.add(text);
  const contents = await inspectArchive(source, { onNote });
  const { metadata, codeowners, reports, coverage } = contents;
  const ci = claimedCi(claims, contents.ci);
  const run = readCiLines(ci);
  const otherwise = metadata?.commit || run?.commit ? undefined : claims?.commit;
  const given = { ...ofClient, commit: ofClient.commit ?? otherwise };
  const ofArchive = metadata ? repositoryIn(metadata.repository, metadata) : "";
  checkRepository(given.expected, ofArchive, "the archive");
  checkRepository(given.expected, metadata?.repository ? "" : run?.repository, "ci");
  const options = { archive: name, given, ci, now, recordedAt: now, onNote };
  const facts = withClaims(checkFound(parseFacts(metadata, options)), claims, onNote);
  const ordinals = new Set([...reports, ...coverage].map(({ ordinal }) => ordinal));
  const files = async function* (): AsyncGenerator<FileToPack, void> {
    const entries = readEntries(source.open(), { archive: name });
    for await (const { ordinal, bytes, ...file } of entries) {
      if (ordinals.has(ordinal)) yield { ...file, open: () => bytes };
    }
  };
  const checkoutFolder = metadata?.checkoutFolder ?? "";
  return {
    content: {
      facts: { ...facts, organization, checkoutFolder },
      codeowners,
      ci: formatCi(parseCi(ci)),
      pathPrefixes: formatPathPrefixes(pathPrefixes(given, contents.pathPrefixes)),
      files: files(),
    },
    toRead: { name, reports, coverage, open: (files) => readArchived(source, files, contents) },
    areNamed: false,
    notes,
  };
}

function isGzip(path: string): boolean {
  const handle = openSync(path, "r");
  try {
    const start = new Uint8Array(2);
    return readSync(handle, start) === 2 && start[0] === 0x1f && start[1] === 0x8b;
  } finally {
    closeSync(handle);
  }
}

/** A part of a file. Nothing else runs in this thread, so it may wait for the disk. */
async function* rangeOf(
  handle: number,
  start: number,
  size: number,
): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < size;) {
    const chunk = new Uint8Array(Math.min(FILE_CHUNK_BYTES, size - at));
    const count = readSync(handle, chunk, { position: start + at });
    if (count === 0) throw new Error("the file is shorter than it was");
    at += count;
    yield chunk.subarray(0, count);
  }
}
