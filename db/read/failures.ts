// Tests: tests/routes/failures_test.ts
import {
  type FailedAttempt,
  type FailureGroup,
  groupFailures,
  UNKNOWN_CAUSE,
} from "../../lib/analysis/failure_groups.ts";
import type { FailureText } from "../../lib/analysis/failure_texts.ts";
import { buildKey, type FailureInBuild } from "../../lib/analysis/build_costs.ts";
import type { Run } from "../../lib/analysis/run.ts";
import { testId } from "../../lib/base/identity.ts";
import type { SubmissionFilter } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { failuresIn, type FailuresRow, selectFailures } from "./failure_rows.ts";
import { loadTestHashes } from "./packed_rows.ts";
import { loadRuns } from "./runs.ts";
import { loadTexts } from "./texts.ts";

/** Failures of one cause, with fields of the latest one. */
export interface ShownGroup extends Omit<FailureGroup<FailedAttempt>, "latest">, FailureText {
  /** Submission of the latest one, as the two fields below. */
  submissionId: string;
  latestBuildUrl: string;
  latestCommitOid: string;
}

interface FailuresQuery {
  repositoryId: number;
  idPrefix: number;
  /** `null` for all tests of the repository. */
  testNo: number | null;
  windowStart: number;
  filter: SubmissionFilter;
}

/** The largest groups, the count of all, and every failure of them. */
export interface ShownGroups {
  count: number;
  groups: ShownGroup[];
  failures: Iterable<FailureInBuild>;
}

/** The failures of the window, and the runs of it that count. */
export interface FailuresInRuns {
  /** Oldest first. */
  runs: readonly Run<"branch" | "buildUrl">[];
  rows: readonly FailuresRow[];
}

/** Failures of a test, with the runs of its window; rows may be of submissions that are not among the runs. */
export async function loadFailuresInRuns(
  tx: Queryable,
  { repositoryId, testNo, windowStart, filter }: Omit<FailuresQuery, "idPrefix">,
): Promise<FailuresInRuns> {
  const [runs, rows] = await Promise.all([
    loadRuns(tx, {
      repositoryId,
      columns: ["branch", "buildUrl"],
      since: windowStart,
      filter,
      order: "oldest first",
    }),
    selectFailures(tx, { repositoryIds: [repositoryId], testNo, windowStart }),
  ]);
  return { runs, rows };
}

/**
 * The failures of the window, grouped by cause.
 *
 * A repository may have a hundred thousand: the failures of a submission are one row, and only the texts
 * of the groups that are shown are read.
 */
export async function loadFailures(
  tx: Queryable,
  query: FailuresQuery,
): Promise<ShownGroups> {
  return await loadCausesOfFailures(tx, { ...query, found: await loadFailuresInRuns(tx, query) });
}

/** {@linkcode loadFailures}, of failures that are loaded already. */
export async function loadCausesOfFailures(
  tx: Queryable,
  { repositoryId, idPrefix, testNo, found: { runs, rows } }:
    & Pick<FailuresQuery, "repositoryId" | "idPrefix" | "testNo">
    & { found: FailuresInRuns },
): Promise<ShownGroups> {
  const hashes = await loadTestHashes(tx, { repositoryId, testNos: testNosOf(rows) });
  const testIds = Array.from(hashes.values(), (hash) => testId(idPrefix, hash));
  const indexes = new Map(Array.from(hashes.keys(), (testNo, index) => [testNo, index]));
  const found = { runs, indexes, testIds };
  const attempts = readFailures(rows, found);
  // Failures of several tests have a cause in common only if it is known.
  const { count, groups } = groupFailures(
    testNo === null ? withKnownCause(attempts) : attempts,
    testIds,
  );
  const latest = await selectLatest(tx, repositoryId, groups.map((group) => group.latest));
  const textIds = latest.map(({ textId }) => textId);
  const texts = await loadTexts(tx, { repositoryId, textIds });
  const latestOf = new Map(latest.map((row) => [row.position, row]));
  return {
    count,
    // Created lazily: 50,000 objects at once take as long as everything else.
    failures: { [Symbol.iterator]: () => readBuildFailures(rows, found) },
    groups: groups.map(({ fingerprint, branches, latest, ...group }) => {
      const { textId, position: _position, ...build } = latestOf.get(latest.position)!;
      const { submissionId } = latest;
      const text = texts.get(textId)!;
      return { fingerprint, ...text, ...group, branches, ...build, submissionId };
    }),
  };
}

