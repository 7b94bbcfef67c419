import type { VersionOutcome, VersionOutcomes } from "../../../lib/evidence/segments.ts";

/** Code versions one by one, as the arrays that segments are found in. */
export function outcomesOf(versions: readonly VersionOutcome[]): VersionOutcomes {
  return {
    count: versions.length,
    runs: versions.map(({ runs }) => runs),
    failures: versions.map(({ failures }) => failures),
  };
}
