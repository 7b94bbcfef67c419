/** Coverage formats in JSON: which one it is. */
import { quote, ReportError } from "../report_error.ts";
import type { CoverageMap } from "./coverage_map.ts";
import { addCoveragePy } from "./coverage_py.ts";
import { addIstanbul, addIstanbulSummary } from "./istanbul.ts";
import { isObject, type JsonObject, memberOf } from "./json_value.ts";
import { located, NotCoverageError } from "./refusal.ts";
import { addSimplecov } from "./simplecov.ts";

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
): Promise<{ format: JsonFormat }> {
  const report = parse(await textOf(chunks, map.limits.jsonCharacters, file), file);
  const format = formatOf(report);
  if (format === undefined) {
    const names = Object.keys(report).slice(0, QUOTED_NAMES).map(quote);
    throw new NotCoverageError({ file, found: `JSON with ${names.join(", ")}` });
  }
  located(() => ({ file }), () => READERS[format](report, map));
  return { format };
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
