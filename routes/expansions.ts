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

export const expansionEntries = {
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

type Expansion = keyof typeof expansionEntries;

/** The names under which clients of the earlier service read a field as well; not values of `include`. */
const ALIASES: { [Name in Expansion]?: Expansion } = {
  disruption_count: "nondeterministic_negative_result_count",
  first_disruption_at: "nondeterminism_first_recorded_at",
};

const FIELDS = Object.keys(expansionEntries) as Expansion[];

/** All values of `include`. */
export const EXPANSION_NAMES: readonly string[] = FIELDS.filter((field) => !ALIASES[field]);

/** `include`: the fields to add. Unknown names are dropped, a repeated one counts once. */
export const include = parameters.parsed(
  (text) => {
    const included = new Set(text.split(",").map((name) => name.trim()));
    return FIELDS.filter((field) => included.has(ALIASES[field] ?? field));
  },
  `Comma-separated fields to add to each test: ${EXPANSION_NAMES.join(", ")}. ` +
    "Unknown names are ignored",
  {
    jsonSchema: { type: "array", items: { type: "string", enum: EXPANSION_NAMES } },
    example: "disruptiveness_ratio,tags",
  },
);

/** Whether one of these fields needs `timeConsumed`. */
export function needTime(fields: readonly Expansion[]): boolean {
  return fields.includes("time_consumed") || fields.includes("avg_duration_ms");
}

/** Some of the fields that `include` can add to a test. */
export function someExpansionsView(test: TrackedTest, fields: readonly Expansion[]) {
  if (fields.length === 0) return {};
  const all = expansionsView(test);
  return Object.fromEntries(fields.map((field) => [field, all[field]]));
}

/** All fields that `include` can add to a test. */
export function expansionsView(test: TrackedTest) {
  const { disruptionCount, latestDisruption, latestPositive, quarantine } = test;
  const firstDisruptionAt = timestampOrNull(test.firstDisruptionAt);
  return {
    disruptiveness_ratio: views.ratio(test),
    nondeterministic_negative_result_count: disruptionCount,
    disruption_count: disruptionCount,
    nondeterminism_first_recorded_at: firstDisruptionAt,
    first_disruption_at: firstDisruptionAt,
    recent_nondeterministic_commit_oid: latestDisruption?.commitOid ?? null,
    recent_nondeterministic_negative_result: latestDisruption &&
      views.negativeResult(latestDisruption),
    recent_nondeterministic_positive_result: latestPositive &&
      views.positiveResult(latestPositive),
    tags: test.tags,
    quarantine_date: timestampOrNull(quarantine?.quarantinedAt ?? null),
    quarantined_by: quarantine?.quarantinedBy ?? null,
    quarantine_type: quarantine?.quarantineType ?? null,
    time_consumed: test.timeConsumed ?? 0,
    pass_rate: inUnits(passRateThousandths(test), 1000),
    avg_duration_ms: inUnits(averageDurationTenths(test), 10),
    quarantine_reason: quarantine?.quarantineReason ?? null,
    quarantine_owner: quarantine?.quarantineOwner ?? null,
    quarantine_expires_at: timestampOrNull(quarantine?.quarantineExpiresAt ?? null),
  };
}

function inUnits(count: number | null, perUnit: number): number | null {
  return count === null ? null : count / perUnit;
}
