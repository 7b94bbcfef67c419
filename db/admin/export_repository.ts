// Tests: tests/lib/cli/commands/export_test.ts
/**
 * Reads a repository as the records of an export, in short statements: on the embedded database all other
 * requests wait for a transaction, and a large export takes minutes.
 *
 * It is written as of one data version: what uploads change is read in one transaction, later
 * submissions are left out, and tests and lists of tests never change, except for a file that is added.
 */
import type { DisruptiveTest } from "../../lib/analysis/disruptions.ts";
import type { Quarantine } from "../../lib/analysis/quarantine.ts";
import { Failure } from "../../lib/base/failure.ts";
import { testId, type TestIdentity } from "../../lib/base/identity.ts";
import { formatRepositoryName, type RepositoryName } from "../../lib/base/repository_name.ts";
import type { ContentRecord, ExportRecord } from "../../lib/export/records.ts";
import type { Database } from "../connection/connect.ts";
import { type Queryable, type Range, rangesIn } from "../connection/sql.ts";
import { readSnapshot } from "../read/snapshot.ts";
import { loadDisruptiveTests } from "../write/disruptive_tests.ts";
import { exportResults, loadSubmissions } from "./export_submissions.ts";

/** A repository to be read. */
export interface ExportedRepository extends RepositoryName {
  repositoryId: number;
  repositoryNumber: number;
  idPrefix: number;
  /** Its quarantine entries, by test_no. */
  quarantines: ReadonlyMap<number, Quarantine>;
}

type Batches = AsyncGenerator<ContentRecord[]>;

const TESTS_PER_BATCH = 2_000;
const ARCHIVES_PER_BATCH = 1_000;

/** Its tests, submissions with their results, and coverage. @throws {Failure} when some are deleted */
export async function* exportRepository(
  sql: Database["sql"],
  repository: ExportedRepository,
): Batches {
  const { repositoryId, repositoryNumber } = repository;
  const state = await readSnapshot(sql, (tx) => loadState(tx, repository));
  const ids: string[] = [];
  for await (const tests of exportTests(sql, repository, state)) {
    for (const { testNo, record } of tests) ids[testNo] = record.id;
    yield tests.map(({ record }) => record);
  }
  let processedCount = 0;
  const { dataVersion } = state;
  const wanted = { repositoryId, repositoryNumber, dataVersion, testIds: ids };
  for await (const submissions of loadSubmissions(sql, wanted)) {
    for (const { record, run } of submissions) {
      yield [record];
      if (!run) continue;
      processedCount++;
      yield* exportResults(sql, { repositoryId, run, testIds: ids });
    }
  }
  // Others may be processed meanwhile, with a later data version.
  if (processedCount < state.processedCount) throw deletedMeanwhile(repository);
  yield state.coverage.map((row) => ({
    type: "coverage",
    repository_id: repositoryNumber,
    ...row,
  }));
  yield* exportArchives(sql, repository);
}

function deletedMeanwhile(repository: RepositoryName): Failure {
  return new Failure(
    `results of "${formatRepositoryName(repository)}" were deleted during the export, which is ` +
      "incomplete: repeat it while nothing is deleted or pruned",
  );
}

type State = Awaited<ReturnType<typeof loadState>>;

/** What uploads change, at one data version. */
async function loadState(tx: Queryable, repository: ExportedRepository) {
  const { repositoryId } = repository;
  const [counts] = await tx<{ dataVersion: number; testCount: number; processedCount: number }[]>`
    select data_version::float8 as "dataVersion", next_test_no as "testCount", (
      select count(*)::int from submission s
      where s.repository_id = ${repositoryId} and s.status = 'processed') as "processedCount"
    from repository_state where repository_id = ${repositoryId}`;
  if (!counts) throw deletedMeanwhile(repository);
  const coverage = await tx<Omit<ExportRecord<"coverage">, "type" | "repository_id">[]>`
    select encode(submission_id, 'hex') as submission_id,
      extract(epoch from recorded_at)::float8 as recorded_at,
      covered_line_count::float8 as covered_line_count, line_count::float8 as line_count
    from coverage_report where repository_id = ${repositoryId}
    order by coverage_report_id`;
  const tags = await tx<{ tag: string; tests: string }[]>`
    select tag, tests::text as tests from test_tag where repository_id = ${repositoryId}
    order by tag collate "C"`;
  return {
    ...counts,
    coverage,
    disruptive: await loadDisruptiveTests(tx, { repositoryId }),
    tags: tags.map(({ tag, tests }) => ({ tag, ranges: rangesIn(tests), next: 0 })),
  };
}

