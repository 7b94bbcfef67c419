/**
 * Reads a repository as the records of an export, in short statements: on the embedded database all other
 * requests wait for a transaction, and a large export takes minutes.
 *
 * It is written as of one data version: what uploads change is read in one transaction, later
 * submissions are left out, and tests and lists of tests never change, except for a file that is added.
 */
import { type StoredFailure, testAttempts } from "../../lib/analysis/attempts.ts";
import { attemptsOfTests, decodeTestList, type ResultColumns } from "../../lib/analysis/columns.ts";
import type { DisruptiveTest } from "../../lib/analysis/disruptions.ts";
import { decodeOverheads } from "../../lib/analysis/suite_overheads.ts";
import { splitFingerprints } from "../../lib/analysis/failure_groups.ts";
import type { FailureText } from "../../lib/analysis/failure_texts.ts";
import type { Quarantine } from "../../lib/analysis/quarantine.ts";
import { Failure } from "../../lib/base/failure.ts";
import { testId, type TestIdentity } from "../../lib/base/identity.ts";
import { formatRepositoryName, type RepositoryName } from "../../lib/base/repository_name.ts";
import type { ContentRecord, ExportRecord } from "../../lib/export/records.ts";
import type { Database } from "../connection/connect.ts";
import { idsIn, type Queryable } from "../connection/sql.ts";
import { loadTexts } from "../read/texts.ts";
import { selectRepository, SNAPSHOT } from "../read/fragments.ts";
import { loadDisruptiveTests } from "../write/disruptions.ts";

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
const SUBMISSIONS_PER_BATCH = 200;
const ARCHIVES_PER_BATCH = 1_000;
/** Of the submissions whose results are loaded at once. */
const RESULTS_PER_STATEMENT = 50_000;
/** Each may have a text of 16 Ki characters. */
const RESULTS_PER_BATCH = 1_000;

/** Its tests, submissions with their results, and coverage. @throws {Failure} when some are deleted */
export async function* exportRepository(
  sql: Database["sql"],
  repository: ExportedRepository,
): Batches {
  const { repositoryId, repositoryNumber } = repository;
  const state = await sql.begin(SNAPSHOT, (tx) => loadState(tx, repository));
  const ids: string[] = [];
  for await (const tests of exportTests(sql, repository, state)) {
    for (const { testNo, record } of tests) ids[testNo] = record.id;
    yield tests.map(({ record }) => record);
  }
  let processedCount = 0;
  for await (const submissions of loadSubmissions(sql, repository, state, ids)) {
    const texts = { sql, repositoryId };
    for (const { record, results } of submissions) {
      yield [record];
      if (!results) continue;
      processedCount++;
      yield* exportResults(texts, { id: record.id, results, testIds: ids });
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
  const [version] = await selectRepository(tx, repositoryId);
  if (!version) throw deletedMeanwhile(repository);
  const [counts] = await tx<{ testCount: number; processedCount: number }[]>`
    select next_test_no as "testCount", (
      select count(*)::int from submission s
      where s.repository_id = ${repositoryId} and s.status = 'processed') as "processedCount"
    from repository_state where repository_id = ${repositoryId}`;
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
    ...version,
    ...counts!,
    coverage,
    disruptive: await loadDisruptiveTests(tx, { repositoryId }),
    tags: tags.map(({ tag, tests }) => ({ tag, ranges: rangesIn(tests), next: 0 })),
  };
}

interface Range {
  first: number;
  end: number;
}

/** The ranges of an `int4multirange`. */
function rangesIn(text: string): Range[] {
  return [...text.matchAll(/(\d+),(\d+)/g)].map(([, first, end]) => ({
    first: Number(first),
    end: Number(end),
  }));
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
  };
}

interface ExportedFailure extends StoredFailure {
  /** Hex, one after the other; `null` without any. */
  otherFingerprints: string | null;
}

