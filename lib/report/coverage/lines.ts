/** Coverage formats that are read line by line. */
import { ReportError } from "../report_error.ts";
import type { CoverageLimits } from "./limits.ts";
import { located } from "./refusal.ts";

/** Reads a text format; may throw a `Refusal`. */
export interface LineReader {
  /** Called with every line that is not blank, trimmed. */
  take(line: string): void;
  end?(): void;
}

/** Feeds a text to a reader. @throws {ReportError} with the line that is refused or too long */
export async function readLines(
  text: AsyncIterable<string>,
  reader: LineReader,
  options: { file: string; limits: CoverageLimits },
): Promise<void> {
  const { file, limits } = options;
  let line = 1;
  let rest = "";
  const place = () => ({ file, position: { line, column: 1 } });
  const take = (found: string) => {
    const trimmed = found.trim();
    if (trimmed !== "") reader.take(trimmed);
  };
  for await (const chunk of text) {
    let start = 0;
    located(place, () => {
      for (let end = chunk.indexOf("\n"); end !== -1; end = chunk.indexOf("\n", start)) {
        take(rest + chunk.slice(start, end));
        rest = "";
        line++;
        start = end + 1;
      }
    });
    rest += chunk.slice(start);
    if (rest.length > limits.tokenCharacters) {
      const problem = `found a line of more than ${limits.tokenCharacters} characters, ` +
        `expected shorter ones`;
      throw new ReportError({ ...place(), kind: "limit", problem });
    }
  }
  located(place, () => {
    take(rest);
    reader.end?.();
  });
}
