// Tests: tests/lib/report/coverage/fixtures_test.ts tests/lib/report/growth_test.ts
/** The lines of the source files that the coverage reports of one upload cover. */
import { excerpt } from "../report_error.ts";
import { CoverageFormatError } from "./format_reader.ts";

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
  /** A line of text. Function names of C++ templates reach some thousands of characters. */
  lineCharacters: 1024 * 1024,
  /**
   * Of a JSON report, which is held in memory as a whole. Istanbul needs some 200 for each statement;
   * as many as this of "{}," take 1.1 GB.
   */
  jsonCharacters: 32 * 1024 * 1024,
  /**
   * Lines of the methods of one file or class, which are held until it is complete. Generated classes
   * have some ten thousand.
   */
  methodLineCount: 100_000,
  /**
   * Lines that the blocks of all Go cover profiles span. A profile of many packages tested together
   * repeats each block, and comes to some ten million. As many as this take 0.3 to 1.2 seconds.
   */
  goBlockLineCount: 100_000_000,
};

export type CoverageLimits = Readonly<typeof DEFAULT_COVERAGE_LIMITS>;

/** Covered lines and lines that can be covered; the first is never more than the second. */
export interface CoverageTotals {
  coveredLineCount: number;
  lineCount: number;
}

const MISSED = 1;
const COVERED = 2;

// Approximate memory of a Map entry and its objects.
const FILE_BYTES = 300;
const SMALLEST_FILE_LINES = 256;

/**
 * The lines of one source file that can be covered, and which of them are. A line that occurs more
 * than once is covered when it is covered in any of them.
 */
export class FileLines {
  coveredLineCount = 0;
  lineCount = 0;
  // One byte a line, by line number: a Map would take some forty.
  #states = new Uint8Array();
  readonly #map: CoverageMap;

  constructor(map: CoverageMap) {
    this.#map = map;
  }

  /** Adds a line; line 0, which tools write for generated code, is skipped. @throws {CoverageFormatError} */
  add(line: number, covered: boolean): void {
    if (line < 1) return;
    if (line >= this.#states.length) this.#grow(line);
    const before = this.#states[line];
    if (before === COVERED || (before === MISSED && !covered)) return;
    this.#states[line] = covered ? COVERED : MISSED;
    if (before === 0) this.lineCount++;
    if (covered) this.coveredLineCount++;
  }

  #grow(line: number): void {
    const { lineNumber } = this.#map.limits;
    if (line > lineNumber) {
      throw new CoverageFormatError(
        `found line number ${line}, expected at most ${lineNumber}`,
        "limit",
      );
    }
    const wanted = Math.max(SMALLEST_FILE_LINES, line + 1, 2 * this.#states.length);
    const states = new Uint8Array(Math.min(wanted, lineNumber + 1));
    this.#map.charge(states.length - this.#states.length);
    states.set(this.#states);
    this.#states = states;
  }
}

/** Covered lines by file, within limits of memory; files of the same path are merged. */
export class CoverageMap {
  readonly limits: CoverageLimits;
  /** By path; a file without one by a key of its own. A Map, because a file may be called `__proto__`. */
  readonly #files = new Map<string | symbol, FileLines>();
  #added: CoverageTotals = { coveredLineCount: 0, lineCount: 0 };
  #storedBytes = 0;
  #blockLineCount = 0;

  constructor(limits: CoverageLimits) {
    this.limits = limits;
  }

  /** The lines of a source file; created without any when it is new. @throws {CoverageFormatError} */
  file(path: string): FileLines {
    const key = normalizePath(path);
    if (key !== "") return this.#files.get(key) ?? this.#newFile(key);
    throw new CoverageFormatError(
      `found the path ${excerpt(path)}, expected the path of a source file`,
    );
  }

  /** A source file without a path, which is merged with no other. @throws {CoverageFormatError} */
  unnamedFile(): FileLines {
    return this.#newFile(Symbol());
  }

  #newFile(key: string | symbol): FileLines {
    this.charge(FILE_BYTES + (typeof key === "string" ? 2 * key.length : 0));
    const lines = new FileLines(this);
    this.#files.set(key, lines);
    return lines;
  }

  /** Counts memory that is about to be allocated. @throws {CoverageFormatError} when it is too much */
  charge(bytes: number): void {
    this.#storedBytes += bytes;
    const { storedBytes } = this.limits;
    if (this.#storedBytes <= storedBytes) return;
    throw new CoverageFormatError(
      `found more source lines than ${storedBytes} bytes hold`,
      "limit",
    );
  }

  /** Adds totals without lines. @throws {CoverageFormatError} when they are impossible or too large */
  addTotals({ coveredLineCount, lineCount }: CoverageTotals): void {
    if (!(coveredLineCount >= 0 && coveredLineCount <= lineCount)) {
      throw new CoverageFormatError(
        `found ${coveredLineCount} covered lines of ${lineCount}, expected 0 to ${lineCount}`,
      );
    }
    this.#added.coveredLineCount += coveredLineCount;
    this.#added.lineCount += lineCount;
    const { totalLineCount } = this.limits;
    if (this.#added.lineCount <= totalLineCount) return;
    throw new CoverageFormatError(
      `found totals of more than ${totalLineCount} lines, expected fewer`,
      "limit",
    );
  }

  /**
   * Counts the lines that blocks of a Go profile span before they are added: a few bytes can ask
   * for millions of them, in each report again. @throws {CoverageFormatError}
   */
  countBlockLines(count: number): void {
    this.#blockLineCount += count;
    const { goBlockLineCount } = this.limits;
    if (this.#blockLineCount <= goBlockLineCount) return;
    throw new CoverageFormatError(
      `found blocks over more than ${goBlockLineCount} lines, expected fewer`,
      "limit",
    );
  }

  /** The sum over all files, and the totals that were added. */
  totals(): CoverageTotals {
    let { coveredLineCount, lineCount } = this.#added;
    for (const file of this.#files.values()) {
      coveredLineCount += file.coveredLineCount;
      lineCount += file.lineCount;
    }
    return { coveredLineCount, lineCount };
  }
}

/**
 * Brings the path of a source file into one form, so that `./a.c` and `lib/../a.c` are one file,
 * and `C:\src\a.cs` and `c:/src/a.cs` too.
 *
 * A relative path is never joined to an absolute one: two packages with a `src/index.ts` of their
 * own would become one file. Letter case counts, as it does where most reports are written.
 */
export function normalizePath(path: string): string {
  const slashed = path.trim().replace(/^file:\/\//, "").replaceAll("\\", "/")
    // A URL of a Windows file has a slash before the drive letter.
    .replace(/^\/?([A-Za-z]):\//, (_, drive: string) => `${drive.toUpperCase()}:/`);
  const absolute = slashed.startsWith("/");
  const segments: string[] = [];
  for (const segment of slashed.split("/")) {
    if (segment === "" || segment === ".") continue;
    const last = segments.at(-1);
    if (segment !== "..") segments.push(segment);
    else if (last !== undefined && last !== "..") segments.pop();
    else if (!absolute) segments.push(segment);
  }
  return (absolute ? "/" : "") + segments.join("/");
}
