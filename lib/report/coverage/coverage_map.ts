import { quote } from "../report_error.ts";
import type { CoverageLimits } from "./limits.ts";
import { normalizePath } from "./path.ts";
import { Refusal } from "./refusal.ts";

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
  // One byte a line, by line number: a Map would take some forty.
  #states = new Uint8Array();
  #coveredLineCount = 0;
  #lineCount = 0;
  readonly #greatestLine: number;
  readonly #charge: (bytes: number) => void;

  /** `charge` is called with the bytes about to be allocated; it throws if too many. */
  constructor(greatestLine: number, charge: (bytes: number) => void) {
    this.#greatestLine = greatestLine;
    this.#charge = charge;
  }

  get coveredLineCount(): number {
    return this.#coveredLineCount;
  }

  get lineCount(): number {
    return this.#lineCount;
  }

  /** Adds a line; line 0, which tools write for generated code, is skipped. @throws {Refusal} */
  add(line: number, covered: boolean): void {
    if (line < 1) return;
    if (line >= this.#states.length) this.#grow(line);
    const before = this.#states[line];
    if (before === COVERED || (before === MISSED && !covered)) return;
    this.#states[line] = covered ? COVERED : MISSED;
    if (before === 0) this.#lineCount++;
    if (covered) this.#coveredLineCount++;
  }

  #grow(line: number): void {
    if (line > this.#greatestLine) {
      throw new Refusal(
        `found line number ${line}, expected at most ${this.#greatestLine}`,
        "limit",
      );
    }
    const wanted = Math.max(SMALLEST_FILE_LINES, line + 1, 2 * this.#states.length);
    const size = Math.min(wanted, this.#greatestLine + 1);
    this.#charge(size - this.#states.length);
    const states = new Uint8Array(size);
    states.set(this.#states);
    this.#states = states;
  }
}

/** The merged coverage reports of one upload. */
export class CoverageMap {
  readonly limits: CoverageLimits;
  /** By path; a file without one by itself. A Map, because a file may be called `__proto__`. */
  readonly #files = new Map<string | FileLines, FileLines>();
  #added: CoverageTotals = { coveredLineCount: 0, lineCount: 0 };
  #storedBytes = 0;
  #blockLineCount = 0;

  constructor(limits: CoverageLimits) {
    this.limits = limits;
  }

  /** The lines of a source file; created without any when it is new. @throws {Refusal} */
  file(path: string): FileLines {
    const key = normalizePath(path);
    if (key === "") {
      throw new Refusal(`found the path ${quote(path)}, expected that of a source file`);
    }
    let lines = this.#files.get(key);
    if (lines === undefined) {
      lines = this.#newFile(2 * key.length);
      this.#files.set(key, lines);
    }
    return lines;
  }

  /** A source file without a path, which is merged with no other. @throws {Refusal} */
  unnamedFile(): FileLines {
    const lines = this.#newFile(0);
    this.#files.set(lines, lines);
    return lines;
  }

  #newFile(keyBytes: number): FileLines {
    this.#charge(FILE_BYTES + keyBytes);
    return new FileLines(this.limits.lineNumber, (bytes) => this.#charge(bytes));
  }

  /** Adds totals without lines. @throws {Refusal} when they are impossible or too large */
  addTotals({ coveredLineCount, lineCount }: CoverageTotals): void {
    for (const count of [coveredLineCount, lineCount]) {
      if (!Number.isInteger(count) || count < 0) {
        throw new Refusal(`found a total of ${count} lines, expected a whole number from 0`);
      }
    }
    if (coveredLineCount > lineCount) {
      throw new Refusal(
        `found ${coveredLineCount} covered lines of ${lineCount}, expected at most as many`,
      );
    }
    const sum = this.#added.lineCount + lineCount;
    if (sum > this.limits.totalLineCount) {
      throw new Refusal(
        `found totals of ${sum} lines, expected at most ${this.limits.totalLineCount}`,
        "limit",
      );
    }
    this.#added = {
      coveredLineCount: this.#added.coveredLineCount + coveredLineCount,
      lineCount: sum,
    };
  }

  /**
   * Counts the lines that blocks of a Go profile span before they are added: a few bytes can ask
   * for millions of them, in each report again. @throws {Refusal}
   */
  countBlockLines(count: number): void {
    this.#blockLineCount += count;
    const { goBlockLineCount } = this.limits;
    if (this.#blockLineCount <= goBlockLineCount) return;
    throw new Refusal(
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

  #charge(bytes: number): void {
    this.#storedBytes += bytes;
    if (this.#storedBytes <= this.limits.storedBytes) return;
    throw new Refusal(
      `found more source lines than ${this.limits.storedBytes} bytes hold, expected fewer`,
      "limit",
    );
  }
}
