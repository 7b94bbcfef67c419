/** The response schemas that routes share, and the functions that create their values. */
import * as v from "valibot";
import type { TestAttempt } from "../lib/analysis/attempts.ts";
import type { FailureText } from "../lib/analysis/failure_texts.ts";
import {
  disruptivenessThousandths,
  type LatestDisruption,
  type LatestPositive,
  type TrackedTest,
} from "../lib/analysis/tracked_test.ts";
import { encodeOffsetCursor } from "../lib/base/cursor.ts";
import { recordedAtOf, type TestIdentity } from "../lib/base/identity.ts";
import { formatTimestamp } from "../lib/base/time.ts";

export const timestampSchema = v.pipe(
  v.string(),
  v.isoTimestamp(),
  v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  v.description("UTC, to the second, as YYYY-MM-DDTHH:MM:SSZ"),
  v.examples(["2026-01-31T08:00:00Z"]),
);

/** Schema of the id of a test, submission or event. */
export const objectIdSchema = v.pipe(
  v.string(),
  v.regex(/^[0-9a-f]{24}$/),
  v.description("24 lower-case hex digits"),
  v.examples(["5f3a9c0e7b12d4a86f01c2e3"]),
);

/** Adds a description to a schema. */
export function described<Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return v.pipe(schema, v.description(description));
}

/** Schema of an object with exactly these fields, and the name of its type in generated clients. */
export function objectSchema<Entries extends v.ObjectEntries>(title: string, entries: Entries) {
  return v.pipe(v.strictObject(entries), v.title(title));
}

/** Schema of a count. */
export function countSchema(description: string) {
  return v.pipe(v.number(), v.integer(), v.minValue(0), v.description(description));
}

/** Schema of a number from 1. */
export function ordinalSchema(description: string) {
  return v.pipe(v.number(), v.integer(), v.minValue(1), v.description(description));
}

/** Schema of a text, never `null`. */
export function textSchema(description: string) {
  return described(v.string(), description);
}

export const buildUrlSchema = textSchema('URL of the CI run, "" when it is not known');
export const commitSchema = textSchema("Commit that was tested");
export const branchSchema = textSchema('Branch that was tested, "" when it is not known');

/** A schema that also accepts `null`, with its description. */
export function nullable<Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return described(v.nullable(schema), description);
}

export const ratioSchema = v.pipe(
  v.number(),
  v.minValue(0),
  v.maxValue(1),
  v.description(
    "Share of disruptions in the passing and failing results of the last 14 days, truncated to " +
      "3 decimals",
  ),
);

export const metadataSchema = described(
  objectSchema("PageMetadata", {
    after: nullable(
      v.string(),
      "Cursor of the next page, passed back verbatim as after; null on the last page",
    ),
    limit: countSchema("Page size in effect"),
  }),
  "Position of this page in the list",
);

/** Schema of a page of a list: `count` with its description, the items, and `metadata`. */
export function pageSchema<Items extends v.ObjectEntries>(
  title: string,
  count: string,
  items: Items,
) {
  return objectSchema(title, { count: countSchema(count), ...items, metadata: metadataSchema });
}

/** The page of a list with an offset cursor. */
export function offsetMetadata({ after, limit }: { after: number; limit: number }, count: number) {
  const end = after + limit;
  return { after: end < count ? encodeOffsetCursor(end) : null, limit };
}

/** A page of a list, from up to `limit` + 1 rows: an extra row means there is a next page. */
export function keysetPage<Row>(rows: Row[], limit: number, cursorOf: (row: Row) => string) {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const after = last && rows.length > limit ? cursorOf(last) : null;
  return { shown, metadata: { after, limit } };
}

/** Fields of a test in every list. */
export const baseEntries = {
  id: objectIdSchema,
  name: textSchema("Name of the test"),
  suite: textSchema('Suite, "" when the report names none'),
  class: textSchema('Class, "" when the report names none'),
  file: textSchema('Path of the file, "" when the report names none'),
};

/** Schema of a disruption as part of a test. */
export const negativeResultSchema = objectSchema("NegativeResult", {
  recorded_at: timestampSchema,
  build_url: buildUrlSchema,
  message: textSchema("First line of the failure"),
});

/** Schema of the pass that proves a test nondeterministic. */
export const positiveResultSchema = objectSchema("PositiveResult", {
  recorded_at: timestampSchema,
  build_url: buildUrlSchema,
  message: described(v.null(), "Always null"),
});

/** The fields of {@linkcode baseEntries}. */
export function baseView(
  { id, name, suite, class: className, file }: TestIdentity & { id: string },
) {
  return { id, name, suite, class: className, file };
}

/** The ratio, truncated to 3 decimals. */
export function ratioView(test: TrackedTest): number {
  return disruptivenessThousandths(test) / 1000;
}

/** A timestamp, `null` when there is none. */
export function timestampView(seconds: number | null): string | null {
  return seconds === null ? null : formatTimestamp(seconds);
}

/** The time of a submission. */
export function recordedAtView(submissionId: string): string {
  return formatTimestamp(recordedAtOf(submissionId));
}

/** The latest disruption, `null` when there was none. */
export function negativeResultView(
  latest: Pick<LatestDisruption, "recordedAt" | "buildUrl" | "message"> | null,
) {
  if (latest === null) return null;
  const { recordedAt, buildUrl, message } = latest;
  return { recorded_at: formatTimestamp(recordedAt), build_url: buildUrl, message };
}

/** The latest positive result, `null` when there was none. */
export function positiveResultView(latest: LatestPositive | null) {
  if (latest === null) return null;
  const { recordedAt, buildUrl } = latest;
  return { recorded_at: formatTimestamp(recordedAt), build_url: buildUrl, message: null };
}

export const attemptEntries = {
  conclusion: described(
    v.picklist(["passing", "failure", "error", "skipped", "unknown"]),
    "failure: an assertion failed; error: anything else went wrong",
  ),
  duration_us: countSchema("Microseconds, 0 when the report does not say"),
  message: nullable(v.string(), "First line of a failure or error, null for other conclusions"),
  body: nullable(
    v.string(),
    'Whole text of a failure or error with its stack trace, at most 16,384 characters, "" when the ' +
      "report has none; null for other conclusions",
  ),
  run_count: ordinalSchema("1 for the first attempt in the submission, 2 and more for retries"),
  is_disruption: described(
    v.boolean(),
    "Whether it failed at a code version where the test also passed",
  ),
};

/** The fields of {@linkcode attemptEntries}. */
export function attemptView(attempt: TestAttempt & { text: FailureText | null }) {
  const { conclusion, durationMicroseconds, runCount, failure, text } = attempt;
  return {
    conclusion,
    duration_us: durationMicroseconds,
    message: text?.message ?? null,
    body: text?.body ?? null,
    run_count: runCount,
    is_disruption: failure?.isDisruption ?? false,
  };
}
