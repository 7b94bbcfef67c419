/** Coverage formats in JSON: which one it is, and the streaming between text and reader. */
import { quote } from "../report_error.ts";
import type { CoverageMap } from "./coverage_map.ts";
import { CoveragePyReader } from "./coverage_py.ts";
import type { ValueReader } from "./format_reader.ts";
import { IstanbulReader, IstanbulSummaryReader } from "./istanbul.ts";
import { type JsonPath, JsonScanner } from "./json_scanner.ts";
import { located, NotCoverageError } from "./refusal.ts";
import { SimplecovReader } from "./simplecov.ts";

type JsonFormat = "istanbul" | "istanbul-summary" | "simplecov" | "coverage.py";

const READERS: Record<JsonFormat, new (map: CoverageMap) => ValueReader> = {
  "istanbul": IstanbulReader,
  "istanbul-summary": IstanbulSummaryReader,
  "simplecov": SimplecovReader,
  "coverage.py": CoveragePyReader,
};

/**
 * The format by the first name of a member that only one format has. No value that counts comes
 * before it, whatever the order of the members.
 */
function formatOf(path: JsonPath): JsonFormat | undefined {
  const [first, second, third] = path;
  if (path.length === 2) {
    if (first === "meta" && second === "simplecov_version") return "simplecov";
    if (first === "totals" && second === "covered_lines") return "coverage.py";
    if (first === "totals" && second === "num_statements") return "coverage.py";
    if (ISTANBUL_MAPS.has(second)) return "istanbul";
  }
  if (path.length === 3) {
    if (second === "coverage") return "simplecov";
    if (first === "coverage" && third === "lines") return "simplecov";
    if (first === "files" && PYTHON_LINES.has(third)) return "coverage.py";
    if (second === "lines" && (third === "total" || third === "covered")) return "istanbul-summary";
  }
  return undefined;
}

// In this order in the report, and sorted by name, one of these precedes the counts.
const ISTANBUL_MAPS = new Set<unknown>(["statementMap", "fnMap", "branchMap"]);
const PYTHON_LINES = new Set<unknown>(["executed_lines", "missing_lines", "excluded_lines"]);

// Quoted in the message about an unknown file.
const SHOWN_NAMES = 3;

/**
 * Reads a JSON coverage report, which is an object, of any size without holding it.
 *
 * @returns the name of the format; an empty object is what Istanbul writes without any file
 * @throws {NotCoverageError} when it is JSON of another kind
 * @throws {ReportError} with line and column, when it is broken or exceeds a limit
 */
export async function readJson(
  text: AsyncIterable<string>,
  map: CoverageMap,
  file: string,
): Promise<{ format: JsonFormat }> {
  let format: JsonFormat | undefined;
  let reader: ValueReader | undefined;
  const names: string[] = [];
  const scanner = new JsonScanner({
    key(path) {
      if (format) return;
      if (path.length === 1 && names.length < SHOWN_NAMES) names.push(quote(String(path[0])));
      format = formatOf(path);
      if (format) reader = new READERS[format](map);
    },
    scalar: (path, value) => reader?.scalar(path, value),
    close(path) {
      // A command of SimpleCov that loaded no file.
      if (path.length === 2 && path[1] === "coverage") format ??= "simplecov";
      reader?.close(path);
    },
  }, map.limits);
  const place = () => ({ file, position: { line: scanner.line, column: scanner.column } });
  for await (const piece of text) located(place, () => scanner.write(piece));
  located(place, () => scanner.end());
  if (format) return { format };
  if (names.length === 0) return { format: "istanbul" };
  throw new NotCoverageError({ file, found: `JSON with ${names.join(", ")}` });
}
