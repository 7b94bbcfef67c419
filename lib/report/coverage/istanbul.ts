/** Istanbul's `coverage-final.json` and `coverage-summary.json`, as nyc, c8, Jest and Vitest write them. */
import type { CoverageMap, CoverageTotals } from "./coverage_map.ts";
import type { ValueReader } from "./format_reader.ts";
import type { JsonPath, JsonScalar } from "./json_scanner.ts";
import { wholeJsonNumber } from "./numbers.ts";
import { Refusal } from "./refusal.ts";

/**
 * Reads `coverage-final.json`.
 *
 * It lists statements. As in Istanbul itself, a line on which statements start can be covered, and is
 * covered when any of them ran.
 */
export class IstanbulReader implements ValueReader {
  readonly #map: CoverageMap;
  // Of the current file, by the statement's name. Either may come first.
  readonly #lines = new Map<string | number, number>();
  readonly #counts = new Map<string | number, number>();

  constructor(map: CoverageMap) {
    this.#map = map;
  }

  scalar(path: JsonPath, value: JsonScalar): void {
    const [, part, statement] = path;
    if (statement === undefined) return;
    if (part === "s" && path.length === 3) {
      this.#keep(this.#counts, statement, wholeJsonNumber(value, "execution count"));
    } else if (part === "statementMap" && path[3] === "start" && path[4] === "line") {
      this.#keep(this.#lines, statement, wholeJsonNumber(value, "start line"));
    }
  }

  close(path: JsonPath): void {
    if (path.length !== 1) return;
    const file = this.#map.file(String(path[0]));
    for (const [statement, line] of this.#lines) {
      file.add(line, (this.#counts.get(statement) ?? 0) > 0);
    }
    this.#lines.clear();
    this.#counts.clear();
  }

  #keep(into: Map<string | number, number>, statement: string | number, value: number): void {
    into.set(statement, value);
    const { statementCount } = this.#map.limits;
    if (into.size <= statementCount) return;
    throw new Refusal(`found more than ${statementCount} statements in one file`, "limit");
  }
}

/**
 * Reads `coverage-summary.json`, which has totals alone: those of `total`, or of the files where
 * that is missing.
 */
export class IstanbulSummaryReader implements ValueReader {
  readonly #map: CoverageMap;
  readonly #ofFiles: CoverageTotals = { coveredLineCount: 0, lineCount: 0 };
  #entry: Partial<CoverageTotals> = {};
  #hasTotal = false;

  constructor(map: CoverageMap) {
    this.#map = map;
  }

  scalar(path: JsonPath, value: JsonScalar): void {
    if (path.length !== 3 || path[1] !== "lines") return;
    if (path[2] === "total") this.#entry.lineCount = wholeJsonNumber(value, "total lines");
    if (path[2] === "covered") {
      this.#entry.coveredLineCount = wholeJsonNumber(value, "covered lines");
    }
  }

  close(path: JsonPath): void {
    if (path.length === 1) return this.#endEntry(path[0] === "total");
    if (path.length === 0 && !this.#hasTotal) this.#map.addTotals(this.#ofFiles);
  }

  #endEntry(isTotal: boolean): void {
    const { coveredLineCount, lineCount } = this.#entry;
    this.#entry = {};
    if (coveredLineCount === undefined || lineCount === undefined) {
      throw new Refusal(`found an entry without "lines", expected its "total" and "covered"`);
    }
    if (isTotal) {
      this.#hasTotal = true;
      this.#map.addTotals({ coveredLineCount, lineCount });
    } else {
      this.#ofFiles.coveredLineCount += coveredLineCount;
      this.#ofFiles.lineCount += lineCount;
    }
  }
}
