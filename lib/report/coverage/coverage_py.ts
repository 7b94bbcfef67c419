/** The JSON report of coverage.py. */
import type { CoverageMap } from "./coverage_map.ts";
import { type JsonObject, memberOf, membersOf, wholeJsonNumber } from "./json_value.ts";

/**
 * Adds coverage.py JSON: `executed_lines` and `missing_lines` of every file. Its functions and
 * classes repeat the same lines and are skipped. Without any line, the `totals` are added.
 *
 * The executed lines include some that the report itself does not count: excluded lines, which it
 * lists, and docstrings, which it does not. When there are more than `covered_lines`, the first ones
 * are dropped: a module begins with its docstring.
 */
export function addCoveragePy({ files, totals }: JsonObject, map: CoverageMap): void {
  let hasLines = false;
  for (const [path, entry] of membersOf(files)) {
    const linesOf = (kind: string): number[] => {
      const lines = memberOf(entry, kind);
      if (!Array.isArray(lines)) return [];
      return lines.map((line) => wholeJsonNumber(line, "line number", path));
    };
    const executed = linesOf("executed_lines");
    const missing = linesOf("missing_lines");
    const excluded = new Set(linesOf("excluded_lines"));
    const counted = executed.filter((line) => !excluded.has(line)).sort((a, b) => a - b);
    const coveredLineCount = memberOf(memberOf(entry, "summary"), "covered_lines");
    const expectedCount = wholeJsonNumber(
      coveredLineCount ?? counted.length,
      "covered_lines",
      path,
    );
    const file = map.file(path);
    for (const line of counted.slice(Math.max(0, counted.length - expectedCount))) {
      file.add(line, true);
    }
    for (const line of missing) file.add(line, false);
    hasLines ||= executed.length + missing.length > 0;
  }
  if (hasLines) return;
  map.addTotals({
    coveredLineCount: wholeJsonNumber(memberOf(totals, "covered_lines") ?? 0, "covered_lines"),
    lineCount: wholeJsonNumber(memberOf(totals, "num_statements") ?? 0, "num_statements"),
  });
}
