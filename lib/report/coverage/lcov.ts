/** lcov tracefiles. */
import { quote } from "../report_error.ts";
import type { CoverageMap, FileLines } from "./coverage_map.ts";
import type { LineReader } from "./lines.ts";
import { ran, wholeNumber } from "./numbers.ts";
import { Refusal } from "./refusal.ts";

const RECORD = /^([A-Z]+):(.*)$/;

/** True for a line with which a tracefile may begin. */
export function beginsLcov(line: string): boolean {
  return /^(?:TN|SF|VER):/.test(line);
}

/** The records between `SF` and `end_of_record`. */
interface Section {
  path: string;
  file: FileLines;
  hasLines: boolean;
  lineCount: number;
  coveredLineCount: number;
}

/**
 * Reads a tracefile. Its `DA` lines count; of a section without any the totals (`LF`, `LH`) are
 * added. A tracefile that ends inside a section was cut off and is refused.
 */
export class LcovReader implements LineReader {
  readonly #map: CoverageMap;
  #section: Section | undefined;

  constructor(map: CoverageMap) {
    this.#map = map;
  }

  take(line: string): void {
    if (line.startsWith("DA:")) return this.#line(line);
    if (line.startsWith("#")) return;
    if (line === "end_of_record") return this.#endSection();
    const [, type, value = ""] = RECORD.exec(line) ?? [];
    switch (type) {
      case undefined:
        throw new Refusal(`found ${quote(line)}, expected a line such as "DA:12,1"`);
      case "SF":
        return this.#beginSection(value);
      case "LF":
        this.#open(line).lineCount = wholeNumber(value, "number of lines");
        return;
      case "LH":
        this.#open(line).coveredLineCount = wholeNumber(value, "number of covered lines");
        return;
      default:
        // Test names, functions, branches and what later versions add say nothing about lines.
        return;
    }
  }

  end(): void {
    if (this.#section === undefined) return;
    const { path } = this.#section;
    throw new Refusal(`found the end of the file inside ${quote(path)}, expected "end_of_record"`);
  }

  #line(line: string): void {
    const section = this.#open(line);
    // A third field may hold a checksum of the line.
    const [number, count] = line.slice("DA:".length).split(",", 2);
    section.file.add(wholeNumber(number, "line number"), ran(count, "execution count"));
    section.hasLines = true;
  }

  #beginSection(path: string): void {
    if (this.#section !== undefined) {
      const open = quote(this.#section.path);
      throw new Refusal(`found "SF" inside ${open}, expected "end_of_record" before it`);
    }
    const file = this.#map.file(path);
    this.#section = { path, file, hasLines: false, lineCount: 0, coveredLineCount: 0 };
  }

  #endSection(): void {
    const section = this.#section;
    this.#section = undefined;
    if (section && !section.hasLines) this.#map.addTotals(section);
  }

  #open(line: string): Section {
    if (this.#section) return this.#section;
    throw new Refusal(`found ${quote(line)} outside of a section, expected "SF" before it`);
  }
}
