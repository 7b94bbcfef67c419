// Tests: tests/lib/intake/read_files_test.ts
/** What the reports of an upload hide, which its results do not show. */
export interface ReportGaps {
  /** Reports that are empty or cut off: the process that wrote them died. */
  cutOffReportCount: number;
  /** Suites whose totals declare more tests than they list. */
  unlistedSuiteCount: number;
  /** Failures and errors outside of a test. */
  outsideFailureCount: number;
  /** Reports without a result. */
  emptyReportCount: number;
}

/** Of reports that hide nothing. */
export const NO_GAPS: ReportGaps = {
  cutOffReportCount: 0,
  unlistedSuiteCount: 0,
  outsideFailureCount: 0,
  emptyReportCount: 0,
};
