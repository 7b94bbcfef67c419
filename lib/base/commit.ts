/** Ids of git: of commits and of trees. */

/** Digits of an abbreviated id, as many as git shows. */
const SHORT_DIGITS = 7;

/** Digits of the shortest id that names a commit or tree. */
export const MIN_ID_LENGTH = 7;

/** Digits of a whole id of SHA-1; those of SHA-256 are longer. */
export const WHOLE_ID_LENGTH = 40;

const GIT_ID = new RegExp(`^[0-9a-f]{${MIN_ID_LENGTH},64}$`, "i");

/** Whether a text is the id of a commit or tree, whole or abbreviated: 7 to 64 hex digits. */
export function isGitId(text: string): boolean {
  return GIT_ID.test(text);
}

/**
 * The code version of a run, as the column `code_version` of its submission: the tree, else the commit; `null`
 * when neither is known.
 */
export function codeVersion({ tree, commit }: { tree: string; commit: string }): string | null {
  if (tree !== "") return `tree:${tree}`;
  return isGitId(commit) ? codeOfCommit(commit) : null;
}

/** The code version of a commit without a tree; for an abbreviated id the beginning of those it fits. */
export function codeOfCommit(id: string): string {
  return `commit:${id}`;
}

/** What is wrong with an abbreviated id that is the beginning of several. */
export function severalCommits(abbreviated: string): string {
  return `commit ${abbreviated} is abbreviated and fits several: give its whole id`;
}

/** Whether ids are those of several commits, not one id and abbreviations of it. */
export function areSeveral(ids: ReadonlySet<string>): boolean {
  const longest = [...ids].reduce((one, other) => other.length > one.length ? other : one, "");
  return [...ids].some((id) => !longest.startsWith(id));
}

/** The first digits of a commit's id; any other text, such as `HEAD`, as it is. */
export function shortCommit(commitOid: string): string {
  return isGitId(commitOid) ? commitOid.slice(0, SHORT_DIGITS) : commitOid;
}
