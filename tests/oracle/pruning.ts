/** What pruning changes: old submissions, and tests of which nothing is left, are unknown. */
import type { PlainSubmission } from "./model.ts";
import type { Oracle } from "./oracle.ts";

/**
 * Marks the submissions of code versions that have only old ones, and removes tests without a
 * submission, a disruption or a quarantine entry, ended or not. The submissions stay in the state, because the disruptions
 * that they proved remain.
 */
export function prune(oracle: Oracle, cutoff: number): void {
  const { state } = oracle;
  const version = (submission: PlainSubmission) =>
    `${submission.repository} ${oracle.codeVersion(submission)}`;
  const young = new Set(
    state.submissions.filter(({ recordedAt }) => recordedAt >= cutoff).map(version),
  );
  state.submissions = state.submissions.map((submission) =>
    submission.status === "processing" || young.has(version(submission))
      ? submission
      : { ...submission, isPruned: true }
  );
  const entries = new Set(state.quarantines.map(({ testId }) => testId));
  state.tests = state.tests.filter((test) =>
    entries.has(test.id) || oracle.disruptionsOf(test).length > 0 ||
    oracle.rowsOf(test).some(({ submission }) => young.has(version(submission)))
  );
}
