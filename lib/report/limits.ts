/**
 * Limits of a report. No report of a real test tool comes near them; they bound memory and time when a
 * report is broken or hostile.
 */
export const REPORT_LIMITS = {
  /** Elements inside each other. Nested suites follow folders or describe blocks: a dozen is deep. */
  elementDepth: 1_000,
  /** Attributes of one element. A testcase has at most about ten. */
  attributeCount: 1_000,
  /** An attribute's value, or a whole tag. Some tools write the diff of two large values. */
  attributeCharacters: 16 * 1024 * 1024,
  /** The name of an XML element, attribute or entity. */
  markupNameCharacters: 1_024,
  /** The name of a suite, class, test (with its parameters) or file. Names are never cut. */
  nameCharacters: 64 * 1024,
  /** Attempts of one `testcase` element. */
  attemptCount: 10_000,
  /** Results of one upload, in all its files. Two million take about 1 GB of memory. */
  resultCount: 2_000_000,
};

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

/**
 * Limits of an archive. No real CI comes near them; they bound memory and time when an archive is
 * broken or hostile.
 */
export const ARCHIVE_LIMITS = {
  /** The archive as it is stored. Half a million results are about 10 MB. */
  compressedBytes: 512 * 1024 * 1024,
  /** Everything that comes out of it, headers and padding included. */
  decompressedBytes: 2 * 1024 * 1024 * 1024,
  /** Reports of similar tests shrink to a fortieth; nothing but zeros to a thousandth. */
  expansionRatio: 200,
  /** Decompressed bytes up to which the ratio is not checked. */
  ratioFreeBytes: 64 * 1024 * 1024,
  /** Files, folders and links. A large project has a file for each test class. */
  entryCount: 100_000,
  /** One file in it. */
  entryBytes: 1024 * 1024 * 1024,
  pathCharacters: 4_096,
  /** `buildpulse.yml`. */
  metadataBytes: 256 * 1024,
  /** `CODEOWNERS`: what GitHub accepts at most. */
  codeownersBytes: 3 * 1024 * 1024,
};

export type ArchiveLimits = Readonly<typeof ARCHIVE_LIMITS>;
