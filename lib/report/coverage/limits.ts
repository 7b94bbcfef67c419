/**
 * Limits of the coverage reports of one upload. No real CI comes near them; they bound memory and time
 * when a report is broken or hostile.
 */
export const DEFAULT_COVERAGE_LIMITS = {
  /** Greatest line number of a source file. The longest generated sources have some millions. */
  lineNumber: 10_000_000,
  /** One byte for each line of a file, and its path: several times the Linux kernel. */
  storedBytes: 256 * 1024 * 1024,
  /** Lines that all totals may claim together. Keeps sums exact with room to spare. */
  totalLineCount: 1_000_000_000_000,
  /** Of a line, tag or comment. Function names of C++ templates reach some thousands. */
  tokenCharacters: 1024 * 1024,
  /**
   * Of a JSON report, which is held in memory as a whole. Istanbul needs some 200 for each statement;
   * as many as this of "{}," take 1.1 GB.
   */
  jsonCharacters: 32 * 1024 * 1024,
  /**
   * Lines held until a file or class is complete: of methods of one source file in a Clover report of
   * PHPUnit, or of one class in a Cobertura report. Generated classes have some ten thousand.
   */
  methodLineCount: 100_000,
  /**
   * Lines that the blocks of all Go cover profiles span. A profile of many packages tested together
   * repeats each block, and comes to some ten million. As many as this take 0.3 to 1.2 seconds.
   */
  goBlockLineCount: 100_000_000,
};

export type CoverageLimits = Readonly<typeof DEFAULT_COVERAGE_LIMITS>;
