// Tests: tests/routes/flaky_tests_test.ts tests/routes/list_formats_test.ts
/**
 * The fields of a test in lists: one row for each, with its schema, its value, and its column on the
 * page of tests and in `flaky`. The schemas of the API, `include` and the reference come from here.
 */
import * as v from "valibot";
import type { TestOrder } from "../lib/analysis/order.ts";
import {
  averageDurationTenths,
  disruptivenessThousandths,
  passRateThousandths,
  type TrackedTest,
} from "../lib/analysis/tracked_test.ts";
import { formatPercent } from "../lib/badge/percentage.ts";
import { formatTimestamp, timestampOrNull } from "../lib/base/time.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import * as schemas from "./schemas.ts";
import * as views from "./response_parts.ts";

interface Column {
  /** On the page: the title and, after `|`, the classes. */
  page: string;
  /** On a terminal; not shown there without one. */
  terminal?: string;
  /** Order of the page, when it can be sorted by this column. */
  sort?: TestOrder;
  /** `at` is a time, in seconds since 1970. */
  cell(test: TrackedTest): string | number | { at: number | null };
}

interface Field<Schema extends v.GenericSchema = v.GenericSchema> {
  schema: Schema;
  value(test: TrackedTest): v.InferOutput<Schema>;
  /** The value of `include` that adds it, unless that is its name. */
  includedBy?: string;
  /** Its value needs `timeConsumed`, which costs a statement. */
  needsTime?: true;
  column?: Column;
}

/** Checks the type of the value against the schema. */
const field = <Schema extends v.GenericSchema>(row: Field<Schema>) => row;

const ratio = field({
  schema: schemas.ratio,
  value: views.ratio,
  column: {
    page: "Flaky share|number wide",
    terminal: "RATE",
    sort: "disruptivenessRatio",
    cell: (test) => formatPercent(disruptivenessThousandths(test)),
  },
});
const disruptionCount = field({
  schema: schemas.count("Disruptions of the last 14 days"),
  value: (test) => test.disruptionCount,
  column: {
    page: "Failures|number wide",
    terminal: "FAILS",
    cell: (test) => test.disruptionCount,
  },
});
const firstDisruptionAt = field({
  schema: schemas.nullable(schemas.timestamp, "The first disruption ever"),
  value: (test) => timestampOrNull(test.firstDisruptionAt),
  column: { page: "First|nowrap wide", cell: (test) => ({ at: test.firstDisruptionAt }) },
});

/** Fields of the inventory, where `include` adds them, and of one test. */
const INCLUDED = {
  disruptiveness_ratio: ratio,
  nondeterministic_negative_result_count: disruptionCount,
  // Clients of the earlier service read two fields under a second name.
  disruption_count: {
    ...disruptionCount,
    includedBy: "nondeterministic_negative_result_count",
    column: undefined,
  },
  nondeterminism_first_recorded_at: firstDisruptionAt,
  first_disruption_at: {
    ...firstDisruptionAt,
    includedBy: "nondeterminism_first_recorded_at",
    column: undefined,
  },
  recent_nondeterministic_commit_oid: field({
    schema: schemas.nullable(v.string(), "Commit of the latest disruption"),
    value: (test) => test.latestDisruption?.commitOid ?? null,
  }),
  recent_nondeterministic_negative_result: field({
    schema: schemas.nullable(schemas.negativeResult, "The latest disruption"),
    value: ({ latestDisruption }) => latestDisruption && views.negativeResult(latestDisruption),
    column: {
      page: "Latest|nowrap",
      terminal: "LAST",
      sort: "recency",
      cell: (test) => ({ at: test.latestDisruption?.recordedAt ?? null }),
    },
  }),
  recent_nondeterministic_positive_result: field({
    schema: schemas.nullable(
      schemas.positiveResult,
      "The latest pass at a code version where it also failed",
    ),
    value: ({ latestPositive }) => latestPositive && views.positiveResult(latestPositive),
  }),
  tags: field({
    schema: schemas.described(
      v.array(v.string()),
      "Tags of all submissions that ran it, sorted",
    ),
    value: (test) => test.tags,
  }),
  quarantine_date: field({
    schema: schemas.nullable(schemas.timestamp, "Time of quarantine"),
    value: ({ quarantine }) => timestampOrNull(quarantine?.quarantinedAt ?? null),
  }),
  quarantined_by: field({
    schema: schemas.nullable(v.string(), "Who quarantined it"),
    value: ({ quarantine }) => quarantine?.quarantinedBy ?? null,
  }),
  quarantine_type: field({
    schema: schemas.nullable(v.picklist(["manual", "automatic"]), "Kind of quarantine"),
    value: ({ quarantine }) => quarantine?.quarantineType ?? null,
  }),
  time_consumed: field({
    schema: schemas.count("Microseconds of all its results of the last 14 days together"),
    value: (test) => test.timeConsumed ?? 0,
    needsTime: true,
  }),
  pass_rate: field({
    schema: schemas.nullable(
      schemas.share,
      "Passes in the passing and failing results of the last 14 days, truncated to 3 decimals",
    ),
    value: (test) => inUnits(passRateThousandths(test), 1000),
  }),
  avg_duration_ms: field({
    schema: schemas.nullable(
      v.pipe(v.number(), v.minValue(0)),
      "Average duration of its results of the last 14 days, rounded to 0.1 ms",
    ),
    value: (test) => inUnits(averageDurationTenths(test), 10),
    needsTime: true,
  }),
  quarantine_reason: field({
    schema: schemas.nullable(v.string(), "Why it is quarantined"),
    value: ({ quarantine }) => quarantine?.quarantineReason ?? null,
  }),
  quarantine_owner: field({
    schema: schemas.nullable(v.string(), "Who fixes the test"),
    value: ({ quarantine }) => quarantine?.quarantineOwner ?? null,
  }),
  quarantine_expires_at: field({
    schema: schemas.nullable(schemas.timestamp, "The first second after the quarantine"),
    value: ({ quarantine }) => timestampOrNull(quarantine?.quarantineExpiresAt ?? null),
  }),
  quarantine_environment: field({
    schema: schemas.nullable(
      v.string(),
      "Environments in which it is quarantined, separated by commas, in which * stands for any characters; " +
        "null also for all of them",
    ),
    value: ({ quarantine }) => quarantine?.quarantineEnvironment ?? null,
  }),
} satisfies Record<string, Field>;

