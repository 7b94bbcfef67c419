/** The JSON report of coverage.py. */
import { quote } from "../report_error.ts";
import type { CoverageMap, CoverageTotals, FileLines } from "./coverage_map.ts";
import type { ValueReader } from "./json.ts";
import type { JsonPath, JsonScalar } from "./json_scanner.ts";
import { Refusal } from "./refusal.ts";

/**
 * Reads coverage.py JSON: `executed_lines` and `missing_lines` of every file. Its functions and
 * classes repeat the same lines and are passed over, excluded lines cannot be covered. A report
 * without any line tells its `totals`.
 */
export class CoveragePyReader implements ValueReader {
  readonly #map: CoverageMap;
  readonly #totals: Partial<CoverageTotals> = {};
  #current: { path: string; file: FileLines } | undefined;
  #hasLines = false;

  constructor(map: CoverageMap) {
    this.#map = map;
  }

  scalar(path: JsonPath, value: JsonScalar): void {
    const [part, name, kind] = path;
    if (part === "files" && path.length === 4 && typeof name === "string") {
      if (kind !== "executed_lines" && kind !== "missing_lines") return;
      const line = wholeNumber(value, "line number");
      if (this.#current?.path !== name) this.#current = { path: name, file: this.#map.file(name) };
      this.#current.file.add(line, kind === "executed_lines");
      this.#hasLines = true;
    } else if (part === "totals" && path.length === 2) {
      if (name === "covered_lines") this.#totals.coveredLineCount = wholeNumber(value, name);
      if (name === "num_statements") this.#totals.lineCount = wholeNumber(value, name);
    }
  }

  close(path: JsonPath): void {
    if (path.length > 0 || this.#hasLines) return;
    const { coveredLineCount = 0, lineCount = 0 } = this.#totals;
    this.#map.addTotals({ coveredLineCount, lineCount });
  }
}

function wholeNumber(value: JsonScalar, what: string): number {
  if (typeof value === "number" && Number.isInteger(value)) return value;
  throw new Refusal(`found ${quote(String(value))} as ${what}, expected a whole number`);
}
