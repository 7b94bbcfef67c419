/** Every column of the database is part of an export, or follows from what is. */
import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { fieldsOf, RECORD_TYPES } from "../../../lib/export/records.ts";
import { describeWithDatabases } from "../../database.ts";

const REPOSITORY = "(its records follow it)";
const TEST = "test.id";
const DERIVED = "(derived again from the results)";

/** The record and field of each column, or in parentheses why it is in none. */
const COLUMNS: Record<string, Record<string, string>> = {
  organization: {
    organization_id: "organization.number",
    name: "organization.name",
    name_key: "(the name in lower case)",
    purchase_unit_count: "organization.purchase_units",
    next_repository_number: "organization.next_repository_id",
    quarantine_policy: "organization.quarantine_policy",
    created_at: "organization.created_at",
  },
  api_token: {
    organization_id: "(the only one)",
    api_token_id: "(another in each database)",
    type: "token.token_type",
    repository_id: "token.repository_id",
    person: "(an account of the provider of one service; the label has the name)",
    token_prefix: "token.prefix",
    hash: "token.hash",
    label: "token.label",
    created_at: "token.created_at",
    expires_at: "token.expires_at",
    revoked_at: "token.revoked_at",
    last_used_at: "token.last_used_at",
    valid_until: "(follows from the others)",
  },
  change: {
    organization_id: "(the only one)",
    change_id: "(the order of the records)",
    changed_at: "change.changed_at",
    author: "change.author",
    command: "change.command",
    subject: "change.subject",
    detail: "change.detail",
  },
  // An import must not open the door of another service: `trust add` does, deliberately.
  trusted_issuer: Object.fromEntries(
    [
      "organization_id",
      "trusted_issuer_id",
      "issuer",
      "claims",
      "repository_id",
      "repository_claim",
      "keys",
      "created_at",
    ].map((column) => [column, "(trusted issuers are not exported)"]),
  ),
  // A copy of an organization would send its messages twice, and an export has no secrets.
  webhook: Object.fromEntries(
    [
      "organization_id",
      "webhook_id",
      "url",
      "secret",
      "events",
      "repository_id",
      "owner",
      "format",
      "allows_private",
      "created_at",
    ].map((column) => [column, "(webhooks are not exported)"]),
  ),
  webhook_delivery: Object.fromEntries(
    [
      "organization_id",
      "delivery_id",
      "webhook_id",
      "message_id",
      "repository_id",
      "event",
      "cause",
      "subjects",
      "data",
      "created_at",
      "due_at",
      "status",
      "attempt_count",
      "next_attempt_at",
      "attempted_at",
      "outcome",
    ].map((column) => [column, "(webhooks are not exported)"]),
  ),
  repository: {
    organization_id: "(the only one)",
    repository_id: "(another in each database)",
    repository_number: "repository.repository_id",
    owner: "repository.owner",
    name: "repository.name",
    owner_key: "(the owner in lower case)",
    name_key: "(the name in lower case)",
    url: "repository.url",
    id_prefix: "repository.test_id_prefix",
    quarantine_policy: "repository.quarantine_policy",
    base_branch: "repository.base_branch",
    default_branch: "repository.default_branch",
    created_at: "repository.created_at",
  },
  repository_state: {
    repository_id: REPOSITORY,
    id_prefix: "repository.test_id_prefix",
    data_version: "(of the caches of this database)",
    addition_count: "(of the caches of this database)",
    next_test_no: "(another in each database)",
    next_test_list_no: "(another in each database)",
    rules: "(what an import derives follows the present ones)",
  },
  test: {
    repository_id: REPOSITORY,
    test_no: "(the order of the records)",
    test_hash: "test.id",
    suite: "test.suite",
    class: "test.class",
    name: "test.name",
    file: "test.file",
    alias_hash: "(found again by the next upload that names the test the other way)",
    file_matched_at: "(an import settles what was in doubt for two weeks)",
  },
  test_tag: { repository_id: REPOSITORY, tag: "test.tags", tests: "test.tags" },
  test_list: {
    repository_id: REPOSITORY,
    test_list_no: DERIVED,
    list_hash: DERIVED,
    test_count: DERIVED,
    tests: DERIVED,
  },
  test_tag_set: { repository_id: REPOSITORY, digest: DERIVED, tag_groups: "result.tags" },
  submission: {
    repository_id: REPOSITORY,
    submission_id: "submission.id",
    recorded_at: "submission.recorded_at",
    uploaded_at: "submission.uploaded_at",
    status: "submission.status",
    key: "submission.key",
    build_url: "submission.build_url",
    commit_oid: "submission.commit_oid",
    tree_oid: "submission.tree_oid",
    branch: "submission.branch",
    environment: "submission.environment",
    job: "submission.job",
    workflow: "submission.workflow",
    shard: "submission.shard",
    attempt: "submission.attempt",
    runner: "submission.runner",
    pull_number: "submission.pull_number",
    pull_title: "submission.pull_title",
    author: "submission.author",
    queue_base: "submission.queue_base",
    ran_test_count: DERIVED,
    skipped_test_count: DERIVED,
    failed_test_count: DERIVED,
    failed_after_pass: DERIVED,
    code_version: "(follows from tree and commit)",
    tags: "submission.tags",
    upload_digest: "submission.upload_digest",
    test_result_count: "submission.test_result_count",
    notes: "submission.notes",
    ambiguous_test_nos: "submission.ambiguous_tests",
    overheads: "submission.overheads",
    test_list_no: "result.test_id",
    test_tag_digest: "result.tags",
    durations: "result.duration_us",
    duration_unit: "result.duration_us",
    exceptions: "result.conclusion",
    data_version: "(of the caches of this database)",
    is_outage: "submission.is_outage",
    exit_code: "submission.exit_code",
    cut_off_report_count: "submission.cut_off_report_count",
    unlisted_suite_count: "submission.unlisted_suite_count",
    outside_failure_count: "submission.outside_failure_count",
    empty_report_count: "submission.empty_report_count",
  },
  failure_evidence: {
    repository_id: REPOSITORY,
    submission_id: "submission.id",
    test_no: "submission.evidence",
    evidence: "submission.evidence",
    is_on_base: "submission.evidence",
    rests_on: "submission.evidence",
    base_run_count: "submission.evidence",
    base_failed_count: "submission.evidence",
    share_not_the_change: "submission.evidence",
    share_of: "submission.evidence",
    share_from: "submission.evidence",
    is_known_on_base: "submission.evidence",
    is_repeat: "submission.evidence",
    truth: "submission.evidence",
  },
  negative_result: {
    repository_id: REPOSITORY,
    submission_id: "result.submission_id",
    result_no: "result.result_no",
    test_no: "result.test_id",
    is_disruption: "result.is_disruption",
    conclusion: "result.conclusion",
    text_id: DERIVED,
    fingerprint: DERIVED,
    other_fingerprints: "result.other_fingerprints",
  },
  failure_text: {
    repository_id: REPOSITORY,
    text_id: DERIVED,
    message: "result.message",
    body: "result.body",
  },
  truth_count: Object.fromEntries(
    ["repository_id", "period", "evidence", "is_on_base", "not_the_change", "the_change"]
      .map((column) => [column, DERIVED]),
  ),
  disruptive_test: {
    repository_id: REPOSITORY,
    test_no: TEST,
    first_disruption_at: "test.disruptions",
    latest_submission_id: "test.disruptions",
    latest_result_no: "test.disruptions",
    latest_commit_oid: "test.disruptions",
    latest_build_url: "test.disruptions",
    latest_message: "test.disruptions",
    positive_submission_id: "test.disruptions",
    positive_build_url: "test.disruptions",
  },
  quarantine: {
    repository_id: REPOSITORY,
    test_no: TEST,
    quarantined_at: "test.quarantine",
    quarantined_by: "test.quarantine",
    quarantine_type: "test.quarantine",
    quarantine_reason: "test.quarantine",
    quarantine_owner: "test.quarantine",
    quarantine_expires_at: "test.quarantine",
    quarantine_environment: "test.quarantine",
  },
  coverage_report: {
    repository_id: REPOSITORY,
    coverage_report_id: "(the order of the records)",
    recorded_at: "coverage.recorded_at",
    submission_id: "coverage.submission_id",
    covered_line_count: "coverage.covered_line_count",
    line_count: "coverage.line_count",
  },
  archive: {
    source: "archive.source",
    key: "archive.key",
    version: "archive.version",
    status: "archive.status",
    claim_id: "(of a watcher of this database)",
    claimed_until: "(of a watcher of this database)",
    attempt_count: "archive.attempt_count",
    lost_count: "(of a watcher of this database)",
    reason: "archive.reason",
    repository_id: "archive.repository_id",
    submission_key: "archive.submission_key",
    found_at: "archive.found_at",
    finished_at: "archive.finished_at",
  },
  schema_migration: {
    version: "(of this database)",
    checksum: "(of this database)",
    migrated_at: "(of this database)",
    build: "(of this database)",
  },
};

describeWithDatabases("an export", (database) => {
  it("has every column of the schema, or a reason why not", async () => {
    const { sql } = database();
    const rows = await sql<{ table: string; column: string }[]>`
      select c.relname as "table", a.attname as "column"
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
        and a.attnum > 0 and not a.attisdropped`;
    const fields = new Set(
      RECORD_TYPES.flatMap((type) => fieldsOf(type).map((field) => `${type}.${field}`)),
    );
    for (const { table, column } of rows) {
      const place = COLUMNS[table]?.[column];
      assert.ok(
        place !== undefined,
        `${table}.${column} is new: add it to lib/export/records.ts and to export and import in ` +
          "db/admin, or say here why it is not exported",
      );
      if (!place.startsWith("(")) assert.ok(fields.has(place), `${place} is a field of a record`);
    }
    const present = new Set(rows.map(({ table, column }) => `${table}.${column}`));
    for (const [table, columns] of Object.entries(COLUMNS)) {
      for (const column of Object.keys(columns)) {
        assert.ok(present.has(`${table}.${column}`), column);
      }
    }
  });
});
