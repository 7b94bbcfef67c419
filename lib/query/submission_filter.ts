import { branchNamed } from "../ci/git_ref.ts";

/** Maximum length of `branch` and `environment` in characters (code points). */
export const MAX_FILTER_CHARACTERS = 2000;

export const MAX_FILTER_PATTERNS = 20;

/**
 * Patterns of names, of which one must match; `*` in them stands for any characters. `null` selects all
 * submissions, also those whose branch or environment is unknown.
 */
export type Patterns = readonly string[] | null;

/** The submissions that count. */
export interface SubmissionFilter {
  branches: Patterns;
  environments: Patterns;
}

export const ALL_SUBMISSIONS: SubmissionFilter = { branches: null, environments: null };

/** Whether all submissions count. */
export function isUnfiltered({ branches, environments }: SubmissionFilter): boolean {
  return branches === null && environments === null;
}

/**
 * Parses `branch` or `environment`: patterns separated by commas, sorted, each once.
 *
 * @throws {RangeError} when there are too many, or too many characters
 */
export function parsePatterns(text: string, parameter = "branch"): Patterns {
  const elements = text.split(",").map((element) => element.trim()).filter((one) => one !== "");
  if (elements.length === 0) return null;
  // As uploads store it: `origin/main` is `main`.
  const nameOf = (one: string) => parameter === "branch" && branchNamed(one) || one;
  const patterns = new Set(elements.map((element) => nameOf(element.replaceAll(/\*+/g, "*"))));
  if ([...text].length > MAX_FILTER_CHARACTERS || patterns.size > MAX_FILTER_PATTERNS) {
    throw new RangeError(
      `invalid ${parameter}: expected at most ${MAX_FILTER_PATTERNS} patterns and ` +
        `${MAX_FILTER_CHARACTERS} characters`,
    );
  }
  return [...patterns].sort();
}

export function matchesPatterns(name: string, patterns: Patterns): boolean {
  return patterns === null || patterns.some((pattern) => matches(name, pattern.split("*")));
}

/** Whether a name consists of the parts, with any characters between them. */
function matches(name: string, parts: readonly string[]): boolean {
  const [first = "", ...others] = parts;
  if (others.length === 0) return name === first;
  const last = others.pop()!;
  let at = first.length;
  if (!name.startsWith(first)) return false;
  for (const part of others) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length >= at + last.length && name.endsWith(last);
}
