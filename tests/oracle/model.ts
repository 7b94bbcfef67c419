/**
 * The state of one organization as plain lists, which the oracle reads. This file decides what
 * exists; `oracle.ts` derives what it means.
 */
import type { TestIdentity } from "../../lib/base/identity.ts";
import {
  keyedSubmissionId,
  repositoryIdPrefix,
  testHash,
  testId,
} from "../../lib/base/identity.ts";
import type { TestResult } from "../../lib/report/result.ts";
import type { LoggedEvent, PlainQuarantine } from "./quarantines.ts";

export interface PlainRepository {
  owner: string;
  name: string;
  /** Its numeric identifier in the service. */
  repositoryId: number;
  /** Derived from the first name, and kept when the repository is renamed. */
  idPrefix: number;
  /** Its page as an upload told it last, `""` without any. */
  url: string;
  /** False after its deletion, until there is one of that name again. */
  isThere: boolean;
}

interface PlainToken {
  /** The first second at which it is invalid; `null` for a token that never expires. */
  expiresAt: number | null;
  isRevoked: boolean;
}

interface PlainCoverage {
  coveredLineCount: number;
  lineCount: number;
}

export interface PlainUpload {
  /** Index in the organization's repositories. */
  repository: number;
  /** Seconds since 1970. */
  recordedAt: number;
  commit: string;
  tree: string | null;
  branch: string | null;
  /** `""` when unknown, as the job. */
  environment: string;
  job: string;
  /** Unknown without, as shard and attempt. */
  workflow?: string;
  shard?: string;
  attempt?: string;
  /** `""` for an upload that is a build of its own. */
  buildUrl: string;
  tags: string[];
  /** Additional tags of single tests; no test twice. */
  testTags: { test: TestIdentity; tags: string[] }[];
  /** Tests that stand for several tests of one name. */
  ambiguous?: TestIdentity[];
  /** In the order of the report. */
  results: TestResult[];
  coverage: PlainCoverage | null;
  /** The page of the repository; `null` when the upload does not tell it. */
  repositoryUrl: string | null;
  /** Key of its archive; `null` without one. */
  key: string | null;
}

/** A stored upload with the id and key that the service assigned. */
export interface PlainSubmission extends PlainUpload {
  /** Without results unless it is processed. */
  status: "processing" | "processed" | "failed";
  /** 24 lower-case hex digits. */
  id: string;
  key: string;
  /** Not found any more; the disruptions that it proved remain. */
  isPruned?: boolean;
}

export interface KnownTest extends TestIdentity {
  repository: number;
  id: string;
}

/** Everything that one organization holds. */
export interface State {
  organization: string;
  /** Its number in the service. */
  organizationId: number;
  repositories: PlainRepository[];
  submissions: PlainSubmission[];
  /** In the order of upload. */
  coverage: {
    repository: number;
    recordedAt: number;
    submissionId: string;
    report: PlainCoverage;
  }[];
  /** The latest entry of each test, ended or not. */
  quarantines: PlainQuarantine[];
  /** Without ends, in the order in which they happened. */
  quarantineLog: LoggedEvent[];
  /** The first is always valid. */
  tokens: PlainToken[];
  /** Tests of existing reports, and those with an entry whose reports are deleted. */
  tests: KnownTest[];
}

/** An organization without data. */
export function emptyState(organization: string, organizationId = 1): State {
  return {
    organization,
    organizationId,
    repositories: [],
    submissions: [],
    coverage: [],
    quarantines: [],
    quarantineLog: [],
    tokens: [{ expiresAt: null, isRevoked: false }],
    tests: [],
  };
}

/** Adds an empty repository, or replaces a deleted one by it. */
export function addRepository(
  state: State,
  repository: { owner: string; name: string; repositoryId: number },
  index = state.repositories.length,
): void {
  const { owner, name } = repository;
  const taken = state.repositories.filter(({ isThere }) => isThere).map((one) => one.idPrefix);
  let idPrefix: number;
  let attempt = 0;
  // One that was renamed keeps what its first name made.
  do {
    idPrefix = repositoryIdPrefix({ organization: state.organization, owner, name }, attempt++);
  } while (taken.includes(idPrefix));
  state.repositories[index] = { ...repository, idPrefix, url: "", isThere: true };
}

/** Deletes a repository with all its data. */
export function deleteRepository(state: State, index: number): void {
  repositoryAt(state, index).isThere = false;
  const isOther = ({ repository }: { repository: number }) => repository !== index;
  state.submissions = state.submissions.filter(isOther);
  state.coverage = state.coverage.filter(isOther);
  state.quarantines = state.quarantines.filter(isOther);
  state.tests = state.tests.filter(isOther);
}

/** Index of the repository with this owner and name, -1 for none. */
export function indexOfName(state: State, { owner, name }: { owner: string; name: string }) {
  const spelled = `${owner}/${name}`.toLowerCase();
  return state.repositories.findIndex((other) =>
    other.isThere && `${other.owner}/${other.name}`.toLowerCase() === spelled
  );
}

