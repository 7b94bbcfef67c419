// Tests: tests/db/admin/export_columns_test.ts tests/docs/reference_test.ts
/**
 * The records of an export: what an organization consists of, independent of the database's tables. Each
 * is a line of JSON with a `type`; docs/reference/export.md describes them. Schemas are strict: a
 * field that this version does not know would be lost.
 */
import * as v from "valibot";
import { quote } from "../base/quote.ts";
import { readWith } from "../base/read_with.ts";
import { formatTimestamp, parseTimestamp, SECONDS_PER_DAY } from "../base/time.ts";
import { EVIDENCE } from "../evidence/evidence.ts";
import { SHARE_SOURCES } from "../evidence/shares.ts";

/** The version of the format that this program writes. It reads this one and all before it. */
export const FORMAT_VERSION = 1;

const text = v.pipe(
  v.string(),
  // PostgreSQL stores neither.
  v.check(
    (value) => !value.includes("\0") && value.isWellFormed(),
    "expected text without NUL characters and unpaired surrogates",
  ),
);
const filledText = v.pipe(text, v.minLength(1, "expected text"));

/** An optional field; `null` is the same as absent. */
function maybe<Schema extends v.GenericSchema>(schema: Schema) {
  return v.nullish(schema, null as unknown as undefined) as unknown as v.GenericSchema<
    v.InferInput<Schema> | null | undefined,
    v.InferOutput<Schema> | null
  >;
}

function integer(min: number, max = Number.MAX_SAFE_INTEGER) {
  const expected = `expected an integer from ${min} to ${max}`;
  return v.pipe(
    v.number(),
    v.check((value) => Number.isInteger(value) && value >= min && value <= max, expected),
  );
}

/** The largest value of a column of type integer. */
const MAX_INTEGER = 2_147_483_647;

/** Twice as much is a safe integer. */
const MAX_OVERHEAD = 2 ** 52 - 1;

function hex(digits: number) {
  const pattern = new RegExp(`^[0-9a-f]{${digits}}$`);
  return v.pipe(v.string(), v.regex(pattern, `expected ${digits} lower-case hex digits`));
}

function oneOf<const Words extends readonly string[]>(words: Words) {
  return v.picklist(words, `expected one of ${words.join(", ")}`);
}

/** RFC 3339 as seconds since 1970. */
const timestamp = readWith((value) => {
  const seconds = parseTimestamp(value);
  if (seconds >= 0) return seconds;
  throw new RangeError(`"${value}" is before 1970`);
});

/** Any that `token create --expires-at` accepts. */
const tokenEnd = readWith(parseTimestamp);

/** `repository_id` of the API. */
const repositoryId = integer(1);
const objectId = hex(24);
const tags = maybe(v.array(filledText));

/** The counts of a quarantine policy, and its durations in seconds: at most a century. */
const policy = v.strictObject({
  disruptions: integer(1, MAX_INTEGER),
  code_versions: integer(1, MAX_INTEGER),
  min_results: integer(0, MAX_INTEGER),
  max_tests: integer(0, MAX_INTEGER),
  release_passes: integer(1, MAX_INTEGER),
  release_after_seconds: integer(0, 36_500 * SECONDS_PER_DAY),
  expires_seconds: integer(1, 36_500 * SECONDS_PER_DAY),
});

/** Absent: the organization's policy applies, if it has one. */
const quarantinePolicy = maybe(v.union([v.literal("off"), policy]));

const detailValue = v.union([text, v.number(), v.null()]);

