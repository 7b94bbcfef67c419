/** Istanbul's `coverage-final.json` and `coverage-summary.json`, as nyc, c8, Jest and Vitest write them. */
import type { CoverageMap } from "./coverage_map.ts";
import { type JsonObject, memberOf, membersOf, wholeJsonNumber } from "./json_value.ts";
import { Refusal } from "./refusal.ts";

/**
 * Adds a `coverage-final.json`. It lists statements: as in Istanbul itself, a line on which
 * statements start can be covered, and is covered when any of them ran.
 */
export function addIstanbul(report: JsonObject, map: CoverageMap): void {
  for (const [path, entry] of membersOf(report)) {
    const file = map.file(path);
    const counts = memberOf(entry, "s");
    for (const [statement, location] of membersOf(memberOf(entry, "statementMap"))) {
      const line = memberOf(memberOf(location, "start"), "line");
      if (line === undefined) continue;
      const count = memberOf(counts, statement) ?? 0;
      const hasRun = wholeJsonNumber(count, "execution count", path) > 0;
      file.add(wholeJsonNumber(line, "start line", path), hasRun);
    }
  }
}

/** Adds a `coverage-summary.json`: the totals of `total`, or of the files where that is missing. */
export function addIstanbulSummary(report: JsonObject, map: CoverageMap): void {
  const { total } = report;
  const entries = total === undefined ? Object.entries(report) : [["total", total] as const];
  for (const [path, entry] of entries) {
    const lines = memberOf(entry, "lines");
    const lineCount = memberOf(lines, "total");
    const coveredLineCount = memberOf(lines, "covered");
    if (lineCount === undefined || coveredLineCount === undefined) {
      throw new Refusal(`found an entry without "lines", expected its "total" and "covered"`);
    }
    map.addTotals({
      coveredLineCount: wholeJsonNumber(coveredLineCount, "covered lines", path),
      lineCount: wholeJsonNumber(lineCount, "total lines", path),
    });
  }
}
