/** Verdicts on failures that are not new. */
export const KNOWN_VERDICTS = ["quarantined", "flaky", "known"] as const;

export const VERDICTS = [...KNOWN_VERDICTS, "new"] as const;

/** `flaky`: disruptive in the window; `known`: it also failed in the window on the base branch. */
export type Verdict = typeof VERDICTS[number];

/** The first verdict that applies. */
export function verdictOf(
  { isQuarantined, isDisruptive, hasFailedOnBase }: {
    isQuarantined: boolean;
    isDisruptive: boolean;
    hasFailedOnBase: boolean;
  },
): Verdict {
  if (isQuarantined) return "quarantined";
  if (isDisruptive) return "flaky";
  return hasFailedOnBase ? "known" : "new";
}
