// Tests: tests/lib/report/coverage/fixtures_test.ts
/** Coverage formats that are read line by line: lcov tracefiles, cover profiles of Go. */
import { excerpt } from "../report_error.ts";
import type { CoverageMap, FileLines } from "./coverage_map.ts";
import { CoverageFormatError, type FormatReader, ran, wholeNumber } from "./format_reader.ts";

interface TextFormat {
  name: string;
  /** Recognizes a report by its first line that is not a comment. */
  start: RegExp;
  open(map: CoverageMap): FormatReader;
}

/** Cuts a text into lines; blank ones are skipped. */
abstract class LineReader implements FormatReader {
  readonly position = { line: 1, column: 1 };
  protected readonly map: CoverageMap;
  #rest = "";

  constructor(map: CoverageMap) {
    this.map = map;
  }

  /** Called with every line, trimmed. */
  protected abstract take(line: string): void;

  write(chunk: string): void {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop()!;
    for (const line of lines) {
      this.#takeUnlessBlank(line);
      this.position.line++;
    }
    const { lineCharacters } = this.map.limits;
    if (this.#rest.length <= lineCharacters) return;
    throw new CoverageFormatError(
      `found a line of more than ${lineCharacters} characters`,
      "limit",
    );
  }

  end(): void {
    this.#takeUnlessBlank(this.#rest);
  }

  #takeUnlessBlank(line: string): void {
    const trimmed = line.trim();
    if (trimmed !== "") this.take(trimmed);
  }
}

interface Section {
  path: string;
  file: FileLines;
  hasLines: boolean;
  lineCount: number;
  coveredLineCount: number;
}

/**
 * Reads an lcov tracefile. Its `DA` lines count; of a section without any the totals (`LF`, `LH`) are
 * added. A tracefile that ends inside a section was cut off and is refused.
 */
class LcovReader extends LineReader {
  #section: Section | undefined;

  protected take(line: string): void {
    if (line.startsWith("DA:")) return this.#line(line);
    if (line.startsWith("#")) return;
    if (line === "end_of_record") return this.#endSection();
    const [, type, value = ""] = /^([A-Z]+):(.*)$/.exec(line) ?? [];
    if (type === undefined) {
      throw new CoverageFormatError(`found ${excerpt(line)}, expected a line such as "DA:12,1"`);
    }
    // Test names, functions, branches and what later versions add say nothing about lines.
    if (type === "SF") this.#beginSection(value);
    if (type === "LF") this.#open(line).lineCount = wholeNumber(value, "LF");
    if (type === "LH") this.#open(line).coveredLineCount = wholeNumber(value, "LH");
  }

  override end(): void {
    super.end();
    this.#requireEnd("the end of the file");
  }

  #line(line: string): void {
    const section = this.#open(line);
    // A third field may hold a checksum of the line.
    const [number, count] = line.slice("DA:".length).split(",", 2);
    section.file.add(wholeNumber(number, "line number"), ran(count, "execution count"));
    section.hasLines = true;
  }

  #beginSection(path: string): void {
    this.#requireEnd(`"SF"`);
    const file = this.map.file(path);
    this.#section = { path, file, hasLines: false, lineCount: 0, coveredLineCount: 0 };
  }

  #endSection(): void {
    const section = this.#section;
    this.#section = undefined;
    if (section && !section.hasLines) this.map.addTotals(section);
  }

  #open(line: string): Section {
    if (this.#section) return this.#section;
    throw new CoverageFormatError(
      `found ${excerpt(line)} outside of a section, expected "SF" before it`,
    );
  }

  #requireEnd(found: string): void {
    if (this.#section === undefined) return;
    const inside = excerpt(this.#section.path);
    throw new CoverageFormatError(
      `found ${found} inside ${inside}, expected "end_of_record" before it`,
    );
  }
}

const MODE = /^mode: (?:set|count|atomic)$/;
// FILE:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT
const BLOCK = /^(.+):(\d+)\.\d+,(\d+)\.(\d+) (\d+) (\d+)$/;

/**
 * Reads a profile of `go test -coverprofile`.
 *
 * A profile lists blocks of statements, not lines: every line that a block touches can be covered,
 * and is covered when any block on it ran. So `if err != nil {` is covered although the block after
 * its brace did not run. A block without statements is skipped, as in Go's own percentage, which
 * counts statements and differs a little. Blocks and `mode` repeat when profiles were put together.
 */
class GoReader extends LineReader {
  protected take(line: string): void {
    if (MODE.test(line)) return;
    const match = BLOCK.exec(line);
    if (!match) {
      const expected = `"mode: set", "mode: count", "mode: atomic" or a block such as ` +
        `"pkg/a.go:3.14,5.2 1 0"`;
      throw new CoverageFormatError(`found ${excerpt(line)}, expected ${expected}`);
    }
    const [, path = "", ...digits] = match;
    const [firstLine = 0, endLine = 0, endColumn = 0, statementCount = 0, count = 0] = digits
      .map(Number);
    if (endLine < firstLine) {
      throw new CoverageFormatError(
        `found a block from line ${firstLine} to ${endLine}, expected an end after its start`,
      );
    }
    if (statementCount === 0) return;
    // The end lies after the block: in column 1 it touches nothing of its line.
    const lastLine = endColumn <= 1 && endLine > firstLine ? endLine - 1 : endLine;
    this.map.countBlockLines(lastLine - firstLine + 1);
    const file = this.map.file(path);
    // Backwards, so that a number above the limit is refused first.
    for (let number = lastLine; number >= firstLine; number--) file.add(number, count > 0);
  }
}

export const LCOV: TextFormat = {
  name: "lcov",
  start: /^(?:TN|SF|VER):/,
  open: (map) => new LcovReader(map),
};

export const GO: TextFormat = {
  name: "Go cover profile",
  start: /^mode:/,
  open: (map) => new GoReader(map),
};
