/**
 * `CODEOWNERS`: who owns which files, as GitHub reads it. Sections, as GitLab has them, work too: in
 * each of them the last pattern that matches counts, and a file has the owners of all sections.
 *
 *     # comment
 *     *.js       @acme/web dev@acme.example   # comment
 *     /docs/     @acme/writers
 *     [Database] @acme/data                   GitLab: owners of patterns without any
 *     db/
 *
 * In a pattern `*` and `?` match within a segment and `**` any number of segments. A pattern with a
 * slash at its beginning or in its middle starts at the root, others match at any depth. A pattern
 * that matches a folder matches everything below it, except that `docs/*` stops at the first level.
 */

import { excerpt } from "./report_error.ts";

export interface Codeowners {
  /** Owners of a file, `@acme/web` or an address, in the order of the file and without repetition. */
  ownersOf(path: string): string[];
}

// Beyond these, CODEOWNERS is cut or a line is skipped, with a note. GitHub takes 3 MB.
const MAX_LINES = 20_000;
// Owners of a pattern, and of a file; further ones are left out.
const MAX_OWNERS = 100;
const MAX_OWNER_CHARACTERS = 190;
// As long as a file's name may be.
const MAX_PATTERN_CHARACTERS = 255;
const MAX_PATH_CHARACTERS = 4_096;
const MAX_NOTES = 100;
/**
 * Comparisons for all files of one upload, of a pattern with a path, a segment with a segment or a
 * character with a character: about 3 seconds. 5,000 patterns and 20,000 files need 100 million.
 */
const MAX_STEPS = 500_000_000;

/** Its text, or with wildcards its characters: `""` matches any, `null` any number of them. */
type Segment = string | readonly (string | null)[];

interface Rule {
  /** Pattern of a whole path; `null` is `**`. */
  segments: readonly (Segment | null)[];
  owners: string[];
}

interface Section {
  defaultOwners: string[];
  rules: Rule[];
}

const ANY: Segment = [null];

/** Reads a CODEOWNERS file; lines that cannot be understood are skipped, with a note. */
export function parseCodeowners(
  text: string,
  onNote: (note: string) => void = () => {},
  maxSteps = MAX_STEPS,
): Codeowners {
  let noteCount = 0;
  const sections = readSections(text, (note) => {
    noteCount++;
    const rest = noteCount === MAX_NOTES ? "; further notes are omitted" : "";
    if (noteCount <= MAX_NOTES) onNote(note + rest);
  });
  return { ownersOf: createMatcher(sections, { onNote, maxSteps }) };
}

function readSections(text: string, note: (note: string) => void): Section[] {
  let section: Section = { defaultOwners: [], rules: [] };
  const sections = new Map([["", section]]);
  let lineCount = 0;
  for (const [index, untrimmed] of text.split(/\r\n?|\n/).entries()) {
    const line = untrimmed.trim();
    const where = `CODEOWNERS:${index + 1}`;
    if (line === "" || line.startsWith("#")) continue;
    if (++lineCount > MAX_LINES) {
      note(`${where}: more than ${MAX_LINES} patterns and sections: the rest is skipped`);
      break;
    }
    const header = /^\^?\[([^\]]+)\](?:\[\d+\])?(.*)$/.exec(line);
    if (header) {
      const name = header[1]!.trim().toLowerCase();
      const defaultOwners = ownersIn(header[2]!, where, note);
      section = sections.get(name) ?? { defaultOwners, rules: [] };
      if (defaultOwners.length > 0) section.defaultOwners = defaultOwners;
      sections.set(name, section);
      continue;
    }
    const [, pattern = "", rest = ""] = /^((?:\\.|[^\\\s])+)(.*)$/.exec(line) ?? [];
    // GitLab: files without an owner in this section; overrides earlier patterns.
    const isExclusion = pattern.startsWith("!");
    const segments = compile(isExclusion ? pattern.slice(1) : pattern);
    if (!segments || pattern.length > MAX_PATTERN_CHARACTERS) {
      note(
        `${where}: found ${
          excerpt(pattern)
        }, expected a pattern of 1 to ${MAX_PATTERN_CHARACTERS} ` +
          "characters: skipped",
      );
      continue;
    }
    const owners = isExclusion ? [] : ownersIn(rest, where, note);
    const isDefault = owners.length === 0 && !isExclusion;
    section.rules.push({ segments, owners: isDefault ? section.defaultOwners : owners });
  }
  return [...sections.values()];
}

