/** Istanbul's `coverage-final.json`, as nyc, c8, Jest and Vitest write it. */
import { quote } from "../report_error.ts";
import type { CoverageMap } from "./coverage_map.ts";
import type { ValueReader } from "./json.ts";
import type { JsonPath, JsonScalar } from "./json_scanner.ts";
import { Refusal } from "./refusal.ts";

/**
 * Reads `coverage-final.json`.
 *
 * It tells statements. As in Istanbul itself the line on which a statement starts can be covered,
 * and is when any statement that starts there ran.
 */
export class IstanbulReader implements ValueReader {
  readonly #map: CoverageMap;
  // Of the current file, by the statement's name. Either may come first.
  readonly #lines = new Map<string | number, number>();
  readonly #counts = new Map<string | number, number>();

  constructor(map: CoverageMap) {
    this.#map = map;
  }

  scalar(path: JsonPath, value: JsonScalar): void {
    const [, part, statement] = path;
    if (statement === undefined) return;
    if (part === "s" && path.length === 3) {
      this.#keep(this.#counts, statement, number(value, "execution count"));
    } else if (part === "statementMap" && path[3] === "start" && path[4] === "line") {
      this.#keep(this.#lines, statement, number(value, "start line"));
    }
  }

  close(path: JsonPath): void {
    if (path.length !== 1) return;
    const file = this.#map.file(String(path[0]));
    for (const [statement, line] of this.#lines) {
      file.add(line, (this.#counts.get(statement) ?? 0) > 0);
    }
    this.#lines.clear();
    this.#counts.clear();
  }

  #keep(into: Map<string | number, number>, statement: string | number, value: number): void {
    into.set(statement, value);
    const { statementCount } = this.#map.limits;
    if (into.size <= statementCount) return;
    throw new Refusal(`found more than ${statementCount} statements in one file`, "limit");
  }
}

function number(value: JsonScalar, what: string): number {
  if (typeof value === "number" && Number.isInteger(value)) return value;
  throw new Refusal(`found ${quote(String(value))} as ${what}, expected a whole number`);
}
