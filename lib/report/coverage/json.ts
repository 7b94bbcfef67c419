/** Coverage formats in JSON: Istanbul, SimpleCov and coverage.py. */
import { quote, ReportError } from "../report_error.ts";
import type { CoverageMap } from "./coverage_map.ts";
import { located, NotCoverageError, Refusal } from "./refusal.ts";

type JsonObject = Readonly<Record<string, unknown>>;

export type JsonFormat = "istanbul" | "istanbul-summary" | "simplecov" | "coverage.py";

/** They may throw a `Refusal`. */
const READERS: Record<JsonFormat, (report: JsonObject, map: CoverageMap) => void> = {
  "istanbul": addIstanbul,
  "istanbul-summary": addIstanbulSummary,
  "simplecov": addSimplecov,
  "coverage.py": addCoveragePy,
};

/** The format by a member that only one format has. Istanbul writes `{}` when there is no file. */
function formatOf(report: JsonObject): JsonFormat | undefined {
  const { meta, totals, files, coverage } = report;
  const entries = Object.values(report);
  if (hasAny(meta, ["simplecov_version"])) return "simplecov";
  if (hasAny(totals, ["covered_lines", "num_statements"])) return "coverage.py";
  if (valuesOf(files).some((file) => hasAny(file, PYTHON_LINES))) return "coverage.py";
  if (entries.some((command) => isObject(memberOf(command, "coverage")))) return "simplecov";
  if (valuesOf(coverage).some((file) => hasAny(file, ["lines"]))) return "simplecov";
  if (entries.some((entry) => hasAny(memberOf(entry, "lines"), ["total", "covered"]))) {
    return "istanbul-summary";
  }
  const isIstanbul = entries.length === 0 || entries.some((entry) => hasAny(entry, ISTANBUL_MAPS));
  return isIstanbul ? "istanbul" : undefined;
}

const ISTANBUL_MAPS = ["statementMap", "fnMap", "branchMap"];
const PYTHON_LINES = ["executed_lines", "missing_lines", "excluded_lines"];

function hasAny(value: unknown, names: readonly string[]): boolean {
  return names.some((name) => memberOf(value, name) !== undefined);
}

function valuesOf(value: unknown): unknown[] {
  return isObject(value) ? Object.values(value) : [];
}

// Quoted in the message about an unknown file.
const QUOTED_NAMES = 3;

/**
 * Reads a JSON coverage report, which is an object. @throws {NotCoverageError} for JSON of another
 * kind, {ReportError} when it is broken or exceeds a limit
 */
export async function readJson(
  chunks: AsyncIterable<string>,
  map: CoverageMap,
  file: string,
): Promise<JsonFormat> {
  const report = parse(await textOf(chunks, map.limits.jsonCharacters, file), file);
  const format = formatOf(report);
  if (format === undefined) {
    const names = Object.keys(report).slice(0, QUOTED_NAMES).map(quote);
    throw new NotCoverageError({ file, found: `JSON with ${names.join(", ")}` });
  }
  located(() => ({ file }), () => READERS[format](report, map));
  return format;
}

async function textOf(
  chunks: AsyncIterable<string>,
  limit: number,
  file: string,
): Promise<string> {
  let text = "";
  for await (const chunk of chunks) {
    text += chunk;
    if (text.length > limit) {
      const problem = `found a JSON coverage report of more than ${limit} characters, expected ` +
        "fewer: split it, or use lcov or XML, which have no such limit";
      throw new ReportError({ file, kind: "limit", problem });
    }
  }
  return text;
}

function parse(text: string, file: string): JsonObject {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // The message quotes the text around the mistake as it is.
    const reason = error.message.replace(/\p{Cc}+/gu, " ");
    const problem = `found invalid JSON (${reason}), expected a complete coverage report`;
    throw new ReportError({ file, kind: "malformed", problem });
  }
}

/**
 * Adds Istanbul's `coverage-final.json`, as nyc, c8, Jest and Vitest write it. It lists statements: as in Istanbul itself, a line on which
 * statements start can be covered, and is covered when any of them ran.
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

/** Adds Istanbul's `coverage-summary.json`: the totals of `total`, or of the files where that is missing. */
function addIstanbulSummary(report: JsonObject, map: CoverageMap): void {
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

/**
 * Adds SimpleCov's `.resultset.json`, or the `coverage.json` of its JSON formatter. A file has an array with one entry a line: a count, `null` where nothing can
 * be covered or `"ignored"` for excluded code. It stands at `COMMAND.coverage.FILE` up to version
 * 0.17, at `COMMAND.coverage.FILE.lines` from 0.18 on, and at `coverage.FILE.lines` in
 * `coverage.json`. Several commands (unit tests, features) in one file are merged.
 */
function addSimplecov(report: JsonObject, map: CoverageMap): void {
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

/**
 * Adds the JSON report of coverage.py: `executed_lines` and `missing_lines` of every file. Its functions and
 * classes repeat the same lines and are skipped. Without any line, the `totals` are added.
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

/** A whole number, which `what` and the source file's `path` name. @throws {Refusal} */
function wholeJsonNumber(value: unknown, what: string, path?: string): number {
  if (typeof value === "number" && Number.isInteger(value)) return value;
  const place = path === undefined ? what : `${what} of ${quote(path)}`;
  throw new Refusal(`found ${quoteJson(value)} as ${place}, expected a whole number`);
}

/** A value as messages show it. */
function quoteJson(value: unknown): string {
  return isObject(value) ? "an object or array" : quote(String(value));
}
