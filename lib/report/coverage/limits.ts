/**
 * Limits of the coverage reports of one upload. No real CI comes near the defaults; they bound memory
 * and time when a report is broken or hostile.
 */
export interface CoverageLimits {
  /** Greatest line number of a source file. */
  lineNumber: number;
  /** Bytes kept for all source files of one upload: one for each line of a file, and its path. */
  storedBytes: number;
  /** Lines that all totals of one upload may claim together. */
  totalLineCount: number;
  /** Characters of one line of a text report, of one tag or comment of XML. */
  tokenCharacters: number;
  /** Characters of a JSON report, the one kind that is held in memory as a whole. */
  jsonCharacters: number;
  /**
   * Lines held until a file or class is complete: of methods of one source file in a Clover report of
   * PHPUnit, or of one class in a Cobertura report.
   */
  methodLineCount: number;
  /** Lines that all blocks of one upload's Go cover profiles span together, repetitions included. */
  goBlockLineCount: number;
}

/** The defaults. */
export const DEFAULT_COVERAGE_LIMITS: Readonly<CoverageLimits> = {
  // The longest generated sources have some millions of lines.
  lineNumber: 10_000_000,
  // Several times the Linux kernel.
  storedBytes: 256 * 1024 * 1024,
  // Keeps sums exact with room to spare.
  totalLineCount: 1_000_000_000_000,
  // Function names of C++ templates reach some thousands.
  tokenCharacters: 1024 * 1024,
  // Istanbul needs some 200 for each statement. As many as this of "{}," take 1.1 GB of memory.
  jsonCharacters: 32 * 1024 * 1024,
  // Generated classes have some ten thousand.
  methodLineCount: 100_000,
  // A profile of many packages tested together repeats each block for each of them, and comes to some
  // ten million lines. As many as this were taken in 0.3 to 1.2 seconds of a processor.
  goBlockLineCount: 100_000_000,
};