/** Whether a token is valid at a moment. */
export function isValidToken(state: State, index: number, now: number): boolean {
  const token = state.tokens[index];
  if (!token) return false;
  return !token.isRevoked && (token.expiresAt === null || now < token.expiresAt);
}

/** The repository at an index. */
export function repositoryAt(state: State, index: number): PlainRepository {
  const repository = state.repositories[index];
  if (!repository) throw new RangeError(`${index} is not a repository of this history`);
  return repository;
}

/** The public id of a test of a repository. */
export function idOfTest(state: State, repository: number, test: TestIdentity): string {
  return testId(repositoryAt(state, repository).idPrefix, testHash(test));
}

/** What identifies an upload without an archive: its report, commit and build URL, and without results its run. */
export function identityOf(upload: PlainUpload): string {
  const { commit, buildUrl, results, environment, job, shard = "", attempt = "" } = upload;
  const run = results.length === 0 ? [environment, job, shard, attempt] : [];
  return JSON.stringify([commit, buildUrl, results, run]);
}

/** The processed submission that an upload repeats: the same archive, or one of the same identity. */
export function repeatedBy(state: State, upload: PlainUpload): PlainSubmission | undefined {
  const processed = state.submissions.filter(({ repository, status }) =>
    repository === upload.repository && status === "processed"
  );
  return processed.find((submission) => submission.key === upload.key) ??
    processed.find((submission) => identityOf(submission) === identityOf(upload));
}

/** The id of a submission that comes from an archive. */
export function idOfArchive(
  state: State,
  { repository, recordedAt, key }: { repository: number; recordedAt: number; key: string },
): string {
  const { idPrefix } = repositoryAt(state, repository);
  return keyedSubmissionId({ recordedAt, idPrefix, key });
}

/** Lists an archive as processing, unless it is processed already. */
export function showProcessing(state: State, upload: PlainUpload & { key: string }): void {
  removeUnprocessed(state, upload);
  const { repository, key } = upload;
  if (state.submissions.some((other) => other.repository === repository && other.key === key)) {
    return;
  }
  state.submissions.push({ ...upload, id: idOfArchive(state, upload), status: "processing" });
}

/** Marks an archive that is listed as processing as failed. */
export function showFailed(state: State, archive: { repository: number; key: string }): void {
  state.submissions = state.submissions.map((submission) =>
    submission.status === "processing" && submission.repository === archive.repository &&
      submission.key === archive.key
      ? { ...submission, status: "failed" }
      : submission
  );
}

/** Removes the listed archive that an upload comes from. */
export function removeUnprocessed(
  state: State,
  { repository, key }: { repository: number; key: string | null },
): void {
  state.submissions = state.submissions.filter((submission) =>
    submission.status === "processed" || submission.repository !== repository ||
    submission.key !== key
  );
}

/** True when both are the same test, within one repository. */
export function isSameTest(a: TestIdentity, b: TestIdentity): boolean {
  return a.suite === b.suite && a.class === b.class && a.name === b.name && a.file === b.file;
}

/** Adds an upload with the id and key that the service assigned, unless it repeats another. */
export function addUpload(
  state: State,
  upload: PlainUpload,
  { id, key }: { id: string; key: string },
): void {
  removeUnprocessed(state, upload);
  const repeated = repeatedBy(state, upload);
  const submission: PlainSubmission = repeated ?? { ...upload, id, key, status: "processed" };
  if (!repeated) {
    state.submissions.push(submission);
    if (upload.repositoryUrl) repositoryAt(state, upload.repository).url = upload.repositoryUrl;
  }
  if (upload.coverage && upload.coverage.lineCount > 0) {
    state.coverage = state.coverage.filter((other) =>
      other.repository !== upload.repository || other.submissionId !== submission.id
    );
    const { repository, recordedAt } = submission;
    const report = upload.coverage;
    state.coverage.push({ repository, recordedAt, submissionId: submission.id, report });
  }
  for (const { suite, class: className, name, file } of upload.results) {
    const test = { suite, class: className, name, file };
    const testId = idOfTest(state, upload.repository, test);
    if (state.tests.some((known) => known.id === testId)) continue;
    state.tests.push({ ...test, repository: upload.repository, id: testId });
  }
}

/**
 * Deletes a submission as if it had never been uploaded. Tests that no other submission ran are
 * deleted too, unless they have a quarantine entry, ended or not.
 */
export function deleteSubmission(state: State, key: string): void {
  const gone = state.submissions.find((submission) => submission.key === key);
  if (!gone) return;
  state.submissions = state.submissions.filter((submission) => submission !== gone);
  state.coverage = state.coverage.filter((report) =>
    report.repository !== gone.repository || report.submissionId !== gone.id
  );
  const idsOf = (submission: PlainSubmission) =>
    submission.results.map((result) => idOfTest(state, submission.repository, result));
  const ran = new Set(state.submissions.flatMap(idsOf));
  const lost = idsOf(gone).filter((id) =>
    !ran.has(id) && !state.quarantines.some((quarantine) => quarantine.testId === id)
  );
  state.tests = state.tests.filter((test) => !lost.includes(test.id));
}
