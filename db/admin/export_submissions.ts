// Tests: tests/lib/cli/commands/export_test.ts
/** Reads the submissions of a repository and their results as records of an export. */
import { type StoredFailure, testAttempts } from "../../lib/analysis/attempts.ts";
import { splitFingerprints } from "../../lib/analysis/failure_groups.ts";
import type { FailureText } from "../../lib/analysis/failure_texts.ts";
import type { Run } from "../../lib/analysis/run.ts";
import { Failure } from "../../lib/base/failure.ts";
import type { ExportRecord } from "../../lib/export/records.ts";
import { idsIn, type Queryable, rangesIn } from "../connection/sql.ts";
import { loadRuns } from "../read/runs.ts";
import { loadTexts } from "../read/texts.ts";

const SUBMISSIONS_PER_BATCH = 200;
/** Results of the submissions that are loaded at once. */
const RESULTS_PER_STATEMENT = 50_000;
/** Each may have a text of 16 Ki characters. */
const RESULTS_PER_BATCH = 1_000;

interface ExportedFailure extends StoredFailure {
  /** Hex, one after the other; `null` without any. */
  otherFingerprints: string | null;
}

/** A submission that is processed. */
interface ExportedRun extends Run<"results" | "durations"> {
  failures: ReadonlyMap<number, ExportedFailure[]>;
  tags: ReadonlyMap<number, string[]>;
}

interface LoadedSubmission {
  record: ExportRecord<"submission">;
  /** `null` unless it is processed. */
  run: ExportedRun | null;
}

type SubmissionRecord = Omit<ExportRecord<"submission">, "type" | "repository_id">;

interface StoredSubmission
  extends Omit<SubmissionRecord, "ambiguous_tests" | "overheads" | "evidence"> {
  /** `null` for none. */
  ambiguousTestNos: number[] | null;
}

