// Tests: tests/lib/ci/services_test.ts tests/lib/ci/claims_test.ts tests/lib/intake/upload_values_test.ts
/** The branch of a ref `refs/heads/...`, `""` for others such as tags. */
export function branchOf(ref: string): string {
  return ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : "";
}

/** What git says of a detached checkout, unset variables and refs of pull requests. */
const NO_BRANCH =
  /^(?:HEAD|null|undefined|\(no branch\)|\(HEAD detached .*\)|refs\/(?:pull|pull-requests|merge-requests)\/.*|\d+\/(?:merge|head))$/;

/**
 * The branch that a text names, as git or CI writes it: `main` or `refs/heads/main`. `""` for what names none: as a
 * branch it would join the runs of different branches, and become the base branch.
 */
export function branchNamed(text: string): string {
  const name = text.trim().replace(/^refs\/heads\//, "");
  return NO_BRANCH.test(name) ? "" : name;
}

/** Said about a given branch that {@linkcode branchNamed} ignores. */
export const NO_BRANCH_NOTE =
  "ignored the branch: HEAD, null and the ref of a pull request name none";
