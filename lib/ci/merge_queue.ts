// Tests: tests/lib/ci/ci_test.ts tests/lib/ci/claims_test.ts tests/db/read/base_branch_test.ts
/** Branches of GitHub's merge queue begin with it: `gh-readonly-queue/main/pr-77-0123456`. */
export const MERGE_QUEUE = "gh-readonly-queue/";

const QUEUE_BRANCH = new RegExp(`^${MERGE_QUEUE}(.+)/pr-(?=[^/])(?:(\\d+)-)?[^/]*$`);

/** The branch that a branch of GitHub's merge queue is for, and its pull request; `""` for every other branch. */
export function mergeQueueOf(branch: string): { base: string; pull: string } {
  const [, base = "", pull = ""] = QUEUE_BRANCH.exec(branch) ?? [];
  return { base, pull };
}
