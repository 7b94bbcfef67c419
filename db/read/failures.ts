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
import { firstSubmissionId, testId } from "../../lib/base/identity.ts";
import type { SubmissionFilter } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { loadTexts } from "./texts.ts";
import { isRecordedSince } from "./fragments.ts";
import { loadTestHashes, viewOf } from "./packed_rows.ts";
import { loadRuns } from "./runs.ts";

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
  const { repositoryId, idPrefix } = query;
  const { windowStart: since, filter } = query;
  const [runs, rows] = await Promise.all([
    loadRuns(tx, {
      repositoryId,
      columns: ["branch", "buildUrl"],
      since,
      filter,
      order: "oldest first",
    }),
    selectFailures(tx, query),
  ]);
  const hashes = await loadTestHashes(tx, { repositoryId, testNos: testNosOf(rows) });
  const testIds = Array.from(hashes.values(), (hash) => testId(idPrefix, hash));
  const indexes = new Map(Array.from(hashes.keys(), (testNo, index) => [testNo, index]));
  const found = { runs, indexes, testIds };
  const attempts = readFailures(rows, found);
  // Failures of several tests have a cause in common only if it is known.
  const { count, groups } = groupFailures(
    query.testNo === null ? withKnownCause(attempts) : attempts,
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

interface FailuresRow {
  submissionId: string;
  /** Each has a fingerprint, test_no, and result_no, inverted for a disruption. */
  failures: Uint8Array;
}

const FAILURE_BYTES = 16;
const FINGERPRINT_BYTES = 8;

function testNosOf(rows: readonly FailuresRow[]): Set<number> {
  const testNos = new Set<number>();
  for (const { failures } of rows) {
    const view = viewOf(failures);
    for (let at = FINGERPRINT_BYTES; at < failures.length; at += FAILURE_BYTES) {
      testNos.add(view.getInt32(at));
    }
  }
  return testNos;
}

/** The failures of a repository in the window. */
export async function loadFailureRows(
  sql: Queryable,
  { repositoryId, windowStart }: Pick<FailuresQuery, "repositoryId" | "windowStart">,
): Promise<{ submissionId: string; testNo: number; fingerprint: string }[]> {
  const rows = await selectFailures(sql, { repositoryId, windowStart, testNo: null });
  return rows.flatMap(({ submissionId, failures }) => {
    const digits = failures.toHex();
    const view = viewOf(failures);
    return Array.from({ length: failures.length / FAILURE_BYTES }, (_, index) => {
      const start = index * FAILURE_BYTES;
      const end = start + FINGERPRINT_BYTES;
      const fingerprint = digits.slice(2 * start, 2 * end);
      return { submissionId, testNo: view.getInt32(end), fingerprint };
    });
  });
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
  for (const { submissionId, failures } of rows) {
    const build = builds.get(submissionId);
    if (build === undefined) continue;
    const view = viewOf(failures);
    for (let at = FINGERPRINT_BYTES; at < failures.length; at += FAILURE_BYTES) {
      const testId = testIds[indexes.get(view.getInt32(at))!]!;
      yield { testId, build, isDisruption: view.getInt32(at + 4) < 0 };
    }
  }
}

/** The failures in the rows of submissions that count. */
function* readFailures(
  rows: readonly FailuresRow[],
  { runs, indexes }: FoundTests,
): Generator<Failure, void> {
  const counted = new Map(runs.map((run, index) => [run.submissionId, { ...run, index }]));
  for (const { submissionId, failures } of rows) {
    const run = counted.get(submissionId);
    if (!run) continue;
    const { recordedAt, index } = run;
    const branch = run.branch ?? "";
    const digits = failures.toHex();
    const view = viewOf(failures);
    for (let start = 0; start < failures.length; start += FAILURE_BYTES) {
      const end = start + FINGERPRINT_BYTES;
      const testNo = view.getInt32(end);
      const place = view.getInt32(end + 4);
      const isDisruption = place < 0;
      const resultNo = isDisruption ? ~place : place;
      const test = indexes.get(testNo)!;
      yield {
        fingerprint: digits.slice(2 * start, 2 * end),
        testNo,
        test,
        isDisruption,
        branch,
        recordedAt,
        position: index * MAX_RESULTS + resultNo,
        submissionId,
        resultNo,
      };
    }
  }
}

function selectFailures(
  sql: Queryable,
  { repositoryId, testNo, windowStart }: Pick<
    FailuresQuery,
    "repositoryId" | "testNo" | "windowStart"
  >,
) {
  const firstId = firstSubmissionId(windowStart);
  const isWanted = testNo === null
    ? sql`n.submission_id >= decode(${firstId}, 'hex')`
    : sql`n.test_no = ${testNo} and ${isRecordedSince(sql, firstId)}`;
  return sql<FailuresRow[]>`
    select encode(n.submission_id, 'hex') as "submissionId",
      string_agg(n.fingerprint || int4send(n.test_no)
        || int4send(n.result_no # -n.is_disruption::int), '') as failures
    from negative_result n
    where n.repository_id = ${repositoryId} and ${isWanted}
    group by n.submission_id`;
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
