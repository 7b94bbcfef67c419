// Tests: tests/lib/http/test_cache/cache_test.ts
/** The version of a repository's data, which changes with every upload, deletion and quarantine. */
interface DataVersion {
  /** Never equal to a version of another repository that had the same number before. */
  dataVersion: number;
}

/** The version of a repository's data and window: every response about it depends on nothing else. */
export interface WindowVersion extends DataVersion {
  /** The oldest submission of the window, 24 hex digits, or `null`: changes when one expires. */
  oldestSubmissionId: string | null;
  /**
   * The next end of a quarantine entry, seconds since 1970, or `null`. It changes when an entry ends.
   */
  nextQuarantineEnd: number | null;
}
