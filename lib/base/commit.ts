/** Ids of git: of commits and of trees. */

/** Digits of an abbreviated id, as many as git shows. */
const SHORT_DIGITS = 7;

/** Whether a text is the id of a commit or tree, whole or abbreviated: 7 to 64 hex digits. */
export function isGitId(text: string): boolean {
  return /^[0-9a-f]{7,64}$/i.test(text);
}

/** The first digits of a commit's id; any other text, such as `HEAD`, as it is. */
export function shortCommit(commitOid: string): string {
  return isGitId(commitOid) ? commitOid.slice(0, SHORT_DIGITS) : commitOid;
}
