/** The one visible effect of pruning: tests of which nothing is left are unknown. */
import type { Oracle } from "./oracle.ts";

/**
 * Removes tests without a submission, a disruption or a quarantine. The submissions of a code version
 * are pruned together, once all of them are old. They stay in the state, because the disruptions that
 * they proved remain.
 */
export function forgetPrunedTests(oracle: Oracle, cutoff: number): void {
  const { state } = oracle;
  state.tests = state.tests.filter((test) => {
    if (oracle.quarantineOf(test) || oracle.disruptionsOf(test).length > 0) return true;
    const young = new Set(
      oracle.submissionsOf(test.repository)
        .filter(({ recordedAt }) => recordedAt >= cutoff)
        .map((submission) => oracle.codeVersion(submission)),
    );
    return oracle.rowsOf(test).some(({ submission }) => young.has(oracle.codeVersion(submission)));
  });
}
