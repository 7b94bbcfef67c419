// Tests: tests/lib/ci/services_test.ts tests/lib/ci/claims_test.ts tests/lib/intake/upload_values_test.ts
import { quote } from "../base/quote.ts";

/** The branch of a ref `refs/heads/...`, `""` for others such as tags. */
export function branchOf(ref: string): string {
  return ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : "";
}

/** What git says of a detached checkout, unset variables, and refs of tags, pull requests and changes. */
const NO_BRANCH =
  /^(?:HEAD|detached|null|undefined|\(no branch\)|\(HEAD detached .*\)|(?:refs|remotes)\/.*|(?:(?:pull|pull-requests|merge-requests)\/)?\d+\/(?:merge|head|from|train))$/;

const HEADS = /^(?:refs\/)?heads\//;
// Jenkins' GIT_BRANCH is that of the remote, as git shows it: `origin/main`, `remotes/origin/main`.
const REMOTE = /^(?:(?:refs\/)?remotes\/)?origin\//;

/**
 * The branch that a text names, as git or CI writes it: `main`, `refs/heads/main` or `origin/main`. `""` for what
 * names none: as a branch it would join the runs of different branches, and become the base branch.
 */
export function branchNamed(text: string): string {
  const name = text.trim().replace(HEADS, "").replace(REMOTE, "");
  return NO_BRANCH.test(name) ? "" : name;
}

/** {@linkcode branchNamed} of what the uploader gives, with a note if it is ignored or loses the remote. */
export function branchGiven(text: string | undefined, note: (text: string) => void): string {
  const branch = branchNamed(text ?? "");
  if (branch === "" && text) {
    note("ignored the branch: HEAD, null and the ref of a tag or a pull request name none");
  } else if (text && REMOTE.test(text.trim().replace(HEADS, ""))) {
    note(`branch ${quote(text)}: stored as ${quote(branch)}, without the name of the remote`);
  }
  return branch;
}
