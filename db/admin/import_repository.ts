// Tests: tests/lib/cli/commands/import_test.ts
/** Stores the records of one repository of an export, in batches. */
import type { DisruptiveTest } from "../../lib/analysis/disruptions.ts";
import type { QuarantinePolicy } from "../../lib/analysis/quarantine_policy.ts";
import {
  caseKey,
  parseShortTestId,
  recordedAtOf,
  repositoryIdPrefix,
  testHash,
  testIdPrefix,
} from "../../lib/base/identity.ts";
import type { ExportPolicy, ExportRecord } from "../../lib/export/records.ts";
import { SubmissionResults, type TestTitle } from "../../lib/export/submission_results.ts";
import { type Queryable, rangesOf } from "../connection/sql.ts";
import { storeDisruptiveTests } from "../write/disruptive_tests.ts";
import { bumpForAddition, lockRepository, takeNumbers } from "../write/repository_row.ts";
import { storeCoverage, storeSubmission } from "../write/store_submission.ts";
import { insertSubmission, showFailed } from "../write/submission_rows.ts";
import { tagTests } from "../write/test_tags.ts";
import { insertTests } from "../write/tests.ts";
import { insertRepositoryState } from "./repositories.ts";

const TESTS_PER_BATCH = 500;
const COVERAGE_PER_BATCH = 100;
const ARCHIVES_PER_BATCH = 1_000;

interface Batches {
  test: ExportRecord<"test">[];
  coverage: ExportRecord<"coverage">[];
  archive: ExportRecord<"archive">[];
}

/** A repository that is being imported. Records are kept until there are enough, or others follow. */
export class ImportedRepository {
  readonly #tests = new Map<number, TestTitle>();
  readonly #coveredSubmissions = new Set<string>();
  #batches: Batches = { test: [], coverage: [], archive: [] };
  #open: { record: ExportRecord<"submission">; results: SubmissionResults } | undefined;
  #lastSubmissionId = "";
  readonly counts = { testCount: 0, submissionCount: 0, resultCount: 0 };

  private constructor(
    readonly tx: Queryable,
    readonly repositoryId: number,
    /** As it was exported. */
    readonly record: ExportRecord<"repository">,
    /** The first digits of the ids of its tests here. */
    readonly testIdPrefix: string,
  ) {}

  /** Creates it. Another repository may have the first digits of its tests' ids: then it gets others. */
  static async create(
    tx: Queryable,
    organization: { organizationId: number; name: string },
    record: ExportRecord<"repository">,
  ): Promise<ImportedRepository> {
    let prefix = parseInt(record.test_id_prefix, 16);
    for (let attempt = 0;; attempt++) {
      const repositoryId = await insertRepository(tx, organization, record, prefix);
      if (repositoryId !== null) {
        return new ImportedRepository(tx, repositoryId, record, testIdPrefix(prefix));
      }
      const { owner, name } = record;
      prefix = repositoryIdPrefix({ organization: organization.name, owner, name }, attempt);
    }
  }

