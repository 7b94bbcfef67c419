// Tests: tests/routes/conclusions_test.ts tests/routes/durations_test.ts
/** The schemas that responses share. */
import * as v from "valibot";
import { EVIDENCE } from "../lib/evidence/evidence.ts";
import { BLAMES, SHARE_SOURCES } from "../lib/evidence/shares.ts";

export const timestamp = v.pipe(
  v.string(),
  v.isoTimestamp(),
  v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  v.description("UTC, to the second, as YYYY-MM-DDTHH:MM:SSZ"),
  v.examples(["2026-01-31T08:00:00Z"]),
);

/** The id of a test, submission or event. */
export const objectId = v.pipe(
  v.string(),
  v.regex(/^[0-9a-f]{24}$/),
  v.description("24 lower-case hex digits"),
  v.examples(["5f3a9c0e7b12d4a86f01c2e3"]),
);

/** The cause of a failure. */
export const fingerprint = v.pipe(
  v.string(),
  v.regex(/^[0-9a-f]{16}$/),
  v.description("Name of the cause, the same in every repository; 16 lower-case hex digits"),
);

/** A schema with the description of the API reference. */
export function described<Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return v.pipe(schema, v.description(description));
}

/** An object with exactly these fields, and the name of its type in generated clients. */
export function object<Entries extends v.ObjectEntries>(title: string, entries: Entries) {
  return v.pipe(v.strictObject(entries), v.title(title));
}

/** A number from 0. */
export function count(description: string) {
  return v.pipe(v.number(), v.integer(), v.minValue(0), v.description(description));
}

export function text(description: string) {
  return described(v.string(), description);
}

/** Accepts `null` as well, when there is none. */
export function nullable<Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return described(v.nullable(schema), `${description}; null when there is none`);
}

export const buildUrl = text('URL of the CI run, "" when it is not known');
export const commit = text("Commit that was tested");
export const environment = text(
  'Operating system, runtime and the like that the tests ran on, "" when it is not known',
);
export const job = text('Job of the CI service, "" when it is not known');
export const branch = text('Branch that was tested, "" when it is not known');

export const share = v.pipe(v.number(), v.minValue(0), v.maxValue(1));

export const ratio = described(
  share,
  "Share of disruptions in the passing and failing results of the last 14 days, truncated to " +
    "3 decimals",
);

export const metadata = object("PageMetadata", {
  after: nullable(v.string(), "Cursor of the next page, passed back verbatim as after"),
  limit: count("Page size in effect"),
});

/** A page of a list: `count` with its description, the items, and `metadata`. */
export function page<Items extends v.ObjectEntries>(title: string, counted: string, items: Items) {
  return object(title, { count: count(counted), ...items, metadata });
}

/** What identifies a test within its repository. */
export const identity = {
  name: text("Name of the test"),
  suite: text('Suite, "" when the report names none'),
  class: text('Class, "" when the report names none'),
  file: text('Path of the file, "" when the report names none'),
};

export const test = { id: objectId, ...identity };

function latestResult<Message extends v.GenericSchema>(title: string, message: Message) {
  return object(title, { recorded_at: timestamp, build_url: buildUrl, message });
}

/** A disruption as part of a test. */
export const negativeResult = latestResult("NegativeResult", text("First line of the failure"));

/** The pass that proves a test nondeterministic. */
export const positiveResult = latestResult("PositiveResult", described(v.null(), "Always null"));

export const attempt = {
  conclusion: described(
    v.picklist(["passing", "failure", "error", "skipped", "unknown"]),
    "failure: an assertion failed; error: anything else went wrong",
  ),
  duration_us: count("Microseconds, 0 when the report does not say"),
  message: described(
    v.nullable(v.string()),
    "First line of a failure or error, null for other conclusions",
  ),
  body: described(
    v.nullable(v.string()),
    'Whole text of a failure or error with its stack trace, at most 16,384 characters, "" when the ' +
      "report has none; null for other conclusions",
  ),
  run_count: count("1 for the first attempt in the submission, 2 and more for retries"),
  is_disruption: described(
    v.boolean(),
    "Whether it failed at a code version where the test also passed",
  ),
};

/** The evidence for a failure; `evidence_url` is part of it. */
export const conclusion = {
  evidence: described(
    v.picklist(EVIDENCE),
    "What the failure rests on, from what was known when it was uploaded",
  ),
  blame: described(v.picklist(BLAMES), "Whether the change is probably the cause"),
  share: described(
    v.nullable(share),
    "Share of the failures with this evidence that were not the change, truncated to 3 decimals; null while " +
      "none is known",
  ),
  share_of: described(
    v.nullable(count("Failures")),
    "Failures of the last 90 days whose truth came out, of which it is the share",
  ),
  share_from: described(
    v.nullable(v.picklist(SHARE_SOURCES)),
    "Whose failures these are; published: of a year of Apache Ozone",
  ),
  evidence_url: text('URL of the CI run that the evidence rests on, "" without one'),
};

/** The same of an attempt, which need not be a failure. */
export const conclusionOfAttempt = {
  ...conclusion,
  evidence: nullable(conclusion.evidence, "What the failure of the test rests on"),
  blame: nullable(conclusion.blame, "Whether the change is probably the cause"),
};