const SCHEMAS = {
  /** The first line. */
  export: v.strictObject({
    type: v.literal("export"),
    format: integer(1),
    /** Version and commit of the program that wrote it. */
    program: text,
    exported_at: timestamp,
  }),
  organization: v.strictObject({
    type: v.literal("organization"),
    /** The UUID of the API follows from it. */
    number: integer(1, 1_000_000_000),
    name: filledText,
    purchase_units: integer(0, MAX_INTEGER),
    /** What the next repository gets, unless it is taken. */
    next_repository_id: repositoryId,
    quarantine_policy: quarantinePolicy,
    created_at: timestamp,
  }),
  repository: v.strictObject({
    type: v.literal("repository"),
    repository_id: repositoryId,
    owner: filledText,
    name: filledText,
    url: maybe(text),
    /** First digits of the ids of its tests. */
    test_id_prefix: hex(11),
    quarantine_policy: quarantinePolicy,
    /** Set by a person. */
    base_branch: maybe(text),
    /** As CI says. */
    default_branch: maybe(text),
    created_at: timestamp,
  }),
  /** A test, and what is known about it beyond the stored submissions. */
  test: v.strictObject({
    type: v.literal("test"),
    repository_id: repositoryId,
    id: objectId,
    suite: text,
    class: text,
    name: filledText,
    file: text,
    tags,
    disruptions: maybe(v.strictObject({
      first_recorded_at: timestamp,
      latest: v.strictObject({
        submission_id: objectId,
        result_no: integer(0, MAX_INTEGER),
        commit_oid: text,
        build_url: text,
        message: text,
      }),
      latest_positive: v.strictObject({ submission_id: objectId, build_url: text }),
    })),
    quarantine: maybe(v.strictObject({
      quarantined_at: timestamp,
      quarantined_by: maybe(text),
      quarantine_type: oneOf(["manual", "automatic"]),
      reason: maybe(text),
      owner: maybe(text),
      expires_at: maybe(timestamp),
      environment: maybe(text),
    })),
  }),
  /** An upload, followed by its results. */
  submission: v.strictObject({
    type: v.literal("submission"),
    repository_id: repositoryId,
    id: objectId,
    status: oneOf(["processed", "processing", "failed"]),
    key: filledText,
    recorded_at: timestamp,
    uploaded_at: timestamp,
    commit_oid: text,
    tree_oid: maybe(text),
    branch: maybe(text),
    environment: maybe(text),
    job: maybe(text),
    workflow: maybe(text),
    shard: maybe(text),
    attempt: maybe(text),
    runner: maybe(text),
    /** What CI says of the pull request, and of the author of the commit. */
    pull_number: maybe(integer(1)),
    pull_title: maybe(text),
    author: maybe(text),
    /** The branch that a merge queue tests for. */
    queue_base: maybe(text),
    build_url: maybe(text),
    tags,
    /** Identifies the uploaded bytes, their commit and build URL; absent unless it is processed. */
    upload_digest: maybe(hex(32)),
    test_result_count: integer(0, MAX_INTEGER),
    /** What was repaired, ignored or left out. */
    notes: maybe(v.array(text)),
    /** Ids of its tests that stand for several tests of one name in a report. */
    ambiguous_tests: maybe(v.array(objectId)),
    /** The time of suites beyond their tests, each with the id of its first test. */
    overheads: maybe(v.array(v.strictObject({
      test_id: objectId,
      overhead_us: integer(0, MAX_OVERHEAD),
      is_one_class: v.boolean(),
    }))),
    /** Whether its failures are an outage, which other branches had too. */
    is_outage: maybe(v.literal(true)),
    /** How the command that ran the tests ended. */
    exit_code: maybe(integer(0, 255)),
    /** What the reports hide; absent in a submission of an earlier version. */
    cut_off_report_count: maybe(integer(0, MAX_INTEGER)),
    unlisted_suite_count: maybe(integer(0, MAX_INTEGER)),
    outside_failure_count: maybe(integer(0, MAX_INTEGER)),
    empty_report_count: maybe(integer(0, MAX_INTEGER)),
    /** The evidence for its failures, as it was when they were uploaded, and what later runs showed. */
    evidence: maybe(v.array(v.strictObject({
      test_id: objectId,
      evidence: oneOf(EVIDENCE),
      is_on_base: v.boolean(),
      rests_on: v.nullable(objectId),
      base_run_count: integer(0, MAX_INTEGER),
      base_failed_count: integer(0, MAX_INTEGER),
      share: v.nullable(v.strictObject({
        not_the_change: integer(0, MAX_INTEGER),
        of: integer(1, MAX_INTEGER),
        from: oneOf(SHARE_SOURCES),
      })),
      is_known_on_base: v.boolean(),
      is_repeat: v.boolean(),
      truth: v.nullable(oneOf(["not_the_change", "the_change"])),
    }))),
  }),
  /** One attempt of one test in the submission above it. */
  result: v.strictObject({
    type: v.literal("result"),
    submission_id: objectId,
    test_id: objectId,
    conclusion: oneOf(["passing", "failure", "error", "skipped", "unknown"]),
    duration_us: integer(0),
    /** 2 and more for later attempts of the test in the submission. */
    attempt: maybe(integer(1)),
    /** For a failure or error: its position in the report, its text, and whether it is a disruption. */
    result_no: maybe(integer(0, MAX_INTEGER)),
    message: maybe(text),
    body: maybe(text),
    is_disruption: maybe(v.boolean()),
    /** For a failure or error: its causes beyond the one of its message. */
    other_fingerprints: maybe(v.pipe(v.array(hex(16)), v.nonEmpty("expected fingerprints"))),
    /** Tags of this test alone, in addition to the submission's. */
    tags,
  }),
  coverage: v.strictObject({
    type: v.literal("coverage"),
    repository_id: repositoryId,
    submission_id: maybe(objectId),
    recorded_at: timestamp,
    covered_line_count: integer(0),
    line_count: integer(1),
  }),
  /** An archive that `watch` has processed, so that it is not processed again. */
  archive: v.strictObject({
    type: v.literal("archive"),
    repository_id: repositoryId,
    /** The folder or bucket, and the key in it. */
    source: filledText,
    key: filledText,
    /** Differs when the archive was replaced. */
    version: text,
    status: oneOf(["processed", "duplicate", "failed", "deleted"]),
    submission_key: maybe(text),
    attempt_count: integer(0, MAX_INTEGER),
    /** Why it failed. */
    reason: maybe(text),
    found_at: timestamp,
    finished_at: maybe(timestamp),
  }),
  token: v.strictObject({
    type: v.literal("token"),
    token_type: oneOf(["api_token", "legacy", "upload", "badge", "quarantine"]),
    /** SHA-256 of the token: hex, of a legacy token base64. */
    hash: v.pipe(v.string(), v.regex(/^([0-9a-f]{64}|[A-Za-z0-9+/]{43}=)$/, "expected a SHA-256")),
    prefix: maybe(text),
    label: maybe(text),
    /** For a badge token, and an upload or quarantine token for one repository. */
    repository_id: maybe(repositoryId),
    created_at: timestamp,
    expires_at: maybe(tokenEnd),
    revoked_at: maybe(timestamp),
    last_used_at: maybe(timestamp),
  }),
  /** An entry of the log of changes, the quarantine log among them. */
  change: v.strictObject({
    type: v.literal("change"),
    changed_at: timestamp,
    author: text,
    command: text,
    subject: text,
    detail: v.union([
      // An entry of the quarantine log.
      v.objectWithRest({
        quarantine: oneOf(["added", "changed", "removed"]),
        repository: text,
        suite: text,
        class: text,
        name: text,
        file: text,
        by: v.nullish(text),
        type: oneOf(["manual", "automatic"]),
        reason: v.nullish(text),
        owner: v.nullish(text),
        expires_at: v.nullish(v.number()),
      }, detailValue),
      v.objectWithRest({ quarantine: v.optional(v.never()) }, detailValue),
    ]),
  }),
  /** The last line. */
  end: v.strictObject({
    type: v.literal("end"),
    /** Lines before this one. */
    records: integer(1),
    /** SHA-256 of their bytes; not checked when absent. */
    sha256: maybe(hex(64)),
  }),
} as const;

