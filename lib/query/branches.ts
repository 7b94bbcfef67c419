/** Maximum length of `branch` in characters (code points). */
export const MAX_BRANCH_CHARACTERS = 2000;

export const MAX_BRANCH_PATTERNS = 20;

/**
 * Patterns of branch names, of which one must match; `*` in them stands for any characters. `null`
 * selects all submissions, also those without a branch.
 */
export type BranchFilter = readonly string[] | null;

/** Parses `branch`: patterns separated by commas, sorted, each once. @throws {RangeError} */
export function parseBranches(text: string): BranchFilter {
  const elements = text.split(",").map((element) => element.trim()).filter((one) => one !== "");
  if (elements.length === 0) return null;
  const patterns = new Set(elements.map((element) => element.replaceAll(/\*+/g, "*")));
  if ([...text].length > MAX_BRANCH_CHARACTERS || patterns.size > MAX_BRANCH_PATTERNS) {
    throw new RangeError(
      `invalid branch: expected at most ${MAX_BRANCH_PATTERNS} patterns and ` +
        `${MAX_BRANCH_CHARACTERS} characters`,
    );
  }
  return [...patterns].sort();
}