  /** Adds a record of this repository. @throws {SyntaxError} when it does not fit those before it */
  async add(
    record: ExportRecord<"test" | "submission" | "result" | "coverage" | "archive">,
  ): Promise<void> {
    if (record.type === "result") return this.#addResult(record);
    const { repository_id: expected } = this.record;
    if (record.repository_id !== expected) {
      throw new SyntaxError(`repository_id is ${record.repository_id}, expected ${expected}`);
    }
    switch (record.type) {
      case "test":
        this.#checkTest(record);
        this.#batches.test.push(record);
        if (this.#batches.test.length >= TESTS_PER_BATCH) await this.flush();
        return;
      case "submission":
        this.#checkSubmission(record);
        this.#open = { record, results: new SubmissionResults((hash) => this.#tests.get(hash)) };
        return;
      case "coverage":
        this.#checkCoverage(record);
        this.#batches.coverage.push(record);
        if (this.#batches.coverage.length >= COVERAGE_PER_BATCH) await this.flush();
        return;
      case "archive":
        this.#batches.archive.push(record);
        if (this.#batches.archive.length >= ARCHIVES_PER_BATCH) await this.flush();
    }
  }

  /** Stores what was added. @throws {SyntaxError} when the results of a submission are not complete */
  async flush(): Promise<void> {
    const { test, coverage, archive } = this.#batches;
    const open = this.#open;
    this.#batches = { test: [], coverage: [], archive: [] };
    this.#open = undefined;
    const { tx, repositoryId } = this;
    if (!await lockRepository(tx, repositoryId)) {
      throw new Error("the repository was deleted during the import");
    }
    if (test.length > 0) await this.#storeTests(tx, test);
    if (open) await this.#storeSubmission(open.record, open.results);
    if (coverage.length > 0) await this.#storeCoverage(tx, coverage);
    if (archive.length > 0) await this.#storeArchives(tx, archive);
  }

  #checkTest(record: ExportRecord<"test">): void {
    // A test that reports named without a file first keeps its id.
    const hash = [testHash(record), testHash({ ...record, file: "" })]
      .find((each) => each === parseShortTestId(record.id));
    if (hash === undefined || !this.#isOwn(record.id)) {
      const names = JSON.stringify([record.suite, record.class, record.name, record.file]);
      throw new SyntaxError(
        `id ${record.id} does not belong to suite, class, name and file ${names}`,
      );
    }
    if (this.#tests.has(hash)) throw new SyntaxError(`a second test with the id ${record.id}`);
    this.#tests.set(hash, { class: record.class, name: record.name });
  }

  #isOwn(testId: string): boolean {
    return testId.startsWith(this.record.test_id_prefix);
  }

  async #storeTests(tx: Queryable, records: ExportRecord<"test">[]): Promise<void> {
    const { repositoryId } = this;
    const column = "next_test_no";
    const first = await takeNumbers(tx, { repositoryId, column, count: records.length });
    const tests = records.map((record, index) => ({
      record,
      testNo: first + index,
      testHash: parseShortTestId(record.id)!,
    }));
    const rows = tests.map(({ record: { suite, class: className, name, file }, ...numbers }) => (
      { ...numbers, suite, class: className, name, file }
    ));
    await insertTests(tx, repositoryId, rows);
    await storeDisruptiveTests(tx, {
      repositoryId,
      tests: tests.flatMap(({ testNo, record }) => disruptiveTest(testNo, record) ?? []),
    });
    await insertQuarantines(tx, repositoryId, tests);
    const byTags = Map.groupBy(
      tests.filter(({ record }) => record.tags !== null),
      ({ record }) => JSON.stringify(record.tags),
    );
    const groups = [...byTags.values()].map((own) => (
      { tags: own[0]!.record.tags!, tests: rangesOf(own.map(({ testNo }) => testNo)) }
    ));
    await tagTests(tx, repositoryId, groups);
    this.counts.testCount += records.length;
  }

  #checkSubmission(record: ExportRecord<"submission">): void {
    const { id, status, recorded_at: recordedAt, upload_digest: digest } = record;
    if (recordedAtOf(id) !== recordedAt) {
      throw new SyntaxError(`id ${id} does not begin with the seconds of recorded_at`);
    }
    if (id <= this.#lastSubmissionId) {
      throw new SyntaxError(`id ${id} after ${this.#lastSubmissionId}, expected ascending ids`);
    }
    this.#lastSubmissionId = id;
    const isProcessed = status === "processed";
    if (isProcessed !== (digest !== null)) {
      const found = digest === null ? "without" : "with";
      throw new SyntaxError(`status "${status}" ${found} "upload_digest"`);
    }
    if (!isProcessed && record.test_result_count > 0) {
      throw new SyntaxError(`status "${status}" with results`);
    }
  }