function ownersIn(text: string, where: string, note: (note: string) => void): string[] {
  const owners: string[] = [];
  for (const word of text.split(/\s+/)) {
    if (word.startsWith("#") || owners.length === MAX_OWNERS) break;
    if (word === "") continue;
    // Owners contain @. A comma would split the tag in two.
    const isOwner = word.includes("@") && !word.includes(",") && !/\p{Cc}/u.test(word) &&
      word.length <= MAX_OWNER_CHARACTERS;
    if (isOwner) owners.push(word);
    else note(`${where}: found ${excerpt(word)}, expected an owner: skipped`);
  }
  return owners;
}

function compile(pattern: string): (Segment | null)[] | null {
  const inner = pattern.replace(/^\//, "").replace(/\/$/, "");
  if (inner === "") return null;
  const isFolder = pattern.endsWith("/");
  const isAnchored = pattern.startsWith("/") || inner.includes("/");
  const segments: (Segment | null)[] = isAnchored ? [] : [null];
  for (const text of inner.split("/")) {
    if (text !== "**") segments.push(compileSegment(text));
    else if (segments.at(-1) !== null) segments.push(null);
  }
  const endsWithStars = segments.at(-1) === null;
  if (endsWithStars) segments.pop();
  // `a/**` and `a/` match what is below a, and not a itself.
  if (endsWithStars || isFolder) return [...segments, ANY, null];
  // `docs/*` is the one pattern that stops at its level.
  return inner.endsWith("/*") || pattern === "/*" ? segments : [...segments, null];
}

function compileSegment(text: string): Segment {
  const characters = Array.from(
    text.matchAll(/\\(.)|[^]/gs),
    ([found, escaped]) => escaped ?? (found === "*" ? null : found === "?" ? "" : found),
  );
  const isGlob = characters.some((character) => character === null || character === "");
  return isGlob ? characters : characters.join("");
}

/**
 * Matches a pattern in which `null` stands for any number of items. Going back to the last one
 * alone is enough, so that no pattern takes more than its length times the number of items.
 */
function matches<Token>(
  pattern: readonly (Token | null)[],
  itemCount: number,
  matchesItem: (token: Token, item: number) => boolean,
): boolean {
  let at = 0, item = 0;
  // Where to go on after the last wildcard; 0 before the first.
  let wildcard = 0, afterWildcard = 0;
  while (item < itemCount) {
    const token = pattern[at];
    if (token === null) {
      wildcard = ++at;
      if (wildcard === pattern.length) return true;
      afterWildcard = item;
    } else if (token !== undefined && matchesItem(token, item)) {
      at++;
      item++;
    } else if (wildcard !== 0) {
      at = wildcard;
      item = ++afterWildcard;
    } else {
      return false;
    }
  }
  while (pattern[at] === null) at++;
  return at === pattern.length;
}

function createMatcher(
  sections: readonly Section[],
  { onNote, maxSteps }: { onNote: (note: string) => void; maxSteps: number },
) {
  let steps = 0;

  function matchesSegment(segment: Segment, text: string): boolean {
    steps++;
    if (typeof segment === "string") return segment === text;
    return matches(segment, text.length, (character, at) => {
      steps++;
      return character === "" || character === text[at];
    });
  }

  function matchesRule({ segments }: Rule, parts: readonly string[]): boolean {
    return ++steps <= maxSteps &&
      matches(segments, parts.length, (segment, part) => matchesSegment(segment, parts[part]!));
  }

  return (path: string): string[] => {
    if (steps > maxSteps || path.length > MAX_PATH_CHARACTERS) return [];
    const parts = path.replaceAll("\\", "/").split("/")
      .filter((part) => part !== "" && part !== ".");
    if (parts.length === 0) return [];
    const owners = new Set<string>();
    for (const { rules } of sections) {
      const rule = rules.findLast((rule) => matchesRule(rule, parts));
      for (const owner of rule?.owners ?? []) if (owners.size < MAX_OWNERS) owners.add(owner);
    }
    if (steps <= maxSteps) return [...owners];
    onNote(
      `CODEOWNERS: more than ${maxSteps} comparisons of patterns and paths: no owners from ` +
        `${excerpt(path)} on`,
    );
    return [];
  };
}