type Schemas = typeof SCHEMAS;
export type RecordType = keyof Schemas;

/** Every type of record, in the order of the reference. */
export const RECORD_TYPES = Object.keys(SCHEMAS) as RecordType[];

/** The names of the fields of a type of record, `type` first. */
export function fieldsOf(type: RecordType): string[] {
  return Object.keys(SCHEMAS[type].entries);
}

/** A record with times in seconds since 1970, and `null` for what is absent. */
export type ExportRecord<Type extends RecordType = RecordType> = {
  [Each in Type]: v.InferOutput<Schemas[Each]>;
}[Type];

/** The policy of an organization or repository; `null` when it has none of its own. */
export type ExportPolicy = ExportRecord<"repository">["quarantine_policy"];

/** What is written between the first and the last line. */
export type ContentRecord = Exclude<ExportRecord, ExportRecord<"export" | "end">>;

/** The record as a line. */
export function formatRecord(record: ExportRecord): string {
  return `${JSON.stringify(shown(record))}\n`;
}

/** Leaves out what is absent, and formats times. */
function shown(record: object): object {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(record)) {
    if (value === null) continue;
    if (typeof value === "number" && name.endsWith("_at")) fields[name] = formatTimestamp(value);
    else if (typeof value !== "object" || Array.isArray(value)) fields[name] = value;
    // The detail of a change may be any JSON, with nulls of its own.
    else fields[name] = name === "detail" ? value : shown(value);
  }
  return fields;
}