/** The results of a submission as they are stored. */
interface StoredResults extends ResultColumns {
  testNos: Int32Array;
  failures: ReadonlyMap<number, ExportedFailure[]>;
  tags: ReadonlyMap<number, string[]>;
}

interface LoadedSubmission {
  record: ExportRecord<"submission">;
  /** `null` unless it is processed. */
  results: StoredResults | null;
}

type SubmissionRecord = Omit<ExportRecord<"submission">, "type" | "repository_id">;

interface StoredSubmission extends Omit<SubmissionRecord, "ambiguous_tests" | "overheads"> {
  /** `null` for none. */
  ambiguousTestNos: number[] | null;
  overheads: Uint8Array;
}

/** The submissions up to the data version, by id. */
async function* loadSubmissions(
  sql: Queryable,
  { repositoryId, repositoryNumber }: ExportedRepository,
  { dataVersion }: State,
  testIds: readonly string[],
): AsyncGenerator<LoadedSubmission[]> {
  for (let after = "";;) {
    const records = await sql<StoredSubmission[]>`
      select encode(submission_id, 'hex') as id, status, key,
        extract(epoch from recorded_at)::float8 as recorded_at,
        extract(epoch from uploaded_at)::float8 as uploaded_at,
        commit_oid, tree_oid, branch, nullif(environment, '') as environment,
        nullif(job, '') as job, nullif(shard, '') as shard, nullif(build_url, '') as build_url,
        array_to_json(nullif(tags, '{}')) as tags, encode(upload_digest, 'hex') as upload_digest,
        test_result_count, array_to_json(nullif(notes, '{}')) as notes,
        array_to_json(nullif(ambiguous_test_nos, '{}')) as "ambiguousTestNos",
        overheads
      from submission
      where repository_id = ${repositoryId} and submission_id > decode(${after}, 'hex')
        and data_version <= ${dataVersion}
      order by submission_id
      limit ${SUBMISSIONS_PER_BATCH}`;
    for (let start = 0, end = 0; start < records.length; start = end) {
      // At least one, however many results it has.
      for (let results = 0; end < records.length; end++) {
        results += records[end]!.test_result_count;
        if (end > start && results > RESULTS_PER_STATEMENT) break;
      }
      const group = records.slice(start, end);
      const ids = group.filter(({ status }) => status === "processed").map(({ id }) => id);
      const results = await loadResults(sql, repositoryId, ids);
      yield group.flatMap(({ ambiguousTestNos, overheads, ...record }) => {
        const own = results.get(record.id) ?? null;
        // Deleted after its row was read.
        if (record.status === "processed" && own === null) return [];
        return {
          record: {
            type: "submission",
            repository_id: repositoryNumber,
            ...record,
            ambiguous_tests: ambiguousTestNos?.map((testNo) => testIds[testNo]!) ?? null,
            overheads: overheads.length === 0 ? null : decodeOverheads(overheads).map(
              ({ testNo, microseconds, isOneClass }) => ({
                test_id: testIds[testNo]!,
                overhead_us: microseconds,
                is_one_class: isOneClass,
              }),
            ),
          },
          results: own,
        };
      });
    }
    if (records.length < SUBMISSIONS_PER_BATCH) return;
    after = records.at(-1)!.id;
  }
}

