// Tests: tests/routes/verdicts_test.ts
import { coversEnvironment } from "./quarantine.ts";
import type { TrackedTest } from "./tracked_test.ts";

const NOT_NEW_VERDICTS = ["quarantined", "flaky", "known"] as const;

export const VERDICTS = [...NOT_NEW_VERDICTS, "new"] as const;

/** `flaky`: disruptive in the window; `known`: it also failed in the window on the base branch. */
export type Verdict = typeof VERDICTS[number];

/** A quarantined test that failed for a cause that it is not known for: the gate does not excuse it. */
export const NEW_CAUSE = "quarantined, new cause";

/** What most probably needs work comes first; `unknown`: the service did not answer. */
const ORDER = ["new", NEW_CAUSE, "unknown", "known", "flaky", "quarantined"];

export function compareVerdicts(a: string, b: string): number {
  return ORDER.indexOf(a) - ORDER.indexOf(b);
}

/**
 * The first verdict that applies to a failed test; `tracked` is its entry in the lists, if any.
 *
 * @param run the environment in which it failed, and whether it failed on the base branch as well
 */
export function verdictOf(
  tracked: TrackedTest | undefined,
  { environment, hasFailedOnBase }: { environment: string; hasFailedOnBase: boolean },
): Verdict {
  if (tracked?.quarantine && coversEnvironment(tracked.quarantine, environment)) {
    return "quarantined";
  }
  if (tracked && tracked.disruptionCount > 0) return "flaky";
  return hasFailedOnBase ? "known" : "new";
}
