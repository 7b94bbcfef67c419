/** SimpleCov's `.resultset.json`, and the `coverage.json` of its JSON formatter. */
import { quote } from "../report_error.ts";
import type { CoverageMap, FileLines } from "./coverage_map.ts";
import type { ValueReader } from "./format_reader.ts";
import type { JsonPath, JsonScalar } from "./json_scanner.ts";
import { Refusal } from "./refusal.ts";

/**
 * Reads SimpleCov JSON.
 *
 * A file has an array with one entry a line: a count, `null` where nothing can be covered or
 * `"ignored"` for excluded code. It stands at `COMMAND.coverage.FILE` up to version
 * 0.17, at `COMMAND.coverage.FILE.lines` from 0.18 on, and at `coverage.FILE.lines` in
 * `coverage.json`. Several commands (unit tests, features) in one file are merged.
 */
export class SimplecovReader implements ValueReader {
  readonly #map: CoverageMap;
  // The lines of one file come one after the other.
  #current: { path: string; file: FileLines } | undefined;

  constructor(map: CoverageMap) {
    this.#map = map;
  }

  scalar(path: JsonPath, value: JsonScalar): void {
    const index = path.at(-1);
    const file = fileOf(path);
    if (typeof index !== "number" || file === undefined) return;
    if (value === null || value === "ignored") return;
    if (typeof value !== "number") {
      throw new Refusal(
        `found ${quote(String(value))} as line ${index + 1}, expected a count, null or "ignored"`,
      );
    }
    if (this.#current?.path !== file) this.#current = { path: file, file: this.#map.file(file) };
    this.#current.file.add(index + 1, value > 0);
  }

  close(): void {
    // Every line was added when it came.
  }
}

/** The source file whose array of lines the path leads into. */
function fileOf(path: JsonPath): string | undefined {
  const [first, second, third, fourth] = path;
  if (first === "coverage" && third === "lines" && path.length === 4) return text(second);
  if (second !== "coverage") return undefined;
  if (path.length === 4 || (path.length === 5 && fourth === "lines")) return text(third);
  return undefined;
}

function text(part: string | number | undefined): string | undefined {
  return typeof part === "string" ? part : undefined;
}
