/** Cover profiles of `go test -coverprofile`. */
import { quote } from "../report_error.ts";
import type { CoverageMap } from "./coverage_map.ts";
import { Refusal } from "./refusal.ts";

const MODE = /^mode: (?:set|count|atomic)$/;
// FILE:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT
const BLOCK = /^(.+):(\d+)\.\d+,(\d+)\.(\d+) (\d+) (\d+)$/;

/** True for a line with which a cover profile begins. */
export function beginsGoProfile(line: string): boolean {
  return line.startsWith("mode:");
}

/**
 * Adds a line of a cover profile.
 *
 * A profile lists blocks of statements, not lines: every line that a block touches can be covered,
 * and is covered when any block on it ran. So `if err != nil {` is covered although the block after
 * its brace did not run. A block without statements is skipped, as in Go's own percentage, which
 * counts statements and differs a little. Blocks and `mode` repeat when profiles were put together.
 */
export function addGoLine(line: string, map: CoverageMap): void {
  if (beginsGoProfile(line)) {
    if (MODE.test(line)) return;
    throw new Refusal(
      `found ${quote(line)}, expected "mode: set", "mode: count" or "mode: atomic"`,
    );
  }
  const match = BLOCK.exec(line);
  if (!match) {
    throw new Refusal(`found ${quote(line)}, expected a block such as "pkg/a.go:3.14,5.2 1 0"`);
  }
  const [, path = "", ...digits] = match;
  const [firstLine = 0, endLine = 0, endColumn = 0, statementCount = 0, count = 0] = digits
    .map(Number);
  if (endLine < firstLine) {
    throw new Refusal(
      `found a block from line ${firstLine} to ${endLine}, expected an end behind`,
    );
  }
  if (statementCount === 0) return;
  // The end lies behind the block: in column 1 it touches nothing of its line.
  const lastLine = endColumn <= 1 && endLine > firstLine ? endLine - 1 : endLine;
  map.countBlockLines(lastLine - firstLine + 1);
  const file = map.file(path);
  // Backwards, so that a number above the limit is refused first.
  for (let number = lastLine; number >= firstLine; number--) file.add(number, count > 0);
}
