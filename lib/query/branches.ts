import { quote } from "../base/quote.ts";

/** Maximum length of `branch` in characters (code points). */
export const MAX_BRANCH_CHARACTERS = 2000;

/** Maximum number of patterns in `branch`. */
export const MAX_BRANCH_PATTERNS = 20;

/**
 * Patterns of branch names, of which one must match; `*` in them stands for any characters. `null`
 * selects all submissions, also those without a branch.
 */
export type BranchFilter = readonly string[] | null;

/** Parses `branch`: patterns separated by commas, sorted, each once. @throws {RangeError} */
export function parseBranches(text: string): BranchFilter {
  const length = [...text].length;
  if (length > MAX_BRANCH_CHARACTERS) {
    throw new RangeError(
      `invalid branch of ${length} characters: expected at most ${MAX_BRANCH_CHARACTERS}`,
    );
  }
  const elements = text.split(",").map((element) => element.trim()).filter((one) => one !== "");
  if (elements.length === 0) return null;
  const patterns = new Set(elements.map((element) => element.replaceAll(/\*+/g, "*")));
  if (patterns.size > MAX_BRANCH_PATTERNS) {
    throw new RangeError(
      `invalid branch ${quote(text)}: expected at most ${MAX_BRANCH_PATTERNS} patterns`,
    );
  }
  return [...patterns].sort();
}
