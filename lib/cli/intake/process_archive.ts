/** What a watcher does with one archive: claim, read, store, or put aside with the reason. */
import { randomUUID } from "node:crypto";
import {
  type ArchiveClaim,
  assignArchive,
  claimArchive,
  ClaimLostError,
  extendClaim,
  failArchive,
  finishArchive,
  releaseArchive,
} from "../../../db/admin/archives.ts";
import type { Database } from "../../../db/connection/connect.ts";
import { SchemaVersionError, writeTransaction } from "../../../db/schema/migrate.ts";
import { listOrganizations, type Organization } from "../../../db/admin/organizations.ts";
import { findOrCreateRepository } from "../../../db/admin/create_repository.ts";
import { TagLimitError } from "../../../db/write/test_tags.ts";
import {
  showProcessing,
  type UnprocessedSubmission,
} from "../../../db/write/unprocessed_submissions.ts";
import { caseKey } from "../../base/identity.ts";
import type { ArchiveMetadata } from "../../report/archive/mod.ts";
import {
  formatRepositoryName,
  parseRepositoryName,
  type RepositoryName,
} from "../../base/repository_name.ts";
import { ReportError } from "../../report/report_error.ts";
import type { ArchiveReader } from "./archive_reader.ts";
import { Failure } from "../errors.ts";
import type { Listener } from "./read_files.ts";
import { type IntakeOutcome, storeUpload } from "./store_upload.ts";
import { oneLine } from "../output.ts";
import { readObjectId, readText } from "./upload_values.ts";
import { type ArchiveStorage, StorageError, type StoredArchive } from "../storage/storage.ts";

/**
 * An archive that ends its watcher every time (by exhausting memory, say) must not end all watchers
 * for ever. So many attempts nobody needs whose watchers are merely restarted.
 */
const MAX_ATTEMPTS = 20;
const MAX_REASON_CHARACTERS = 2_000;

/** What a watcher works with. */
export interface WatcherContext {
  sql: Database["sql"];
  storage: ArchiveStorage;
  reader: ArchiveReader;
  /** `null`: each archive's own, by the owner of its repository. */
  organization: Organization | null;
  leaseSeconds: number;
  /** Seconds since 1970. */
  now(): number;
  listener: Listener;
}

/** What became of an archive. */
export type WatchOutcome =
  /** `submission_key` is another one's when the same was taken in before, `null` without results. */
  | (Omit<IntakeOutcome, "key"> & { key: string; submission_key: string | null })
  | { status: "failed"; key: string; reason: string }
  /** Somebody else has it, or it can be tried again later; `reason` says so when there is one. */
  | { status: "left"; key: string; reason: string };

/** Processes an archive, unless somebody else does. */
export async function processArchive(
  context: WatcherContext,
  archive: StoredArchive,
): Promise<WatchOutcome> {
  const { sql, storage, leaseSeconds } = context;
  const { key, version } = archive;
  const claim: ArchiveClaim = { source: storage.name, key, claimId: randomUUID() };
  const claimed = await claimArchive(sql, { ...claim, version, leaseSeconds });
  if (!claimed) return { status: "left", key, reason: "" };
  const heart = keepClaim(context, claim);
  const shown = { key };
  try {
    if (claimed.attemptCount > MAX_ATTEMPTS) {
      throw new Refusal(
        `given up after ${MAX_ATTEMPTS} attempts` + (claimed.reason && `: ${claimed.reason}`),
      );
    }
    const { key: submissionKey, ...outcome } = await intake(context, { archive, claim, shown });
    return { key, ...outcome, submission_key: submissionKey };
  } catch (error) {
    const reason = oneLine(messageOf(error)).slice(0, MAX_REASON_CHARACTERS);
    if (error instanceof SchemaVersionError) {
      // Says nothing about the archive: it stays free for a process of the new version.
      await releaseArchive(sql, { ...claim, reason: "", isAttempt: false });
      throw error;
    }
    if (error instanceof ClaimLostError) return { status: "left", key, reason };
    if (error instanceof Refusal) {
      if (!await putAside(sql, { ...claim, reason, submissionKey: shown.key })) {
        return { status: "left", key, reason: "another watcher has taken over" };
      }
      return { status: "failed", key, reason };
    }
    // The database or the storage. What the database refuses for good would be tried for ever.
    await releaseArchive(sql, { ...claim, reason, isAttempt: !isPassingFault(error) });
    return { status: "left", key, reason };
  } finally {
    heart.stop();
  }
}

/** Returns false when another watcher has taken over meanwhile. */
async function putAside(
  sql: Database["sql"],
  failure: Parameters<typeof failArchive>[1],
): Promise<boolean> {
  try {
    await failArchive(sql, failure);
    return true;
  } catch (error) {
    if (error instanceof ClaimLostError) return false;
    throw error;
  }
}