/** The submissions up to a data version, by id; `testIds`: the test ids of the repository, by test_no. */
export async function* loadSubmissions(
  sql: Queryable,
  { repositoryId, repositoryNumber, dataVersion, testIds }: {
    repositoryId: number;
    repositoryNumber: number;
    dataVersion: number;
    testIds: readonly string[];
  },
): AsyncGenerator<LoadedSubmission[]> {
  for (let after = "";;) {
    const records = await sql<StoredSubmission[]>`
      select encode(submission_id, 'hex') as id, status, key,
        extract(epoch from recorded_at)::float8 as recorded_at,
        extract(epoch from uploaded_at)::float8 as uploaded_at,
        commit_oid, tree_oid, branch, nullif(environment, '') as environment,
        nullif(job, '') as job, nullif(workflow, '') as workflow, nullif(shard, '') as shard,
        nullif(attempt, '') as attempt, nullif(runner, '') as runner, pull_number::float8 as pull_number,
        nullif(pull_title, '') as pull_title, nullif(author, '') as author,
        nullif(queue_base, '') as queue_base, nullif(build_url, '') as build_url,
        array_to_json(nullif(tags, '{}')) as tags, encode(upload_digest, 'hex') as upload_digest,
        test_result_count, array_to_json(nullif(notes, '{}')) as notes,
        array_to_json(nullif(ambiguous_test_nos, '{}')) as "ambiguousTestNos",
        nullif(is_outage, false) as is_outage, exit_code,
        cut_off_report_count, unlisted_suite_count, outside_failure_count, empty_report_count
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
      const runs = await loadExportedRuns(sql, repositoryId, ids);
      const evidence = await loadEvidence(sql, { repositoryId, submissionIds: ids, testIds });
      yield group.flatMap(({ ambiguousTestNos, ...record }) => {
        const run = runs.get(record.id) ?? null;
        const overheads = run?.durations.overheads() ?? [];
        // Deleted after its row was read.
        if (record.status === "processed" && run === null) return [];
        return {
          record: {
            type: "submission",
            repository_id: repositoryNumber,
            ...record,
            ambiguous_tests: ambiguousTestNos?.map((testNo) => testIds[testNo]!) ?? null,
            overheads: overheads.length === 0 ? null : overheads.map(
              ({ testNo, microseconds, isOneClass }) => ({
                test_id: testIds[testNo]!,
                overhead_us: microseconds,
                is_one_class: isOneClass,
              }),
            ),
            evidence: evidence.get(record.id) ?? null,
          },
          run,
        };
      });
    }
    if (records.length < SUBMISSIONS_PER_BATCH) return;
    after = records.at(-1)!.id;
  }
}

/** The evidence for the failures of submissions. */
async function loadEvidence(
  sql: Queryable,
  { repositoryId, submissionIds, testIds }: {
    repositoryId: number;
    submissionIds: readonly string[];
    testIds: readonly string[];
  },
): Promise<Map<string, NonNullable<SubmissionRecord["evidence"]>>> {
  type Evidence = NonNullable<SubmissionRecord["evidence"]>[number];
  const rows = await sql<
    (Omit<Evidence, "test_id" | "share"> & { id: string; testNo: number } & {
      notTheChange: number | null;
      of: number;
      from: "repository";
    })[]
  >`
    select encode(submission_id, 'hex') as id, test_no as "testNo", evidence, is_on_base,
      encode(rests_on, 'hex') as rests_on, base_run_count, base_failed_count,
      share_not_the_change as "notTheChange", share_of as "of", share_from as "from",
      is_known_on_base, is_repeat, truth
    from failure_evidence
    where repository_id = ${repositoryId} and submission_id = any(${idsIn(sql, submissionIds)})
    order by submission_id, test_no`;
  const found = new Map<string, Evidence[]>();
  for (const { id, testNo, notTheChange, of, from, ...row } of rows) {
    const share = notTheChange === null ? null : { not_the_change: notTheChange, of, from };
    const list = found.get(id) ?? [];
    list.push({ ...row, test_id: testIds[testNo]!, share });
    found.set(id, list);
  }
  return found;
}

async function loadExportedRuns(
  sql: Queryable,
  repositoryId: number,
  submissionIds: readonly string[],
): Promise<Map<string, ExportedRun>> {
  if (submissionIds.length === 0) return new Map();
  const ids = () => idsIn(sql, submissionIds);
  // First: what a run has cannot have been deleted before it.
  const tags = await sql<{ id: string; groups: string }[]>`
    select encode(s.submission_id, 'hex') as id, t.tag_groups as groups
    from submission s
    join test_tag_set t
      on t.repository_id = s.repository_id and t.digest = s.test_tag_digest
    where s.repository_id = ${repositoryId} and s.submission_id = any(${ids()})`;
  const runs = await loadRuns(sql, {
    repositoryId,
    columns: ["results", "durations"],
    submissionIds,
  });
  const tagsOf = new Map(tags.map(({ id, groups }) => [id, tagsIn(groups)]));
  const failures = await sql<(ExportedFailure & { id: string; testNo: number })[]>`
    select encode(submission_id, 'hex') as id, test_no as "testNo", result_no as "resultNo",
      conclusion, is_disruption as "isDisruption", encode(text_id, 'hex') as "textId",
      encode(other_fingerprints, 'hex') as "otherFingerprints"
    from negative_result
    where repository_id = ${repositoryId} and submission_id = any(${ids()})
    order by submission_id, result_no`;
  const failuresOf = Map.groupBy(failures, ({ id }) => id);
  return new Map(
    runs.map((run) => {
      const id = run.submissionId;
      const failures = Map.groupBy(failuresOf.get(id) ?? [], ({ testNo }) => testNo);
      return [id, { ...run, failures, tags: tagsOf.get(id) ?? new Map() }];
    }),
  );
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

/** The results of a submission, in batches. @throws {Failure} when some were deleted meanwhile */
export async function* exportResults(
  sql: Queryable,
  { repositoryId, run, testIds }: {
    repositoryId: number;
    run: ExportedRun;
    testIds: readonly string[];
  },
): AsyncGenerator<ExportRecord<"result">[]> {
  let batch: (ExportRecord<"result"> & { textId?: string })[] = [];
  const withTexts = async () => {
    const textIds = batch.flatMap(({ textId }) => textId ?? []);
    const texts = await loadTexts(sql, { repositoryId, textIds });
    return batch.map(({ textId, ...record }) =>
      textId === undefined ? record : { ...record, ...shownText(texts.get(textId)) }
    );
  };
  for (const [testNo, attempts] of run.results.allAttempts(run.durations)) {
    const tags = run.tags.get(testNo) ?? null;
    const own = testAttempts(attempts, run.failures.get(testNo) ?? []);
    for (const { runCount, conclusion, durationMicroseconds, failure } of own) {
      batch.push({
        type: "result",
        submission_id: run.submissionId,
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