  #addResult(record: ExportRecord<"result">): void {
    const { submission_id: id, test_id: testId } = record;
    const submissionId = this.#open?.record.id;
    if (id !== submissionId) {
      throw new SyntaxError(
        `submission_id is ${id}, expected ${submissionId ?? "a submission before its results"}`,
      );
    }
    if (!this.#isOwn(testId) || !this.#tests.has(parseShortTestId(testId)!)) {
      throw new SyntaxError(`test_id ${testId} belongs to no test of the repository`);
    }
    this.#open!.results.add(record);
  }

  async #storeSubmission(
    record: ExportRecord<"submission">,
    results: SubmissionResults,
  ): Promise<void> {
    const { repositoryId, tx } = this;
    const { id, status, key, upload_digest: digest } = record;
    const { content, testTags } = results.finish(record);
    const facts = {
      repositoryId,
      key,
      recordedAt: record.recorded_at,
      uploadedAt: record.uploaded_at,
      buildUrl: record.build_url ?? "",
      commitOid: record.commit_oid,
      treeOid: record.tree_oid,
      branch: record.branch,
      environment: record.environment ?? "",
      job: record.job ?? "",
      workflow: record.workflow ?? "",
      shard: record.shard ?? "",
      attempt: record.attempt ?? "",
      runner: record.runner ?? "",
      pullNumber: record.pull_number,
      pullTitle: record.pull_title ?? "",
      author: record.author ?? "",
      queueBase: record.queue_base ?? "",
      exitCode: record.exit_code,
      gaps: record.empty_report_count === null ? null : {
        cutOffReportCount: record.cut_off_report_count ?? 0,
        unlistedSuiteCount: record.unlisted_suite_count ?? 0,
        outsideFailureCount: record.outside_failure_count ?? 0,
        emptyReportCount: record.empty_report_count,
      },
      tags: record.tags ?? [],
      notes: record.notes ?? [],
    };
    let isNew = true;
    if (digest !== null) {
      // As an upload: disruptions, tags and all else that results imply are derived again.
      const more = { content, testTags, coverage: null, reportDigest: "" };
      const imported = {
        id,
        digest,
        isOutage: record.is_outage ?? false,
        evidence: (record.evidence ?? []).map(({ test_id, share, ...row }) => ({
          testHash: parseShortTestId(test_id)!,
          evidence: row.evidence,
          isOnBase: row.is_on_base,
          restsOn: row.rests_on,
          baseRunCount: row.base_run_count,
          baseFailedCount: row.base_failed_count,
          shareNotTheChange: share?.not_the_change ?? null,
          shareOf: share?.of ?? null,
          shareFrom: share?.from ?? null,
          isKnownOnBase: row.is_known_on_base,
          isRepeat: row.is_repeat,
          truth: row.truth,
        })),
      };
      const upload = { ...facts, ...more, imported };
      isNew = !(await storeSubmission(tx, upload)).duplicate;
    } else {
      const dataVersion = await bumpForAddition(tx, repositoryId);
      isNew = await insertSubmission(tx, { ...facts, id, dataVersion }, null) !== undefined;
      if (status === "failed") await showFailed(tx, facts);
    }
    if (!isNew) throw new SyntaxError("another submission has its key or upload_digest");
    this.counts.submissionCount++;
    this.counts.resultCount += content.resultCount;
  }

  #checkCoverage(record: ExportRecord<"coverage">): void {
    const { submission_id: id, covered_line_count: covered, line_count: count } = record;
    if (covered > count) throw new SyntaxError(`${covered} covered lines of ${count}`);
    if (id === null) return;
    if (this.#coveredSubmissions.has(id)) {
      throw new SyntaxError(`second coverage of submission ${id}`);
    }
    this.#coveredSubmissions.add(id);
  }

  async #storeCoverage(tx: Queryable, records: ExportRecord<"coverage">[]): Promise<void> {
    await bumpForAddition(tx, this.repositoryId);
    for (const record of records) {
      const { recorded_at: recordedAt, submission_id: submissionId } = record;
      await storeCoverage(tx, { repositoryId: this.repositoryId, recordedAt, submissionId }, {
        coveredLineCount: record.covered_line_count,
        lineCount: record.line_count,
      });
    }
  }

  /** Stores archives; those that this database knows already stay as they are. */
  async #storeArchives(tx: Queryable, records: ExportRecord<"archive">[]): Promise<void> {
    await tx`
      insert into archive (source, key, version, status, attempt_count, reason, repository_id,
        submission_key, found_at, finished_at)
      select source, key, version, status, attempt_count, coalesce(reason, ''),
        ${this.repositoryId}, submission_key, to_timestamp(found_at), to_timestamp(finished_at)
      from json_to_recordset(${JSON.stringify(records)}::text::json) as t(source text, key text,
        version text, status text, attempt_count int, reason text, submission_key text,
        found_at float8, finished_at float8)
      on conflict do nothing`;
  }
}

