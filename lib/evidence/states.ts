/** The state of a test on the base branch. */
import { wilsonLowerBound } from "../analysis/wilson.ts";
import { compareTexts } from "../base/text.ts";
import type { Segment } from "./segments.ts";

/** States of a test, the worst first. */
export const TEST_STATES = ["broken", "flaky", "healthy", "new"] as const;

export type TestState = typeof TEST_STATES[number];

/** The states of what needs work. */
export const BAD_STATES: readonly TestState[] = ["broken", "flaky"];

/** Fewer failed runs in a row are an accident as well as a breakage. */
export const MIN_BROKEN_RUNS = 3;

/** Failed runs of a job in a row that make a test broken although earlier ones passed. */
export const MIN_FAILING_RUNS = 10;

/** Fewer runs without a failure say little. */
const MIN_HEALTHY_RUNS = 10;

/** The history of a test in one environment. */
interface HistoryFacts {
  /** Oldest first. */
  segments: readonly Pick<Segment, "runs" | "failures">[];
  /** Runs of the last segment whose final attempt failed. */
  lastFinalFailures: number;
  /** Whether the test is disruptive in the window, in this environment. */
  isDisruptive: boolean;
}

/**
 * The state of a test in one environment: broken when every run of the last segment failed at last, flaky when
 * there are failures in it or the test is disruptive, healthy after 10 runs, otherwise new.
 */
export function stateIn({ segments, lastFinalFailures, isDisruptive }: HistoryFacts): TestState {
  const last = segments.at(-1);
  if (last && last.runs >= MIN_BROKEN_RUNS && lastFinalFailures === last.runs) return "broken";
  if (isDisruptive || last && last.failures > 0) return "flaky";
  const runs = segments.reduce((sum, segment) => sum + segment.runs, 0);
  return runs >= MIN_HEALTHY_RUNS ? "healthy" : "new";
}

/** What decides which environment stands for a test. */
interface EnvironmentState {
  environment: string;
  state: TestState;
  /** Runs of the last segment. */
  runs: number;
}

/** The environment with the worst state, of equals the one with most runs, then by name; `undefined` of none. */
export function worstEnvironment<Environment extends EnvironmentState>(
  environments: readonly Environment[],
): Environment | undefined {
  const rank = ({ state }: EnvironmentState) => TEST_STATES.indexOf(state);
  return environments.toSorted((a, b) =>
    rank(a) - rank(b) || b.runs - a.runs || (a.environment < b.environment ? -1 : 1)
  )[0];
}

interface TestRate {
  id: string;
  failures: number;
  runs: number;
}

/** Sorts the highest failure rate first, by its lower bound: small samples do not come first. */
export function compareFailureRates(a: TestRate, b: TestRate): number {
  return wilsonLowerBound(b.failures, b.runs) - wilsonLowerBound(a.failures, a.runs) ||
    compareTexts(a.id, b.id);
}

type ListedTest = TestRate & { state: TestState; isStopped: boolean };

/** Sorts the worst state first, in it the tests that still run, then the highest failure rate. */
export function compareStates(a: ListedTest, b: ListedTest): number {
  return TEST_STATES.indexOf(a.state) - TEST_STATES.indexOf(b.state) ||
    Number(a.isStopped) - Number(b.isStopped) || compareFailureRates(a, b);
}
