// Tests: tests/lib/report/coverage/fixtures_test.ts
/** Coverage formats in JSON: Istanbul, SimpleCov and coverage.py. */
import { excerpt } from "../report_error.ts";
import type { CoverageMap } from "./coverage_map.ts";
import { CoverageFormatError } from "./format_reader.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

interface JsonFormat {
  name: string;
  /** Recognizes a report by a member that only this format has. */
  fits(report: JsonObject): boolean;
  add(report: JsonObject, map: CoverageMap): void;
}

/**
 * Adds Istanbul's `coverage-final.json`, as nyc, c8, Jest and Vitest write it. It lists statements: as
 * in Istanbul itself, a line on which statements start can be covered, and is covered when any of them
 * ran.
 */
function addIstanbul(report: JsonObject, map: CoverageMap): void {
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

/**
 * Adds Istanbul's `coverage-summary.json`: the totals of `total`, or of the files where that is
 * missing.
 */
function addIstanbulSummary(report: JsonObject, map: CoverageMap): void {
  const { total } = report;
  const entries = total === undefined ? Object.entries(report) : [["total", total] as const];
  for (const [path, entry] of entries) {
    const lines = memberOf(entry, "lines");
    map.addTotals({
      coveredLineCount: wholeJsonNumber(memberOf(lines, "covered"), "covered lines", path),
      lineCount: wholeJsonNumber(memberOf(lines, "total"), "total lines", path),
    });
  }
}

/**
 * Adds SimpleCov's `.resultset.json`, or the `coverage.json` of its JSON formatter. A file has an array
 * with one entry a line: a count, `null` where nothing can be covered or `"ignored"` for excluded code.
 * It stands at `COMMAND.coverage.FILE` up to version 0.17, at `COMMAND.coverage.FILE.lines` from 0.18
 * on, and at `coverage.FILE.lines` in `coverage.json`. Several commands (unit tests, features) in one
 * file are merged.
 */
function addSimplecov(report: JsonObject, map: CoverageMap): void {
  const commands = Object.values(report);
  for (const files of [report.coverage, ...commands.map((each) => memberOf(each, "coverage"))]) {
    for (const [path, entry] of membersOf(files)) {
      const lines = Array.isArray(entry) ? entry : memberOf(entry, "lines");
      if (!Array.isArray(lines)) continue;
      const file = map.file(path);
      for (const [index, count] of lines.entries()) {
        if (count === null || count === "ignored") continue;
        file.add(index + 1, wholeJsonNumber(count, `count of line ${index + 1}`, path) > 0);
      }
    }
  }
}

/**
 * Adds the JSON report of coverage.py: `executed_lines` and `missing_lines` of every file. Its
 * functions and classes repeat the same lines and are skipped. Without any line, the `totals` are
 * added.
 *
 * The executed lines include some that the report itself does not count: excluded lines, which it
 * lists, and docstrings, which it does not. When there are more than `covered_lines`, the first ones
 * are dropped: a module begins with its docstring.
 */
function addCoveragePy({ files, totals }: JsonObject, map: CoverageMap): void {
  let hasLines = false;
  for (const [path, entry] of membersOf(files)) {
    const linesOf = (kind: string): number[] => {
      const lines = memberOf(entry, kind);
      if (!Array.isArray(lines)) return [];
      return lines.map((line) => wholeJsonNumber(line, "line number", path));
    };
    const missing = linesOf("missing_lines");
    const excluded = new Set(linesOf("excluded_lines"));
    const executed = linesOf("executed_lines").filter((line) => !excluded.has(line));
    const covered = memberOf(memberOf(entry, "summary"), "covered_lines") ?? executed.length;
    const extraCount = executed.length - wholeJsonNumber(covered, "covered_lines", path);
    const file = map.file(path);
    const counted = executed.sort((a, b) => a - b).slice(Math.max(0, extraCount));
    for (const line of counted) file.add(line, true);
    for (const line of missing) file.add(line, false);
    hasLines ||= executed.length + missing.length > 0;
  }
  if (hasLines) return;
  map.addTotals({
    coveredLineCount: wholeJsonNumber(memberOf(totals, "covered_lines"), "covered_lines", "totals"),
    lineCount: wholeJsonNumber(memberOf(totals, "num_statements"), "num_statements", "totals"),
  });
}

/** Istanbul writes `{}` when there is no file. */
export const ISTANBUL: JsonFormat = {
  name: "Istanbul",
  fits: (report) => Object.keys(report).length === 0 || someEntry(report, "statementMap"),
  add: addIstanbul,
};

export const ISTANBUL_SUMMARY: JsonFormat = {
  name: "Istanbul",
  fits: (report) => someEntry(report, "lines", "total"),
  add: addIstanbulSummary,
};

export const SIMPLECOV: JsonFormat = {
  name: "SimpleCov",
  fits: (report) =>
    isObject(report.coverage) ||
    Object.values(report).some((entry) => isObject(memberOf(entry, "coverage"))),
  add: addSimplecov,
};

export const COVERAGE_PY: JsonFormat = {
  name: "coverage.py JSON",
  fits: ({ totals }) => memberOf(totals, "covered_lines") !== undefined,
  add: addCoveragePy,
};

/** Whether an entry of a report has a member at this path. */
function someEntry(report: JsonObject, ...path: string[]): boolean {
  return Object.values(report).some((entry) => path.reduce(memberOf, entry) !== undefined);
}

/** True for an object or array. */
function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}

/** A member of an object; `undefined` where there is none, or the value is not an object. */
function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The names and values of an object; none of any other value. */
function* membersOf(value: unknown): Generator<[name: string, value: unknown], void> {
  if (!isObject(value)) return;
  for (const name of Object.keys(value)) yield [name, value[name]];
}

/** A whole number, which `what` of the source file `path` names. @throws {CoverageFormatError} */
function wholeJsonNumber(value: unknown, what: string, path: string): number {
  if (typeof value === "number" && Number.isInteger(value)) return value;
  const found = isObject(value) ? "an object or array" : excerpt(String(value));
  throw new CoverageFormatError(
    `found ${found} as ${what} of ${excerpt(path)}, expected a whole number`,
  );
}