function disruptiveTest(
  testNo: number,
  { disruptions }: ExportRecord<"test">,
): DisruptiveTest | null {
  if (disruptions === null) return null;
  const { first_recorded_at, latest, latest_positive: positive } = disruptions;
  return {
    testNo,
    firstDisruptionAt: first_recorded_at,
    latestSubmissionId: latest.submission_id,
    latestResultNo: latest.result_no,
    latestCommitOid: latest.commit_oid,
    latestBuildUrl: latest.build_url,
    latestMessage: latest.message,
    positiveSubmissionId: positive.submission_id,
    positiveBuildUrl: positive.build_url,
  };
}

async function insertQuarantines(
  tx: Queryable,
  repositoryId: number,
  tests: readonly { testNo: number; record: ExportRecord<"test"> }[],
): Promise<void> {
  const rows = tests.filter(({ record }) => record.quarantine !== null)
    .map(({ testNo, record }) => ({ test_no: testNo, ...record.quarantine }));
  if (rows.length === 0) return;
  await tx`
    insert into quarantine (repository_id, test_no, quarantined_at, quarantined_by,
      quarantine_type, quarantine_reason, quarantine_owner, quarantine_expires_at,
      quarantine_environment)
    select ${repositoryId}, test_no, to_timestamp(quarantined_at), quarantined_by,
      quarantine_type, reason, owner, to_timestamp(expires_at), environment
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as t(test_no int,
      quarantined_at float8, quarantined_by text, quarantine_type text, reason text, owner text,
      expires_at float8, environment text)`;
}

/** Returns `null` when another repository has the prefix. */
async function insertRepository(
  tx: Queryable,
  { organizationId }: { organizationId: number },
  record: ExportRecord<"repository">,
  idPrefix: number,
): Promise<number | null> {
  const { owner, name } = record;
  const [row] = await tx<{ repositoryId: number }[]>`
    insert into repository (organization_id, repository_number, owner, name, owner_key, name_key,
      url, id_prefix, quarantine_policy, base_branch, default_branch, created_at)
    values (${organizationId}, ${record.repository_id}, ${owner}, ${name}, ${caseKey(owner)}, ${
    caseKey(name)
  },
      ${record.url ?? ""}, ${idPrefix}, ${
    storedPolicy(record.quarantine_policy)
  }::text::jsonb, ${record.base_branch}, ${record.default_branch}, to_timestamp(${record.created_at}))
    on conflict (id_prefix) do nothing
    returning repository_id::float8 as "repositoryId"`;
  if (!row) return null;
  await insertRepositoryState(tx, { ...row, idPrefix });
  return row.repositoryId;
}

/** A policy as JSON: `null` for off; SQL's null for none. */
export function storedPolicy(policy: ExportPolicy): string | null {
  if (policy === null) return null;
  if (policy === "off") return "null";
  const stored: QuarantinePolicy = {
    disruptions: policy.disruptions,
    codeVersions: policy.code_versions,
    minResults: policy.min_results,
    maxTests: policy.max_tests,
    releasePasses: policy.release_passes,
    releaseAfter: policy.release_after_seconds,
    expires: policy.expires_seconds,
  };
  return JSON.stringify(stored);
}