/**
 * Reads a line.
 *
 * @throws {SyntaxError} naming field, value and what was expected
 */
export function parseRecord(line: string): ExportRecord {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw notAnObject(line);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw notAnObject(line);
  }
  const { type } = value as { type?: unknown };
  if (typeof type !== "string" || !Object.hasOwn(SCHEMAS, type)) {
    throw new UnknownRecordError(
      `unknown record type ${shortened(JSON.stringify(type) ?? "")}: expected one of ` +
        RECORD_TYPES.join(", "),
    );
  }
  const result = v.safeParse(SCHEMAS[type as RecordType], value, { abortEarly: true });
  if (result.success) return result.output;
  throw problemOf(type, result.issues[0]);
}

/** Only the beginning of the line is quoted: it may have the hash of a token. */
function notAnObject(line: string): SyntaxError {
  return new SyntaxError(
    `found ${quote(line.slice(0, 24))}, expected a JSON object on a line of its own`,
  );
}

/** Probably of a later version. */
export class UnknownRecordError extends SyntaxError {
  override name = "UnknownRecordError";
}

function problemOf(type: string, issue: v.BaseIssue<unknown>): SyntaxError {
  const path = v.getDotPath(issue) ?? "";
  const where = `${type}${path === "" ? "" : `: field "${path}"`}`;
  if (issue.type === "strict_object" && issue.expected === "never") {
    return new UnknownRecordError(`${where} is unknown`);
  }
  if (issue.received === "undefined") return new SyntaxError(`${where} is missing`);
  // Nothing of a token is quoted.
  const value = type === "token" ? "invalid" : shortened(JSON.stringify(issue.input) ?? "");
  if (issue.message.startsWith("Invalid")) {
    return new SyntaxError(`${where} is ${value}: expected ${issue.expected}`);
  }
  return new SyntaxError(
    issue.message.startsWith("expected")
      ? `${where} is ${value}: ${issue.message}`
      : `${where}: ${issue.message}`,
  );
}

const SHOWN_CHARACTERS = 100;

function shortened(json: string): string {
  return json.length <= SHOWN_CHARACTERS ? json : `${json.slice(0, SHOWN_CHARACTERS)}...`;
}
