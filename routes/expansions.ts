/** The values of `include`, and the fields that each adds to a test of the inventory. */
import * as v from "valibot";
import {
  averageDurationTenths,
  passRateThousandths,
  type TrackedTest,
} from "../lib/analysis/tracked_test.ts";
import * as schemas from "./schemas.ts";
import { negativeResultView, positiveResultView, ratioView, timestampView } from "./views.ts";

/** A field of a test, and the name under which clients of the earlier service read it as well. */
interface ExpansionField {
  schema: v.GenericSchema;
  view(test: TrackedTest): unknown;
  alias?: string;
  /** Whether it needs `timeConsumed`. */
  needsTime?: true;
}

const EXPANSIONS: Readonly<Record<string, ExpansionField>> = {
  disruptiveness_ratio: { schema: schemas.ratio, view: ratioView },
  nondeterministic_negative_result_count: {
    schema: schemas.count("Disruptions of the last 14 days"),
    view: ({ disruptionCount }) => disruptionCount,
    alias: "disruption_count",
  },
  nondeterminism_first_recorded_at: {
    schema: schemas.nullable(schemas.timestamp, "The first disruption ever, null without any"),
    view: ({ firstDisruptionAt }) => timestampView(firstDisruptionAt),
    alias: "first_disruption_at",
  },
  recent_nondeterministic_commit_oid: {
    schema: schemas.nullable(v.string(), "Commit of the latest disruption, null without any"),
    view: ({ latestDisruption }) => latestDisruption?.commitOid ?? null,
  },
  recent_nondeterministic_negative_result: {
    schema: schemas.nullable(schemas.negativeResult, "The latest disruption, null without any"),
    view: ({ latestDisruption }) => negativeResultView(latestDisruption),
  },
  recent_nondeterministic_positive_result: {
    schema: schemas.nullable(
      schemas.positiveResult,
      "The latest pass at a code version where it also failed, null without any",
    ),
    view: ({ latestPositive }) => positiveResultView(latestPositive),
  },
  tags: {
    schema: schemas.described(
      v.array(v.string()),
      "Tags of all submissions that ran the test, sorted",
    ),
    view: ({ tags }) => tags,
  },
  quarantine_date: {
    schema: schemas.nullable(schemas.timestamp, "Time of quarantine, null when not quarantined"),
    view: ({ quarantine }) => timestampView(quarantine?.quarantinedAt ?? null),
  },
  quarantined_by: {
    schema: schemas.nullable(v.string(), "Who quarantined it, null when unknown"),
    view: ({ quarantine }) => quarantine?.quarantinedBy ?? null,
  },
  quarantine_type: {
    schema: schemas.nullable(
      v.picklist(["manual", "automatic"]),
      "Kind of quarantine, null when not quarantined",
    ),
    view: ({ quarantine }) => quarantine?.quarantineType ?? null,
  },
  time_consumed: {
    schema: schemas.count("Microseconds of all its results of the last 14 days together"),
    view: ({ timeConsumed }) => timeConsumed,
    needsTime: true,
  },
  pass_rate: {
    schema: schemas.nullable(
      v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
      "Share of passes in the passing and failing results of the last 14 days, truncated to " +
        "3 decimals, null without any",
    ),
    view: (test) => inUnits(passRateThousandths(test), 1000),
  },
  avg_duration_ms: {
    schema: schemas.nullable(
      v.pipe(v.number(), v.minValue(0)),
      "Average duration of its results of the last 14 days, rounded to 0.1 ms, null without any",
    ),
    view: (test) => inUnits(averageDurationTenths(test), 10),
    needsTime: true,
  },
  quarantine_reason: {
    schema: schemas.nullable(v.string(), "Why it is quarantined, null when unknown"),
    view: ({ quarantine }) => quarantine?.quarantineReason ?? null,
  },
  quarantine_owner: {
    schema: schemas.nullable(v.string(), "Who fixes the test, null when unknown"),
    view: ({ quarantine }) => quarantine?.quarantineOwner ?? null,
  },
  quarantine_expires_at: {
    schema: schemas.nullable(
      schemas.timestamp,
      "End of the quarantine, the first second without it; null when it has none",
    ),
    view: ({ quarantine }) => timestampView(quarantine?.quarantineExpiresAt ?? null),
  },
};

/** All values of `include`. */
export const EXPANSION_NAMES: readonly string[] = Object.keys(EXPANSIONS);

/** Schemas of all fields that `include` can add. */
export const expansionEntries: Record<string, v.GenericSchema> = Object.fromEntries(
  Object.entries(EXPANSIONS).flatMap(([name, { schema, alias = name }]) =>
    [name, alias].map((field) => [field, schema])
  ),
);

/** Whether one of these expansions needs `timeConsumed`. */
export function needTime(expansions: readonly string[]): boolean {
  return expansions.some((name) => EXPANSIONS[name]!.needsTime);
}

/** A number of fractions of a unit in that unit. */
function inUnits(count: number | null, perUnit: number): number | null {
  return count === null ? null : count / perUnit;
}

/** Parses `include`: unknown names are dropped, a repeated one counts once. */
export function parseExpansions(text: string): string[] {
  const included = new Set(text.split(",").map((name) => name.trim()));
  return EXPANSION_NAMES.filter((name) => included.has(name));
}

/** The fields that these expansions add to a test. */
export function expansionsView(test: TrackedTest, expansions: readonly string[]) {
  const fields: Record<string, unknown> = {};
  for (const name of expansions) {
    const { view, alias = name } = EXPANSIONS[name]!;
    fields[name] = view(test);
    fields[alias] = fields[name];
  }
  return fields;
}
