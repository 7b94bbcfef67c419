/** What tells one state of a repository from another. */

/** A state of a repository's data. */
export interface DataVersion {
  /**
   * When the repository was created, seconds since 1970: one that was deleted and created anew under
   * its old number is another.
   */
  createdAt: number;
  dataVersion: number;
}

/** A state of a repository's data and of its window: while it stays, so does every answer. */
export interface WindowVersion extends DataVersion {
  /**
   * The oldest submission of the window, 24 hex digits, or `null`. While it and the data version
   * stay, the window holds the same submissions: nothing has fallen out of it.
   */
  oldestSubmissionId: string | null;
}
