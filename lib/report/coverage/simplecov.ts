/** SimpleCov's `.resultset.json`, and the `coverage.json` of its JSON formatter. */
import { quote } from "../report_error.ts";
import type { CoverageMap } from "./coverage_map.ts";
import { type JsonObject, memberOf, membersOf, quoteJson } from "./json_value.ts";
import { Refusal } from "./refusal.ts";

/**
 * Adds SimpleCov JSON. A file has an array with one entry a line: a count, `null` where nothing can
 * be covered or `"ignored"` for excluded code. It stands at `COMMAND.coverage.FILE` up to version
 * 0.17, at `COMMAND.coverage.FILE.lines` from 0.18 on, and at `coverage.FILE.lines` in
 * `coverage.json`. Several commands (unit tests, features) in one file are merged.
 */
export function addSimplecov(report: JsonObject, map: CoverageMap): void {
  const commands = Object.values(report);
  for (const files of [report.coverage, ...commands.map((each) => memberOf(each, "coverage"))]) {
    for (const [path, entry] of membersOf(files)) {
      const lines = Array.isArray(entry) ? entry : memberOf(entry, "lines");
      if (Array.isArray(lines)) addLines(lines, path, map);
    }
  }
}

function addLines(lines: readonly unknown[], path: string, map: CoverageMap): void {
  const file = map.file(path);
  for (const [index, count] of lines.entries()) {
    if (typeof count === "number") file.add(index + 1, count > 0);
    else if (count !== null && count !== "ignored") {
      const problem = `found ${quoteJson(count)} as line ${index + 1} of ${quote(path)}`;
      throw new Refusal(`${problem}, expected a count, null or "ignored"`);
    }
  }
}