/** Fields of the disruptive tests of a repository; each has had a disruption. */
const DISRUPTIVE = {
  disruptiveness: ratio,
  nondeterministic_negative_result_count: disruptionCount,
  nondeterminism_first_recorded_at: field({
    schema: schemas.described(schemas.timestamp, "The first disruption ever"),
    value: (test) => formatTimestamp(test.firstDisruptionAt!),
  }),
  latest_nondeterministic_commit_oid: field({
    schema: schemas.text("Commit of the latest disruption"),
    value: (test) => test.latestDisruption!.commitOid,
  }),
  latest_nondeterministic_negative_result: field({
    schema: schemas.described(schemas.negativeResult, "The latest disruption"),
    value: (test) => views.negativeResult(test.latestDisruption!),
  }),
  latest_nondeterministic_positive_result: field({
    schema: schemas.described(
      schemas.positiveResult,
      "The latest pass at a code version where the test also failed",
    ),
    value: (test) => views.positiveResult(test.latestPositive!),
  }),
} satisfies Record<string, Field>;

type Fields = Record<string, Field>;

function schemasOf<All extends Fields>(fields: All) {
  const entries = Object.entries(fields).map(([name, { schema }]) => [name, schema]);
  return Object.fromEntries(entries) as { [Name in keyof All]: All[Name]["schema"] };
}

function valuesOf<All extends Fields>(
  fields: All,
  test: TrackedTest,
  names: readonly (keyof All)[] = Object.keys(fields),
) {
  const values = names.map((name) => [name, fields[name]!.value(test)]);
  return Object.fromEntries(values) as {
    [Name in keyof All]: v.InferOutput<All[Name]["schema"]>;
  };
}

type IncludedName = keyof typeof INCLUDED;
const ALL_NAMES = Object.keys(INCLUDED) as IncludedName[];
const includedBy = (name: IncludedName) => (INCLUDED[name] as Field).includedBy ?? name;

/** All values of `include`. */
export const INCLUDE_NAMES: readonly string[] = ALL_NAMES.filter((name) =>
  includedBy(name) === name
);

export const includedSchemas = schemasOf(INCLUDED);
export const disruptiveSchemas = schemasOf(DISRUPTIVE);

/** The columns of lists of tests for people, in their order. */
export const COLUMNS: readonly Column[] = Object.values<Field>(INCLUDED)
  .flatMap(({ column }) => column ?? []);

/** `include`: the fields to add. Unknown names are dropped, a repeated one counts once. */
export const include = parameters.parsed(
  (text) => {
    const included = new Set(text.split(",").map((name) => name.trim()));
    return ALL_NAMES.filter((name) => included.has(includedBy(name)));
  },
  `Comma-separated fields to add to each test: ${INCLUDE_NAMES.join(", ")}. ` +
    "Unknown names are ignored",
  {
    jsonSchema: { type: "array", items: { type: "string", enum: INCLUDE_NAMES } },
    example: "disruptiveness_ratio,tags",
  },
);

/** Whether one of these fields needs `timeConsumed`. */
export function needTime(names: readonly IncludedName[]): boolean {
  return names.some((name) => (INCLUDED[name] as Field).needsTime);
}

/** A test with the fields that `include` adds, all unless given. */
export function testView(test: TrackedTest, names?: readonly IncludedName[]) {
  return { ...views.test(test), ...valuesOf(INCLUDED, test, names) };
}

/** A disruptive test as the list of a repository shows it. */
export function disruptiveTestView(test: TrackedTest) {
  return { ...views.test(test), ...valuesOf(DISRUPTIVE, test) };
}

function inUnits(count: number | null, perUnit: number): number | null {
  return count === null ? null : count / perUnit;
}
