/** Ids of git: of commits and of trees. */

/** Digits of an abbreviated id, as many as git shows. */
const SHORT_DIGITS = 7;

/** Whether a text is the id of a commit or tree, whole or abbreviated: 7 to 64 hex digits. */
export function isGitId(text: string): boolean {
  return /^[0-9a-f]{7,64}$/i.test(text);
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
