import type { HistoryRun } from "../../../lib/evidence/test_evidence.ts";
import type { VersionOutcome, VersionOutcomes } from "../../../lib/evidence/segments.ts";

/** Code versions one by one, as the arrays that segments are found in. */
export function outcomesOf(versions: readonly VersionOutcome[]): VersionOutcomes {
  return {
    count: versions.length,
    runs: versions.map(({ runs }) => runs),
    failures: versions.map(({ failures }) => failures),
  };
}

/** The commit of a run. */
export const commitAt = (index: number) => index.toString(16).padStart(40, "0");

/** Runs of commits in a row: `.` passed, `F` failed, `r` failed and passed when it was repeated. */
export function runsOf(signs: string, environment = ""): HistoryRun[] {
  return [...signs].map((sign, index) => ({
    commitOid: commitAt(index),
    treeOid: null,
    code: commitAt(index),
    environment,
    job: "",
    recordedAt: index,
    hasFailed: sign !== ".",
    hasFailedAtLast: sign === "F",
  }));
}
