/** Istanbul's `coverage-summary.json`. */
import { quote } from "../report_error.ts";
import type { CoverageMap, CoverageTotals } from "./coverage_map.ts";
import type { ValueReader } from "./json.ts";
import type { JsonPath, JsonScalar } from "./json_scanner.ts";
import { Refusal } from "./refusal.ts";

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
    if (path[2] === "total") this.#entry.lineCount = count(value, "total lines");
    if (path[2] === "covered") this.#entry.coveredLineCount = count(value, "covered lines");
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

function count(value: JsonScalar, what: string): number {
  if (typeof value === "number" && Number.isInteger(value)) return value;
  throw new Refusal(`found ${quote(String(value))} as ${what}, expected a whole number`);
}
