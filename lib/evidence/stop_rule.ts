// Tests: tests/lib/evidence/stopped_test.ts
/** When a test, or an environment of a test, counts as no longer running. */
import { passesNeeded } from "./calm.ts";
import { findSegments } from "./segments.ts";

/** More runs of an environment say nothing about today. */
export const MAX_HISTORY_RUNS = 2_000;

/** Runs of its job without a test after which it stopped running. */
export const STOPPED_RUNS = 20;

/**
 * Where in a series of turns the own ones had stopped; `null` if they go on, or there is none. They stop after 20 turns
 * of others. What takes its turn with others, as a nightly run does that shares the name of its job with the runs of
 * each change, stops after as many as there were among its last 20 own turns.
 *
 * @param turns oldest first, whether each is an own one
 */
export function stoppedIndex(turns: readonly boolean[]): number | null {
  const last = turns.lastIndexOf(true);
  let own = 0;
  let others = 0;
  let othersAmong = 0;
  for (let at = last; at >= 0 && own < STOPPED_RUNS; at--) {
    if (turns[at]) {
      own++;
      othersAmong = others;
    } else others++;
  }
  if (own === 0) return null;
  const stop = last + Math.ceil(STOPPED_RUNS * Math.max(1, othersAmong / own));
  return stop < turns.length ? stop : null;
}

interface EnvironmentRun {
  environment: string;
  hasFailed: boolean;
}

/**
 * The environments in which a test stopped running while it goes on in others, such as a version that left the matrix.
 * A name that changed leaves its failures behind: they stand until the test has passed as often as calm needs.
 *
 * @param runs of the test, oldest first
 */
export function retiredEnvironments(runs: readonly EnvironmentRun[]): Set<string> {
  const last = new Map(runs.map(({ environment }, place) => [environment, place]));
  const retired = [...last].filter(([environment, place]) => {
    if (place + STOPPED_RUNS >= runs.length) return false;
    if (stoppedIndex(runs.map((run) => run.environment === environment)) === null) return false;
    const own = runs.filter((run) => run.environment === environment).slice(-MAX_HISTORY_RUNS);
    const passes = runs.slice(place + 1).filter(({ hasFailed }) => !hasFailed).length;
    return passes >= passesNeededAfter(own);
  });
  return new Set(retired.map(([environment]) => environment));
}

/** The passes that calm needs after runs, oldest first; 0 without a failure in the last segment. */
function passesNeededAfter(runs: readonly EnvironmentRun[]): number {
  const versions = {
    count: runs.length,
    runs: runs.map(() => 1),
    failures: runs.map(({ hasFailed }) => Number(hasFailed)),
  };
  const last = findSegments(versions).at(-1)!;
  return last.failures > 0 ? passesNeeded(last) : 0;
}
