// Tests: tests/db/read/base_branch_test.ts
/** The base branch of a repository: changes are made against it, and its failures are not theirs. */
import { quote } from "../base/quote.ts";
import { SECONDS_PER_DAY } from "../base/time.ts";
import { branchNamed } from "../ci/git_ref.ts";
import { MERGE_QUEUE } from "../ci/merge_queue.ts";
import { matchesPatterns, parsePatterns, type Patterns } from "../query/submission_filter.ts";

/** Names by which a base branch is recognized, if they have builds. */
export const USUAL_BASE_BRANCHES = ["main", "master", "trunk", "develop"] as const;

/** A branch without builds for this many days is not taken for the base branch. */
export const BASE_DAYS = 90;

/** A test that was broken on a base branch without a run for this many days may be repaired. */
const INACTIVE_DAYS = 30;

/** Whether the base branch has not run for 30 days, by days of UTC: its tests do not count as broken or flaky now. */
export function isInactive(
  { latestRunAt, now }: { latestRunAt: number; now: number },
): boolean {
  const dayOf = (seconds: number) => Math.floor(seconds / SECONDS_PER_DAY);
  return dayOf(latestRunAt) < dayOf(now) - INACTIVE_DAYS;
}

/** The base branch of a repository without builds. */
export const DEFAULT_BASE = USUAL_BASE_BRANCHES[0];

/** Said instead of what the base branch has or does not have, where {@linkcode Base.isBaseNamed} is false. */
export const NO_BRANCH = "no upload names its branch";

/** What is said of a base branch that was set and has no builds, although other branches have. */
export function sayUnusedBase(
  { base, branches }: { base: string; branches: readonly string[] },
): string {
  return `no upload of the last ${BASE_DAYS} days names the branch ${quote(base)}; ` +
    `branches with builds: ${branches.join(", ")}`;
}

/** The base branch of a repository. */
export interface Base {
  base: string;
  /** Whether it has a known name; false where there are uploads and none names its branch. */
  isBaseNamed: boolean;
}

/** The base branch, and whether it is only the branch with most builds: it may be the branch of a change. */
export interface FoundBase extends Base {
  isBaseGuessed: boolean;
}

/**
 * The base branch of a repository as far as its row says: the one that was set, else the default branch as CI
 * says; `null` when it depends on the builds (`db/read/base_branch.ts`, which has the same rule in SQL).
 */
export function knownBaseBranch(
  { baseBranch, defaultBranch }: { baseBranch: string | null; defaultBranch: string | null },
): string | null {
  return baseBranch ?? defaultBranch;
}

/**
 * The branch of a run that was started for a pull request: `""` for one with the name of a base branch. It is of a
 * fork, or merges the base branch into another one: the run tests code that is not on the base branch.
 */
export function branchOfPull(branch: string, bases: readonly (string | null)[]): string {
  return bases.includes(branch) ? "" : branch;
}

/** Whether a run counts for one of the base branches: it is on it, or of a merge queue for it. */
export function countsForBase(
  { branch, queueBase = "" }: { branch: string; queueBase?: string | undefined },
  base: Patterns,
): boolean {
  return [branch, queueBase].some((name) => name !== "" && matchesPatterns(name, base));
}

/** Whether a run is of a merge queue: it tests a change that is not on the base branch yet. */
export function isOfQueue(
  { branch, queueBase = "" }: { branch: string; queueBase?: string | undefined },
): boolean {
  return queueBase !== "" || branch.startsWith(MERGE_QUEUE);
}

/** Whether all of some runs are known to be on other branches than the base branch; false without a run. */
export function areOnOtherBranches(
  runs: readonly { branch: string; queueBase: string }[],
  base: string,
): boolean {
  return runs.length > 0 &&
    runs.every((run) => run.branch !== "" && !countsForBase(run, basePatterns(base)));
}

/**
 * Patterns of the branches that are given as base branches.
 *
 * @throws {SyntaxError | RangeError}
 */
export function parseBases(text: string): Patterns {
  const patterns = parsePatterns(text);
  const none = patterns?.find((pattern) => branchNamed(pattern) === "");
  if (none === undefined) return patterns;
  throw new SyntaxError(`${quote(none)} names no branch`);
}

/** Patterns of the branches that count for a base branch: itself, and the branches of its merge queue. */
export function basePatterns(base: string): string[] {
  return [base, `${MERGE_QUEUE}${base}/*`];
}
