// Tests: tests/lib/report/coverage/refusal_test.ts tests/lib/report/growth_test.ts
import { excerpt } from "../report_error.ts";
import type { CoverageMap } from "./coverage_map.ts";
import { CoverageFormatError, type FormatReader, notCoverage } from "./format_reader.ts";
import { JSON_FORMATS } from "./formats.ts";
import type { JsonObject } from "./json_formats.ts";

// Quoted in the message about an unknown file.
const QUOTED_NAMES = 3;

/** Reads a JSON report, which is an object. */
export class JsonReader implements FormatReader {
  readonly #map: CoverageMap;
  #text = "";

  constructor(map: CoverageMap) {
    this.#map = map;
  }

  write(chunk: string): void {
    this.#text += chunk;
    const { jsonCharacters } = this.#map.limits;
    if (this.#text.length <= jsonCharacters) return;
    throw new CoverageFormatError(
      `found a JSON coverage report of more than ${jsonCharacters} characters, expected fewer: ` +
        "split it, or use lcov or XML, which have no such limit",
      "limit",
    );
  }

  end(): void {
    const report = parse(this.#text);
    const format = JSON_FORMATS.find(({ fits }) => fits(report));
    if (format) return format.add(report, this.#map);
    const names = Object.keys(report).slice(0, QUOTED_NAMES).map(excerpt);
    throw notCoverage(`JSON with ${names.join(", ")}`);
  }
}

function parse(text: string): JsonObject {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // The message quotes the text around the mistake as it is.
    const reason = error.message.replace(/\p{Cc}+/gu, " ");
    throw new CoverageFormatError(
      `found invalid JSON (${reason}), expected a complete coverage report`,
    );
  }
}
