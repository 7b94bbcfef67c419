/**
 * The third rule of repetition: the submissions of one code version, which is a tree or a commit in one
 * environment and one job of one workflow. A later one repeats an earlier one of the same shard, or of any
 * shard where the test has a file, unless both are of one attempt of one build. Where the job is unknown,
 * all repeat each other.
 */
import { quote } from "../../base/quote.ts";
import type { Run } from "../run.ts";

/** What decides whether one run repeats another of its code version. */
export const REPETITION_COLUMNS = ["buildUrl", "job", "shard", "attempt"] as const;

type RepetitionColumn = typeof REPETITION_COLUMNS[number];

export type RepeatedRun = Pick<Run<RepetitionColumn>, RepetitionColumn>;

/** Whether one of two runs of a code version repeats the other for a test. */
export function repeats(
  a: RepeatedRun,
  b: RepeatedRun,
  { hasFile }: { hasFile: boolean },
): boolean {
  if (a.job === "") return true;
  return !areOfOneAttempt(a, b) && (hasFile || areOfOneShard(a, b));
}

function areOfOneAttempt(a: RepeatedRun, b: RepeatedRun): boolean {
  return a.buildUrl !== "" && a.buildUrl === b.buildUrl && a.attempt !== "" &&
    a.attempt === b.attempt;
}

/** An unknown shard is any. */
function areOfOneShard(a: RepeatedRun, b: RepeatedRun): boolean {
  return a.shard === b.shard || a.shard === "" || b.shard === "";
}

/**
 * Whether a test of a code version was run twice: two of its attempts passed or failed, in one run or in two of which
 * one repeats the other. Without that nothing can be called flaky, and nothing steady.
 *
 * @param runs of one code version
 */
export function wasRunTwice(
  runs: readonly (RepeatedRun & Run<"tests" | "results">)[],
  { hasFile }: { hasFile(testNo: number): boolean },
): boolean {
  if (runs.some(hasRetry)) return true;
  if (runs.length < 2 || findLegs(runs) !== null) return false;
  const ranIn = new Map<number, RepeatedRun[]>();
  for (const run of runs) {
    const ended = new Set(run.tests.testNos);
    run.results.eachException((testNo, { counts: { positive, negative } }) => {
      if (positive + negative === 0) ended.delete(testNo);
    });
    for (const testNo of ended) {
      const others = ranIn.get(testNo);
      if (!others) ranIn.set(testNo, [run]);
      else if (others.some((other) => repeats(other, run, { hasFile: hasFile(testNo) }))) {
        return true;
      } else others.push(run);
    }
  }
  return false;
}

/** Whether a test passed or failed more than once in a run. */
function hasRetry({ results }: Run<"results">): boolean {
  let found = false;
  results.eachException((_, { counts: { positive, negative } }) => {
    if (positive + negative > 1) found = true;
  });
  return found;
}

/** Two runs that nothing distinguishes, such as unnamed legs of a matrix, and a test of both. */
export interface Legs<Leg> {
  runs: [Leg, Leg];
  testNo: number;
}

/**
 * Unnamed legs: runs of one attempt of one build and of one shard that have a test in common.
 * Between the submissions of their code version, in whatever attempt or build, nothing is proved.
 */
export function findLegs<Leg extends RepeatedRun & Run<"tests">>(
  runs: readonly Leg[],
): Legs<Leg> | null {
  const named = runs.filter(({ job, buildUrl, attempt }) =>
    job !== "" && buildUrl !== "" && attempt !== ""
  );
  const groups = Map.groupBy(named, ({ buildUrl, attempt }) => `${attempt} ${buildUrl}`);
  for (const group of groups.values()) {
    if (group.length === 1) continue;
    /** The runs of each test, of different shards. */
    const seen = new Map<number, Leg[]>();
    for (const run of group) {
      for (const testNo of run.tests.testNos) {
        const others = seen.get(testNo);
        if (!others) seen.set(testNo, [run]);
        else {
          const other = others.find((one) => areOfOneShard(one, run));
          if (other) return { runs: [other, run], testNo };
          others.push(run);
        }
      }
    }
  }
  return null;
}

/** How the note of unnamed legs begins. */
export const LEGS_NOTE = "unnamed legs:";

/**
 * The note about a submission that is one of two unnamed legs.
 *
 * @param legs.test the name of a test that both ran
 * @param legs.key of the other submission
 */
export function sayLegs(
  { job, attempt, test, key }: { job: string; attempt: string; test: string; key: string },
): string {
  return `${LEGS_NOTE} attempt ${attempt} of the job ${quote(job)} uploaded ${
    quote(test)
  } twice, here and in ` +
    `${key}: results of this job are not compared between submissions of this code. ` +
    'Say what differs: --environment "$RUNNER_OS node-$NODE" for the legs of a matrix, --shard 2/8 for ' +
    "parts, --job NAME for other ways to run, or --attempt 2 for a repetition";
}
