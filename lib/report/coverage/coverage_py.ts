/** The JSON report of coverage.py. */
import type { CoverageMap, CoverageTotals } from "./coverage_map.ts";
import type { ValueReader } from "./format_reader.ts";
import type { JsonPath, JsonScalar } from "./json_scanner.ts";
import { wholeJsonNumber } from "./numbers.ts";
import { Refusal } from "./refusal.ts";

/** What is known of one source file until it is complete. */
interface OpenFile {
  executed: number[];
  missing: number[];
  excluded: Set<number>;
  /** How many of the executed lines the report counts, if it says so. */
  coveredLineCount: number | undefined;
}

/**
 * Reads coverage.py JSON: `executed_lines` and `missing_lines` of every file. Its functions and
 * classes repeat the same lines and are skipped. Without any line, the `totals` are added.
 *
 * Among the executed lines are some that the report itself does not count: excluded ones, which it
 * lists, and docstrings, which it does not. As many as are too many are taken from the front, where
 * the docstring of a module stands.
 */
export class CoveragePyReader implements ValueReader {
  readonly #map: CoverageMap;
  readonly #totals: Partial<CoverageTotals> = {};
  #file = newFile();
  #hasLines = false;

  constructor(map: CoverageMap) {
    this.#map = map;
  }

  scalar(path: JsonPath, value: JsonScalar): void {
    const [part, name, kind, member] = path;
    if (part === "totals" && path.length === 2) {
      if (name === "covered_lines") this.#totals.coveredLineCount = wholeJsonNumber(value, name);
      if (name === "num_statements") this.#totals.lineCount = wholeJsonNumber(value, name);
    }
    if (part !== "files" || path.length !== 4) return;
    switch (kind) {
      case "executed_lines":
        this.#keep(this.#file.executed, wholeJsonNumber(value, "line number"));
        return;
      case "missing_lines":
        this.#keep(this.#file.missing, wholeJsonNumber(value, "line number"));
        return;
      case "excluded_lines":
        this.#file.excluded.add(wholeJsonNumber(value, "line number"));
        return;
      case "summary":
        if (member !== "covered_lines") return;
        this.#file.coveredLineCount = wholeJsonNumber(value, member);
        return;
    }
  }

  close(path: JsonPath): void {
    if (path.length === 2 && path[0] === "files") this.#endFile(String(path[1]));
    if (path.length > 0 || this.#hasLines) return;
    const { coveredLineCount = 0, lineCount = 0 } = this.#totals;
    this.#map.addTotals({ coveredLineCount, lineCount });
  }

  #keep(into: number[], line: number): void {
    const { statementCount } = this.#map.limits;
    if (into.push(line) > statementCount) {
      throw new Refusal(`found more than ${statementCount} lines of one file`, "limit");
    }
    this.#hasLines = true;
  }

  #endFile(path: string): void {
    const { executed, missing, excluded, coveredLineCount } = this.#file;
    this.#file = newFile();
    const counted = executed.filter((line) => !excluded.has(line)).sort((a, b) => a - b);
    const surplus = Math.max(0, counted.length - (coveredLineCount ?? counted.length));
    const file = this.#map.file(path);
    for (const line of counted.slice(surplus)) file.add(line, true);
    for (const line of missing) file.add(line, false);
  }
}

function newFile(): OpenFile {
  return { executed: [], missing: [], excluded: new Set(), coveredLineCount: undefined };
}
