/** The base branch of a repository: changes are made against it, and its failures are not theirs. */

/** Names by which a base branch is recognized, if they have builds. */
export const USUAL_BASE_BRANCHES = ["main", "master", "trunk", "develop"] as const;

/** A branch without builds in so many days is not taken for the base branch. */
export const BASE_DAYS = 90;

/** The base branch of a repository without builds. */
export const DEFAULT_BASE = USUAL_BASE_BRANCHES[0];

/** Patterns of the branches that count for a base branch: itself, and those of its merge queue. */
export function basePatterns(base: string): string[] {
  return [base, `gh-readonly-queue/${base}/*`];
}
