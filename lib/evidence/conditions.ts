/** Under which conditions a test fails: values of its runs that its failures prefer. */
import { logGamma } from "./beta.ts";
import { MIN_BROKEN_RUNS } from "./states.ts";

/** A run of a test: whether it failed, and its environment, job, hour and the like. */
interface ConditionedRun {
  failed: boolean;
  /** Value by dimension; a dimension without a known value is left out. */
  values: Readonly<Record<string, string>>;
}

/** Under which conditions a run of a test ran; texts are `""` when unknown. */
interface RunConditions {
  environment: string;
  job: string;
  shard: string;
  runner: string;
  /** Seconds since 1970. */
  recordedAt: number;
}

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** The conditions of a run as values by dimension; hours and weekdays are in UTC. */
export function conditionsOfRun(
  { environment, job, shard, runner, recordedAt }: RunConditions,
): Record<string, string> {
  const time = new Date(recordedAt * 1000);
  return {
    ...environment && { environment },
    ...job && { job },
    ...shard && { shard },
    ...runner && { runner },
    hour: String(time.getUTCHours()).padStart(2, "0"),
    weekday: WEEKDAYS[time.getUTCDay()]!,
  };
}

/** A value of a dimension with more failures than chance explains. */
interface Condition {
  dimension: string;
  value: string;
  /** Runs with this value, and how many of them failed. */
  runs: number;
  failures: number;
  /** Runs with another value of the dimension. */
  otherRuns: number;
  otherFailures: number;
  /** The latest runs with this value, if they all failed after runs that passed, and are enough to call it broken; or 0. */
  brokenRuns: number;
  /** Of Fisher's exact test, one-sided. */
  probability: number;
}

/** The share of false conditions among those that are said. */
const FALSE_DISCOVERY_RATE = 0.05;

/**
 * The values that the failures of a test prefer, the least probable first: Fisher's exact test of each value
 * against the rest of its dimension, at a false discovery rate of 5 % over all that were tried (Benjamini and
 * Hochberg). Only an excess of failures is said.
 *
 * @param runs oldest first
 */
export function findConditions(runs: readonly ConditionedRun[]): Condition[] {
  const dimensions = new Set(runs.flatMap(({ values }) => Object.keys(values)));
  const tried = [...dimensions].flatMap((dimension) => conditionsOf(runs, dimension));
  tried.sort((one, other) => one.probability - other.probability);
  let said = 0;
  for (const [index, { probability }] of tried.entries()) {
    if (probability <= FALSE_DISCOVERY_RATE * (index + 1) / tried.length) said = index + 1;
  }
  return tried.slice(0, said).filter(({ runs, failures, otherRuns, otherFailures }) =>
    failures * otherRuns > otherFailures * runs
  );
}

function conditionsOf(runs: readonly ConditionedRun[], dimension: string): Condition[] {
  const known = runs.filter(({ values }) => values[dimension] !== undefined);
  const failures = known.filter(({ failed }) => failed).length;
  return [...Map.groupBy(known, ({ values }) => values[dimension]!)]
    // A value that all runs have is no condition.
    .filter(([, ofValue]) => ofValue.length < known.length)
    .map(([value, ofValue]) => {
      const own = ofValue.filter(({ failed }) => failed).length;
      const counts = {
        runs: ofValue.length,
        failures: own,
        otherRuns: known.length - ofValue.length,
        otherFailures: failures - own,
      };
      return {
        dimension,
        value,
        ...counts,
        brokenRuns: brokenRunsOf(ofValue),
        probability: excessProbability(counts),
      };
    });
}

function brokenRunsOf(runs: readonly ConditionedRun[]): number {
  const lastPass = runs.findLastIndex(({ failed }) => !failed);
  const lastFailures = runs.length - 1 - lastPass;
  return lastPass >= 0 && lastFailures >= MIN_BROKEN_RUNS ? lastFailures : 0;
}

/**
 * Fisher's exact test: the probability that at least as many failures have the value, if failures prefer
 * none.
 */
export function excessProbability(
  { runs, failures, otherRuns, otherFailures }: Pick<
    Condition,
    "runs" | "failures" | "otherRuns" | "otherFailures"
  >,
): number {
  const all = runs + otherRuns;
  const failed = failures + otherFailures;
  let sum = 0;
  for (let own = failures; own <= Math.min(runs, failed); own++) {
    if (failed - own > otherRuns) continue;
    sum += Math.exp(
      logChoose(runs, own) + logChoose(otherRuns, failed - own) - logChoose(all, failed),
    );
  }
  return Math.min(1, sum);
}

/** ln of the number of ways to choose `k` of `n`. */
function logChoose(n: number, k: number): number {
  return logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1);
}
