/** The values of `include`, and the fields that each adds to a test of the inventory. */
import * as v from "valibot";
import type { TrackedTest } from "../lib/analysis/tracked_test.ts";
import {
  countSchema,
  negativeResultSchema,
  negativeResultView,
  positiveResultSchema,
  positiveResultView,
  ratioView,
  timestampSchema,
  timestampView,
} from "./schemas.ts";

/** Fields by name, each with its schema and its value for a test. */
type Fields = Record<string, { schema: v.GenericSchema; view: (test: TrackedTest) => unknown }>;

const disruptionCount = {
  schema: countSchema("Disruptions of the last 14 days"),
  view: (test: TrackedTest) => test.disruptionCount,
};

const firstDisruptionAt = {
  schema: v.pipe(
    v.nullable(timestampSchema),
    v.description("The first disruption ever, null without any"),
  ),
  view: (test: TrackedTest) => timestampView(test.firstDisruptionAt),
};

// Two have a second spelling, which clients of the earlier version read.
const EXPANSIONS = {
  disruptiveness_ratio: {
    disruptiveness_ratio: {
      schema: v.pipe(
        v.number(),
        v.minValue(0),
        v.maxValue(1),
        v.description(
          "Share of disruptions in the passing and failing results of the last 14 days, truncated to " +
            "3 decimals",
        ),
      ),
      view: ratioView,
    },
  },
  nondeterministic_negative_result_count: {
    nondeterministic_negative_result_count: disruptionCount,
    disruption_count: disruptionCount,
  },
  nondeterminism_first_recorded_at: {
    nondeterminism_first_recorded_at: firstDisruptionAt,
    first_disruption_at: firstDisruptionAt,
  },
  recent_nondeterministic_commit_oid: {
    recent_nondeterministic_commit_oid: {
      schema: v.pipe(
        v.nullable(v.string()),
        v.description("Commit of the latest disruption, null without any"),
      ),
      view: ({ latestDisruption }) => latestDisruption?.commitOid ?? null,
    },
  },
  recent_nondeterministic_negative_result: {
    recent_nondeterministic_negative_result: {
      schema: v.pipe(
        v.nullable(negativeResultSchema),
        v.description("The latest disruption, null without any"),
      ),
      view: ({ latestDisruption }) => negativeResultView(latestDisruption),
    },
  },
  recent_nondeterministic_positive_result: {
    recent_nondeterministic_positive_result: {
      schema: v.pipe(
        v.nullable(positiveResultSchema),
        v.description("The latest pass at a code version where it also failed, null without any"),
      ),
      view: ({ latestPositive }) => positiveResultView(latestPositive),
    },
  },
  tags: {
    tags: {
      schema: v.pipe(
        v.array(v.string()),
        v.description("Tags of all submissions that ran the test, sorted"),
      ),
      view: ({ tags }) => tags,
    },
  },
  quarantine_date: {
    quarantine_date: {
      schema: v.pipe(
        v.nullable(timestampSchema),
        v.description("Time of quarantine, null when not quarantined"),
      ),
      view: ({ quarantine }) => timestampView(quarantine?.quarantinedAt ?? null),
    },
  },
  quarantined_by: {
    quarantined_by: {
      schema: v.pipe(
        v.nullable(v.string()),
        v.description("Who quarantined it, null when unknown"),
      ),
      view: ({ quarantine }) => quarantine?.quarantinedBy ?? null,
    },
  },
  quarantine_type: {
    quarantine_type: {
      schema: v.pipe(
        v.nullable(v.picklist(["manual", "automatic"])),
        v.description("Kind of quarantine, null when not quarantined"),
      ),
      view: ({ quarantine }) => quarantine?.quarantineType ?? null,
    },
  },
  time_consumed: {
    time_consumed: {
      schema: countSchema("Microseconds of all its results of the last 14 days together"),
      view: ({ timeConsumed }) => timeConsumed,
    },
  },
} satisfies Record<string, Fields>;

/** A value of `include`. */
export type Expansion = keyof typeof EXPANSIONS;

/** All values of `include`. */
export const EXPANSION_NAMES = Object.keys(EXPANSIONS) as Expansion[];

/** Schemas of the fields that `include` can add; each may be absent. */
export const expansionEntries = Object.fromEntries(
  EXPANSION_NAMES.flatMap((name) => Object.entries<Fields[string]>(EXPANSIONS[name]))
    .map(([field, { schema }]) => [field, v.optional(schema)]),
);

/** Parses `include`: unknown names are dropped, a repeated one counts once. */
export function parseExpansions(text: string): Expansion[] {
  const wanted = new Set(text.split(",").map((name) => name.trim()));
  return EXPANSION_NAMES.filter((name) => wanted.has(name));
}

/** The fields that these expansions add to a test. */
export function expansionsView(
  test: TrackedTest,
  expansions: readonly Expansion[],
): Record<string, unknown> {
  const view: Record<string, unknown> = {};
  for (const name of expansions) {
    for (const [field, { view: make }] of Object.entries<Fields[string]>(EXPANSIONS[name])) {
      view[field] = make(test);
    }
  }
  return view;
}