async function loadResults(
  sql: Queryable,
  repositoryId: number,
  submissionIds: readonly string[],
): Promise<Map<string, StoredResults>> {
  if (submissionIds.length === 0) return new Map();
  const ids = () => idsIn(sql, submissionIds);
  const rows = await sql<(ResultColumns & { id: string; testListNo: number; tags: string })[]>`
    select encode(s.submission_id, 'hex') as id, s.durations, s.duration_unit as "durationUnit",
      s.exceptions, s.test_list_no as "testListNo", coalesce(t.tag_groups, '[]') as tags
    from submission s
    left join test_tag_set t
      on t.repository_id = s.repository_id and t.digest = s.test_tag_digest
    where s.repository_id = ${repositoryId} and s.submission_id = any(${ids()})`;
  const lists = await sql<{ testListNo: number; testCount: number; tests: Uint8Array }[]>`
    select test_list_no as "testListNo", test_count as "testCount", tests from test_list
    where repository_id = ${repositoryId} and test_list_no in (
      select s.test_list_no from submission s
      where s.repository_id = ${repositoryId} and s.submission_id = any(${ids()}))`;
  const testNos = new Map(
    lists.map((list) => [list.testListNo, decodeTestList(list.tests, list.testCount)]),
  );
  const failures = await sql<(ExportedFailure & { id: string; testNo: number })[]>`
    select encode(submission_id, 'hex') as id, test_no as "testNo", result_no as "resultNo",
      conclusion, is_disruption as "isDisruption", encode(text_id, 'hex') as "textId",
      encode(other_fingerprints, 'hex') as "otherFingerprints"
    from negative_result
    where repository_id = ${repositoryId} and submission_id = any(${ids()})
    order by submission_id, result_no`;
  const failuresOf = Map.groupBy(failures, ({ id }) => id);
  const found = new Map<string, StoredResults>();
  for (const { id, testListNo, tags, ...columns } of rows) {
    const listed = testNos.get(testListNo);
    if (!listed) continue;
    const own = Map.groupBy(failuresOf.get(id) ?? [], ({ testNo }) => testNo);
    found.set(id, { ...columns, testNos: listed, failures: own, tags: tagsIn(tags) });
  }
  return found;
}

/** The tags of each test in the groups of a `test_tag_set`. */
function tagsIn(json: string): Map<number, string[]> {
  const groups: { tags: string[]; tests: string }[] = JSON.parse(json);
  const found = new Map<number, string[]>();
  for (const { tags, tests } of groups) {
    for (const { first, end } of rangesIn(tests)) {
      for (let testNo = first; testNo < end; testNo++) found.set(testNo, tags);
    }
  }
  return found;
}

async function* exportResults(
  { sql, repositoryId }: { sql: Queryable; repositoryId: number },
  { id, results, testIds }: { id: string; results: StoredResults; testIds: readonly string[] },
): Batches {
  let batch: (ExportRecord<"result"> & { textId?: string })[] = [];
  const withTexts = async () => {
    const textIds = batch.flatMap(({ textId }) => textId ?? []);
    const texts = await loadTexts(sql, { repositoryId, textIds });
    return batch.map(({ textId, ...record }) =>
      textId === undefined ? record : { ...record, ...shownText(texts.get(textId)) }
    );
  };
  let index = 0;
  for (const attempts of attemptsOfTests(results)) {
    const testNo = results.testNos[index++]!;
    const tags = results.tags.get(testNo) ?? null;
    const own = testAttempts(attempts, results.failures.get(testNo) ?? []);
    for (const { runCount, conclusion, durationMicroseconds, failure } of own) {
      batch.push({
        type: "result",
        submission_id: id,
        test_id: testIds[testNo]!,
        conclusion,
        duration_us: durationMicroseconds,
        attempt: runCount === 1 ? null : runCount,
        result_no: failure?.resultNo ?? null,
        message: null,
        body: null,
        is_disruption: failure?.isDisruption || null,
        other_fingerprints: failure?.otherFingerprints
          ? splitFingerprints(failure.otherFingerprints)
          : null,
        tags,
        ...failure && { textId: failure.textId },
      });
    }
    if (batch.length < RESULTS_PER_BATCH) continue;
    yield await withTexts();
    batch = [];
  }
  yield await withTexts();
}

function shownText(text: FailureText | undefined) {
  if (!text) throw new Failure("failures were deleted during the export: repeat it");
  return { message: text.message || null, body: text.body || null };
}

/** Those that are processed: others belong to a watcher of this database. */
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
