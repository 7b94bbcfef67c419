/** The values of `include`, and the fields that each adds to a test of the inventory. */
import * as v from "valibot";
import {
  averageDurationTenths,
  passRateThousandths,
  type TrackedTest,
} from "../lib/analysis/tracked_test.ts";
import { timestampOrNull } from "../lib/base/time.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import * as schemas from "./schemas.ts";
import * as views from "./views.ts";

const disruptionCount = schemas.count("Disruptions of the last 14 days");
const firstDisruptionAt = schemas.nullable(schemas.timestamp, "The first disruption ever");

export const entries = {
  disruptiveness_ratio: schemas.ratio,
  nondeterministic_negative_result_count: disruptionCount,
  disruption_count: disruptionCount,
  nondeterminism_first_recorded_at: firstDisruptionAt,
  first_disruption_at: firstDisruptionAt,
  recent_nondeterministic_commit_oid: schemas.nullable(
    v.string(),
    "Commit of the latest disruption",
  ),
  recent_nondeterministic_negative_result: schemas.nullable(
    schemas.negativeResult,
    "The latest disruption",
  ),
  recent_nondeterministic_positive_result: schemas.nullable(
    schemas.positiveResult,
    "The latest pass at a code version where it also failed",
  ),
  tags: schemas.described(v.array(v.string()), "Tags of all submissions that ran it, sorted"),
  quarantine_date: schemas.nullable(schemas.timestamp, "Time of quarantine"),
  quarantined_by: schemas.nullable(v.string(), "Who quarantined it"),
  quarantine_type: schemas.nullable(v.picklist(["manual", "automatic"]), "Kind of quarantine"),
  time_consumed: schemas.count("Microseconds of all its results of the last 14 days together"),
  pass_rate: schemas.nullable(
    schemas.share,
    "Passes in the passing and failing results of the last 14 days, truncated to 3 decimals",
  ),
  avg_duration_ms: schemas.nullable(
    v.pipe(v.number(), v.minValue(0)),
    "Average duration of its results of the last 14 days, rounded to 0.1 ms",
  ),
  quarantine_reason: schemas.nullable(v.string(), "Why it is quarantined"),
  quarantine_owner: schemas.nullable(v.string(), "Who fixes the test"),
  quarantine_expires_at: schemas.nullable(
    schemas.timestamp,
    "The first second after the quarantine",
  ),
};

type Expansion = keyof typeof entries;

/** The names under which clients of the earlier service read a field as well; not values of `include`. */
const ALIASES: { [Name in Expansion]?: Expansion } = {
  disruption_count: "nondeterministic_negative_result_count",
  first_disruption_at: "nondeterminism_first_recorded_at",
};

const FIELDS = Object.keys(entries) as Expansion[];

/** All values of `include`. */
export const NAMES: readonly string[] = FIELDS.filter((field) => !ALIASES[field]);

/** `include`: the fields to add. Unknown names are dropped, a repeated one counts once. */
export const include = parameters.parsed(
  (text) => {
    const included = new Set(text.split(",").map((name) => name.trim()));
    return FIELDS.filter((field) => included.has(ALIASES[field] ?? field));
  },
  `Comma-separated fields to add to each test: ${NAMES.join(", ")}. ` +
    "Unknown names are ignored",
  {
    jsonSchema: { type: "array", items: { type: "string", enum: NAMES } },
    example: "disruptiveness_ratio,tags",
  },
);

/** Whether one of these fields needs `timeConsumed`. */
export function needTime(fields: readonly Expansion[]): boolean {
  return fields.includes("time_consumed") || fields.includes("avg_duration_ms");
}

const VIEWS = {
  disruptiveness_ratio: views.ratio,
  nondeterministic_negative_result_count: (test) => test.disruptionCount,
  disruption_count: (test) => test.disruptionCount,
  nondeterminism_first_recorded_at: (test) => timestampOrNull(test.firstDisruptionAt),
  first_disruption_at: (test) => timestampOrNull(test.firstDisruptionAt),
  recent_nondeterministic_commit_oid: (test) => test.latestDisruption?.commitOid ?? null,
  recent_nondeterministic_negative_result: ({ latestDisruption }) =>
    latestDisruption && views.negativeResult(latestDisruption),
  recent_nondeterministic_positive_result: ({ latestPositive }) =>
    latestPositive && views.positiveResult(latestPositive),
  tags: (test) => test.tags,
  quarantine_date: ({ quarantine }) => timestampOrNull(quarantine?.quarantinedAt ?? null),
  quarantined_by: ({ quarantine }) => quarantine?.quarantinedBy ?? null,
  quarantine_type: ({ quarantine }) => quarantine?.quarantineType ?? null,
  time_consumed: (test) => test.timeConsumed ?? 0,
  pass_rate: (test) => inUnits(passRateThousandths(test), 1000),
  avg_duration_ms: (test) => inUnits(averageDurationTenths(test), 10),
  quarantine_reason: ({ quarantine }) => quarantine?.quarantineReason ?? null,
  quarantine_owner: ({ quarantine }) => quarantine?.quarantineOwner ?? null,
  quarantine_expires_at: ({ quarantine }) =>
    timestampOrNull(quarantine?.quarantineExpiresAt ?? null),
} satisfies Record<Expansion, (test: TrackedTest) => unknown>;

/** The fields that `include` adds to a test, all unless given. */
export function view(test: TrackedTest, fields = FIELDS) {
  const values = fields.map((field) => [field, VIEWS[field](test)]);
  return Object.fromEntries(values) as { [Name in Expansion]: ReturnType<typeof VIEWS[Name]> };
}

function inUnits(count: number | null, perUnit: number): number | null {
  return count === null ? null : count / perUnit;
}
