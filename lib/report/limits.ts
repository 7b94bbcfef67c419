/**
 * Limits of a report. No report of a real test tool comes near the defaults; they bound memory and
 * time when a report is broken or hostile.
 */
export interface ReportLimits {
  /** Elements inside each other. */
  elementDepth: number;
  /** Attributes of one element. */
  attributeCount: number;
  /** Characters of one attribute's value, and of a whole tag as written. */
  attributeCharacters: number;
  /** Characters of an XML name: of an element, an attribute, an entity. */
  markupNameCharacters: number;
  /** Characters of a suite, class or test name and of a file path. They are never cut. */
  nameCharacters: number;
  /** Attempts of one `testcase` element. */
  attemptCount: number;
  /** Results of one upload, over all its files. */
  resultCount: number;
}

/** The defaults. */
export const DEFAULT_REPORT_LIMITS: Readonly<ReportLimits> = {
  // Nested suites follow folders or describe blocks: a dozen is deep.
  elementDepth: 1_000,
  // A testcase has at most about ten.
  attributeCount: 1_000,
  // Some tools write the diff of two large values into the message.
  attributeCharacters: 16 * 1024 * 1024,
  markupNameCharacters: 1_024,
  // Parameterized tests put their arguments into the name.
  nameCharacters: 64 * 1024,
  attemptCount: 10_000,
  // The largest suites have some hundred thousand tests. Two million take about 1 GB of memory.
  resultCount: 2_000_000,
};

/** Limits of tags. */
export const TAG_LIMITS = {
  /** Characters of one tag. */
  characters: 200,
  /** Tags of one upload, owners of files not counted. */
  perUpload: 100,
  /**
   * Distinct tags of all tests of a repository, owners of files included. CODEOWNERS of the largest
   * open repositories name some 1,500 owners.
   */
  perRepository: 2_000,
};
