/** What pruning takes away that can be asked for: everything else is answered as before. */
import type { Oracle } from "./oracle.ts";

/**
 * Forgets tests that nothing is left of: no submission that ran them, no disruption, no quarantine.
 * The submissions of a code version go together, when all of them are old. They stay in the state,
 * because what they proved stays.
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
