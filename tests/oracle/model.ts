/**
 * What has been told to the service so far, as plain lists: what the oracle reads.
 *
 * Nothing here decides anything but what is there; what it means is told by `oracle.ts`.
 */
import type { TestIdentity } from "../../lib/base/identity.ts";
import { repositoryIdPrefix, testHash, testId } from "../../lib/base/identity.ts";
import type { TestResult } from "../../lib/report/result.ts";

export interface PlainRepository {
  owner: string;
  name: string;
  /** The numeric identifier that the service gave it. */
  repositoryId: number;
  /** Made from the first name, and kept when the repository is renamed. */
  idPrefix: number;
  /** False after its deletion, until there is one of that name again. */
  isThere: boolean;
}

export interface PlainToken {
  /** The first second at which it is not valid any more, `null` when there is none. */
  expiresAt: number | null;
  isRevoked: boolean;
}

export interface PlainCoverage {
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
  /** `""` for an upload that is a build of its own. */
  buildUrl: string;
  tags: string[];
  /** Tags of single tests, beside those of all; no test twice. */
  testTags: { test: TestIdentity; tags: string[] }[];
  /** In the order of the report. */
  results: TestResult[];
  coverage: PlainCoverage | null;
  /** Key of the archive that it came from, `null` when it came from none. */
  key: string | null;
}

/** An upload that was taken, under the id and key that the service gave it. */
export interface PlainSubmission extends PlainUpload {
  /** 24 lower-case hex digits. */
  id: string;
  key: string;
}

export interface PlainQuarantine {
  repository: number;
  testId: string;
  at: number;
  by: string | null;
  type: "manual" | "automatic";
}

export interface KnownTest extends TestIdentity {
  repository: number;
  id: string;
}

/** Everything that one organization holds. */
export interface State {
  organization: string;
  repositories: PlainRepository[];
  submissions: PlainSubmission[];
  /** In the order of upload. */
  coverage: {
    repository: number;
    recordedAt: number;
    submissionId: string;
    report: PlainCoverage;
  }[];
  quarantines: PlainQuarantine[];
  /** The first is always valid. */
  tokens: PlainToken[];
  /** Tests of reports that are there, and quarantined ones whose reports are gone. */
  tests: KnownTest[];
}

/** An organization that holds nothing. */
export function emptyState(organization: string): State {
  return {
    organization,
    repositories: [],
    submissions: [],
    coverage: [],
    quarantines: [],
    tokens: [{ expiresAt: null, isRevoked: false }],
    tests: [],
  };
}

/** Adds a repository that holds nothing, or puts it in the place of one that was deleted. */
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
  state.repositories[index] = { ...repository, idPrefix, isThere: true };
}

/** Forgets a repository with all that belongs to it. */
export function deleteRepository(state: State, index: number): void {
  repositoryAt(state, index).isThere = false;
  const isOther = ({ repository }: { repository: number }) => repository !== index;
  state.submissions = state.submissions.filter(isOther);
  state.coverage = state.coverage.filter(isOther);
  state.quarantines = state.quarantines.filter(isOther);
  state.tests = state.tests.filter(isOther);
}

/** The repository that a path's owner and name lead to, as its index, -1 when there is none. */
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
  if (!repository) throw new RangeError(`${index} is no repository of this history`);
  return repository;
}

/** The public id of a test of a repository. */
export function idOfTest(state: State, repository: number, test: TestIdentity): string {
  return testId(repositoryAt(state, repository).idPrefix, testHash(test));
}

/**
 * The submission that an upload repeats: the same archive, or the same report with the same commit
 * and the same build URL, also when both have none.
 */
export function repeatedBy(state: State, upload: PlainUpload): PlainSubmission | undefined {
  const own = state.submissions.filter(({ repository }) => repository === upload.repository);
  const archived = own.find((submission) => submission.key === upload.key);
  return archived ?? own.find((submission) =>
    submission.commit === upload.commit &&
    submission.buildUrl === upload.buildUrl &&
    JSON.stringify(submission.results) === JSON.stringify(upload.results)
  );
}

/** True when both are the same test, within one repository. */
export function isSameTest(a: TestIdentity, b: TestIdentity): boolean {
  return a.suite === b.suite && a.class === b.class && a.name === b.name && a.file === b.file;
}

/** Takes an upload in, under the id and key that the service gave it, unless it repeats another. */
export function addUpload(state: State, upload: PlainUpload, given: { id: string; key: string }) {
  const repeated = repeatedBy(state, upload);
  const submission = repeated ?? { ...upload, ...given };
  if (!repeated) state.submissions.push(submission);
  if (upload.coverage && upload.coverage.lineCount > 0) {
    state.coverage = state.coverage.filter((other) =>
      other.repository !== upload.repository || other.submissionId !== submission.id
    );
    const { repository, recordedAt, id } = submission;
    state.coverage.push({ repository, recordedAt, submissionId: id, report: upload.coverage });
  }
  for (const { suite, class: className, name, file } of upload.results) {
    const test = { suite, class: className, name, file };
    const id = idOfTest(state, upload.repository, test);
    if (state.tests.some((known) => known.id === id)) continue;
    state.tests.push({ ...test, repository: upload.repository, id });
  }
}

/**
 * Forgets a submission and what came with it, as if it had never been uploaded. Tests that nothing
 * else ran are forgotten too, unless they are quarantined.
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

/** Puts a test aside; the first quarantine stays. */
export function addQuarantine(state: State, quarantine: PlainQuarantine): void {
  if (state.quarantines.some((other) => other.testId === quarantine.testId)) return;
  state.quarantines.push(quarantine);
}

/** Takes a test out of quarantine. */
export function removeQuarantine(state: State, testId: string): void {
  state.quarantines = state.quarantines.filter((quarantine) => quarantine.testId !== testId);
}