/** False when the database does not take the data, or the program has a mistake. */
function isPassingFault(error: unknown): boolean {
  if (error instanceof StorageError || isUnreadable(error)) return true;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  // SQLSTATE classes: wrong data, broken constraint, too large.
  return code !== "" && !/^(?:22|23|54)/.test(code);
}

/** Why an archive is put aside. */
class Refusal extends Error {}

async function intake(
  { sql, storage, reader, organization: given, now, listener }: WatcherContext,
  { archive, claim, shown }: {
    archive: StoredArchive;
    claim: ArchiveClaim;
    /** Set to the key that the submission is shown under. */
    shown: { key: string };
  },
): Promise<IntakeOutcome> {
  const { uploadedAt } = archive;
  const source = storage.open(archive);
  const moment = now();
  // Without a time stamp its tests ran when it was uploaded.
  const recordedAt = Math.min(uploadedAt, moment);
  let metadata: ArchiveMetadata | undefined;
  const opened = await refusing(() =>
    reader.open(source, {
      given: {},
      now: moment,
      recordedAt,
      listener,
      onMetadata: (read) => metadata = read,
    })
  ).catch(async (error) => {
    const facts = error instanceof Refusal && metadata && bareFacts(metadata, recordedAt);
    if (facts) await show(facts);
    throw error;
  });
  const { contents, facts } = opened;
  const organization = await show(facts);
  const files = await refusing(() => reader.readFiles(source, contents, { listener }));
  return await storeUpload(sql, { ...facts, organization: organization.name }, files, {
    now: moment,
    key: shown.key,
    alongside: (tx) => finishArchive(tx, claim),
  }).catch((error) => {
    if (!(error.cause instanceof TagLimitError)) throw error;
    throw new Refusal(error.message, { cause: error });
  });

  /** Lists the archive under its repository as `processing`. */
  async function show(facts: ShownFacts): Promise<Organization> {
    const organization = given ?? await organizationOf(sql, facts.repository);
    const { repository: { repositoryId } } = await findOrCreateRepository(sql, {
      ...facts.repository,
      organization,
      createdAt: moment,
      isVisible: false,
    });
    await writeTransaction(sql, async (tx) => {
      shown.key = await assignArchive(tx, { ...claim, repositoryId });
      await showProcessing(tx, { ...facts, repositoryId, key: shown.key, uploadedAt: moment });
    });
    return organization;
  }
}

/** What a list shows of an archive before its reports were read. */
type ShownFacts = Omit<UnprocessedSubmission, "repositoryId" | "key" | "uploadedAt"> & {
  repository: RepositoryName;
};

/** What can be read of the metadata of a failed archive; `null` without a repository. */
function bareFacts(metadata: ArchiveMetadata, recordedAt: number): ShownFacts | null {
  const readOr = <T>(read: () => T, otherwise: T): T => {
    try {
      return read();
    } catch {
      return otherwise;
    }
  };
  const { commit, tree, branch, buildUrl } = metadata;
  const repository = readOr(() => parseRepositoryName(metadata.repository), null);
  return repository && {
    repository,
    commitOid: readOr(() => readObjectId(commit), ""),
    treeOid: readOr(() => readObjectId(tree), null),
    branch: readOr(() => readText(branch), "") || null,
    buildUrl: readOr(() => readText(buildUrl), ""),
    tags: [],
    recordedAt,
  };
}

/** What goes wrong while an archive is read is its own fault, unless it could not be reached. */
async function refusing<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StorageError || isUnreadable(error)) throw error;
    throw new Refusal(messageOf(error), { cause: error });
  }
}

/** True when somebody changed the archive while it was read. */
function isUnreadable(error: unknown): boolean {
  return error instanceof ReportError && error.kind === "unreadable";
}

/** The only organization there is, else the one that is called like the owner of the repository. */
async function organizationOf(
  sql: Database["sql"],
  repository: RepositoryName,
): Promise<Organization> {
  const organizations = await listOrganizations(sql);
  const [first, ...others] = organizations;
  if (first && others.length === 0) return first;
  const owner = repository.owner.split("/")[0] ?? "";
  const named = organizations.find(({ name }) => caseKey(name) === caseKey(owner));
  if (named) return named;
  throw new Refusal(
    `no organization is called "${owner}", as the owner of ${
      formatRepositoryName(repository)
    } is: ` +
      "expected one, or `watch` with --org",
  );
}

/** Extends the claim as long as this program lives. */
function keepClaim(
  { sql, leaseSeconds, listener }: WatcherContext,
  claim: ArchiveClaim,
): { stop(): void } {
  const timer = setInterval(() => {
    extendClaim(sql, { ...claim, leaseSeconds }).catch((error) =>
      listener.note(`${claim.key}: the claim could not be extended: ${messageOf(error)}`)
    );
  }, leaseSeconds * 1000 / 3);
  return { stop: () => clearInterval(timer) };
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof Failure || error.message) return error.message;
  return error.name;
}