function* withKnownCause(attempts: Iterable<Failure>): Iterable<Failure> {
  for (const attempt of attempts) if (attempt.fingerprint !== UNKNOWN_CAUSE) yield attempt;
}

interface Failure extends FailedAttempt {
  testNo: number;
  submissionId: string;
  resultNo: number;
}

/** More results than a submission may have. */
const MAX_RESULTS = 2 ** 31;

function testNosOf(rows: readonly FailuresRow[]): Set<number> {
  const testNos = new Set<number>();
  for (const row of rows) {
    for (const { testNo } of failuresIn(row)) testNos.add(testNo);
  }
  return testNos;
}

interface FoundTests {
  runs: readonly Run<"branch" | "buildUrl">[];
  /** Index of each test's id, by test_no. */
  indexes: ReadonlyMap<number, number>;
  testIds: readonly string[];
}

/** The failures in the rows of submissions that count, as far as builds need them: less than half the work. */
function* readBuildFailures(
  rows: readonly FailuresRow[],
  { runs, indexes, testIds }: FoundTests,
): Generator<FailureInBuild, void> {
  const builds = new Map(runs.map((run) => [run.submissionId, buildKey(run)]));
  for (const row of rows) {
    const build = builds.get(row.submissionId);
    if (build === undefined) continue;
    for (const { testNo, isDisruption } of failuresIn(row)) {
      yield { testId: testIds[indexes.get(testNo)!]!, build, isDisruption };
    }
  }
}

/** The failures in the rows of submissions that count, the newest first, one after the other in the same object. */
function* readFailures(
  rows: readonly FailuresRow[],
  { runs, indexes }: FoundTests,
): Generator<Failure, void> {
  const rowsOf = new Map(rows.map((row) => [row.submissionId, row]));
  const one: Failure = {
    fingerprint: "",
    testNo: 0,
    test: 0,
    isDisruption: false,
    branch: "",
    recordedAt: 0,
    position: 0,
    submissionId: "",
    resultNo: 0,
  };
  for (let index = runs.length - 1; index >= 0; index--) {
    const run = runs[index]!;
    const row = rowsOf.get(run.submissionId);
    if (!row) continue;
    one.submissionId = run.submissionId;
    one.recordedAt = run.recordedAt;
    one.branch = run.branch ?? "";
    for (const { testNo, resultNo, isDisruption, fingerprint } of failuresIn(row)) {
      one.fingerprint = fingerprint;
      one.testNo = testNo;
      one.test = indexes.get(testNo)!;
      one.isDisruption = isDisruption;
      one.resultNo = resultNo;
      one.position = index * MAX_RESULTS + resultNo;
      yield one;
    }
  }
}

/** The latest failures of groups, as they are shown. `offset 0` keeps the lookup of each by its key. */
function selectLatest(sql: Queryable, repositoryId: number, failures: readonly Failure[]) {
  type Row = Pick<ShownGroup, "latestBuildUrl" | "latestCommitOid"> & {
    position: number;
    textId: string;
  };
  return sql<Row[]>`
    select k.position, encode(n.text_id, 'hex') as "textId", s.build_url as "latestBuildUrl",
      s.commit_oid as "latestCommitOid"
    from json_to_recordset(${JSON.stringify(failures)}::text::json) as k(position float8,
      "submissionId" text, "isDisruption" boolean, "testNo" int, "resultNo" int)
    cross join lateral (
      select text_id from negative_result
      where repository_id = ${repositoryId} and submission_id = decode(k."submissionId", 'hex')
        and is_disruption = k."isDisruption" and test_no = k."testNo"
        and result_no = k."resultNo"
      offset 0
    ) n
    cross join lateral (
      select build_url, commit_oid from submission
      where repository_id = ${repositoryId} and submission_id = decode(k."submissionId", 'hex')
      offset 0
    ) s`;
}