async function* exportTests(
  sql: Queryable,
  repository: ExportedRepository,
  state: State,
): AsyncGenerator<{ testNo: number; record: ExportRecord<"test"> }[]> {
  const { repositoryId, repositoryNumber: repository_id, idPrefix, quarantines } = repository;
  for (let first = 0; first < state.testCount; first += TESTS_PER_BATCH) {
    const end = Math.min(first + TESTS_PER_BATCH, state.testCount);
    const tests = await sql<(TestIdentity & { testNo: number; testHash: number })[]>`
      select test_no as "testNo", test_hash::float8 as "testHash", suite, class, name, file
      from test t
      where repository_id = ${repositoryId} and test_no >= ${first} and test_no < ${end}
      order by test_no`;
    const tags = tagsBetween(state, { first, end });
    yield tests.map(({ testNo, testHash, ...identity }) => ({
      testNo,
      record: {
        type: "test",
        repository_id,
        id: testId(idPrefix, testHash),
        ...identity,
        tags: tags.get(testNo) ?? null,
        disruptions: disruptionsRecord(state.disruptive.get(testNo)),
        quarantine: quarantineRecord(quarantines.get(testNo)),
      },
    }));
  }
}

/** The tags of the tests of a range, which comes after all earlier ranges. */
function tagsBetween({ tags }: State, { first, end }: Range): Map<number, string[]> {
  const found = new Map<number, string[]>();
  for (const each of tags) {
    for (; each.next < each.ranges.length; each.next++) {
      const range = each.ranges[each.next]!;
      const last = Math.min(range.end, end);
      for (let testNo = Math.max(range.first, first); testNo < last; testNo++) {
        found.set(testNo, [...found.get(testNo) ?? [], each.tag]);
      }
      if (range.end > end) break;
    }
  }
  return found;
}

function disruptionsRecord(
  test: DisruptiveTest | undefined,
): ExportRecord<"test">["disruptions"] {
  return test === undefined ? null : {
    first_recorded_at: test.firstDisruptionAt,
    latest: {
      submission_id: test.latestSubmissionId,
      result_no: test.latestResultNo,
      commit_oid: test.latestCommitOid,
      build_url: test.latestBuildUrl,
      message: test.latestMessage,
    },
    latest_positive: {
      submission_id: test.positiveSubmissionId,
      build_url: test.positiveBuildUrl,
    },
  };
}

function quarantineRecord(entry: Quarantine | undefined): ExportRecord<"test">["quarantine"] {
  return entry === undefined ? null : {
    quarantined_at: entry.quarantinedAt,
    quarantined_by: entry.quarantinedBy,
    quarantine_type: entry.quarantineType,
    reason: entry.quarantineReason,
    owner: entry.quarantineOwner,
    expires_at: entry.quarantineExpiresAt,
    environment: entry.quarantineEnvironment,
  };
}

/** The processed archives: others belong to a watcher of this database. */
async function* exportArchives(
  sql: Queryable,
  { repositoryId, repositoryNumber }: ExportedRepository,
): Batches {
  type Row = Omit<ExportRecord<"archive">, "type" | "repository_id">;
  for (let after = { source: "", key: "" };;) {
    const rows = await sql<Row[]>`
      select source, key, version, status, submission_key, attempt_count,
        nullif(reason, '') as reason, extract(epoch from found_at)::float8 as found_at,
        extract(epoch from finished_at)::float8 as finished_at
      from archive
      where repository_id = ${repositoryId} and status <> 'processing'
        and (source, key) > (${after.source}, ${after.key})
      order by source, key
      limit ${ARCHIVES_PER_BATCH}`;
    yield rows.map((row) => ({ type: "archive", repository_id: repositoryNumber, ...row }));
    if (rows.length < ARCHIVES_PER_BATCH) return;
    after = rows.at(-1)!;
  }
}
