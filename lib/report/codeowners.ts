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

import { quote } from "./report_error.ts";

/** Who owns which files. */
export interface Codeowners {
  /** Owners of a file, `@acme/web` or an address, in the order of the file and without repetition. */
  ownersOf(path: string): string[];
}

// Beyond these, CODEOWNERS is cut or a line is skipped, with a note. GitHub takes 3 MB.
const MAX_RULES = 20_000;
const MAX_SECTIONS = 1_000;
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
  /** What a whole path has to match; `null` is `**`. */
  segments: readonly (Segment | null)[];
  owners: string[];
}

interface Section {
  defaultOwners: string[];
  rules: Rule[];
}

const ANY: Segment = [null];

/** Reads a CODEOWNERS file; lines that cannot be understood are skipped, with a note. */
export function parseCodeowners(text: string, onNote?: (note: string) => void): Codeowners {
  const parser = new Parser(onNote ?? (() => {}));
  for (const [index, line] of text.split(/\r\n?|\n/).entries()) {
    if (!parser.take(line.replace(/^\ufeff/, "").trim(), `CODEOWNERS:${index + 1}`)) break;
  }
  const matcher = new Matcher([...parser.sections.values()], onNote);
  return { ownersOf: (path) => matcher.ownersOf(path) };
}

class Parser {
  readonly sections = new Map<string, Section>();
  readonly #onNote: (note: string) => void;
  #section: Section = { defaultOwners: [], rules: [] };
  #ruleCount = 0;
  #noteCount = 0;

  constructor(onNote: (note: string) => void) {
    this.#onNote = onNote;
    this.sections.set("", this.#section);
  }

  /** Takes a line without blanks around it; false when no more are wanted. */
  take(line: string, where: string): boolean {
    if (line === "" || line.startsWith("#")) return true;
    const header = /^\^?\[([^\]]+)\](?:\[\d+\])?(.*)$/.exec(line);
    if (header) return this.#beginSection(header[1]!, this.#ownersIn(header[2]!, where), where);
    if (++this.#ruleCount > MAX_RULES) {
      this.#note(`${where}: more than ${MAX_RULES} patterns: the rest is skipped`);
      return false;
    }
    const [, pattern = "", rest = ""] = /^((?:\\.|[^\\\s])+)(.*)$/.exec(line) ?? [];
    // GitLab: files without an owner in this section; overrides earlier patterns.
    const isExclusion = pattern.startsWith("!");
    const segments = compile(isExclusion ? pattern.slice(1) : pattern);
    if (pattern.length > MAX_PATTERN_CHARACTERS) {
      this.#note(
        `${where}: a pattern of ${pattern.length} characters, expected at most ` +
          `${MAX_PATTERN_CHARACTERS}: skipped`,
      );
    } else if (!segments) {
      this.#note(`${where}: found no pattern: skipped`);
    } else {
      const owners = isExclusion ? [] : this.#ownersIn(rest, where);
      const isDefault = owners.length === 0 && !isExclusion;
      this.#section.rules.push({
        segments,
        owners: isDefault ? this.#section.defaultOwners : owners,
      });
    }
    return true;
  }

  #beginSection(header: string, defaultOwners: string[], where: string): boolean {
    const name = header.trim().toLowerCase();
    this.#section = this.sections.get(name) ?? { defaultOwners, rules: [] };
    if (defaultOwners.length > 0) this.#section.defaultOwners = defaultOwners;
    this.sections.set(name, this.#section);
    if (this.sections.size <= MAX_SECTIONS) return true;
    this.#note(`${where}: more than ${MAX_SECTIONS} sections: the rest is skipped`);
    return false;
  }

  #ownersIn(text: string, where: string): string[] {
    const owners: string[] = [];
    for (const word of text.split(/\s+/)) {
      if (word.startsWith("#")) break;
      if (word === "") continue;
      // Owners contain @. A comma would split the tag in two.
      const isOwner = word.includes("@") && !word.includes(",") && !/\p{Cc}/u.test(word) &&
        word.length <= MAX_OWNER_CHARACTERS;
      if (!isOwner) {
        this.#note(`${where}: found ${quote(word)}, expected an owner: skipped`);
      } else if (owners.length < MAX_OWNERS) {
        owners.push(word);
      } else {
        this.#note(`${where}: more than ${MAX_OWNERS} owners: the rest is skipped`);
        break;
      }
    }
    return owners;
  }

  #note(note: string): void {
    if (++this.#noteCount <= MAX_NOTES) this.#onNote(note);
    else if (this.#noteCount === MAX_NOTES + 1) {
      this.#onNote(`${note}, and so may be further lines`);
    }
  }
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
  // Where to go on behind the last wildcard; 0 before the first.
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

class Matcher {
  readonly #sections: readonly Section[];
  readonly #onNote: ((note: string) => void) | undefined;
  #steps = 0;

  constructor(sections: readonly Section[], onNote?: (note: string) => void) {
    this.#sections = sections;
    this.#onNote = onNote;
  }

  ownersOf(path: string): string[] {
    if (this.#steps > MAX_STEPS || path.length > MAX_PATH_CHARACTERS) return [];
    const parts = path.replaceAll("\\", "/").split("/")
      .filter((part) => part !== "" && part !== ".");
    if (parts.length === 0) return [];
    const owners = new Set<string>();
    for (const { rules } of this.#sections) {
      const rule = rules.findLast(({ segments }) => this.#matches(segments, parts));
      for (const owner of rule?.owners ?? []) if (owners.size < MAX_OWNERS) owners.add(owner);
    }
    if (this.#steps <= MAX_STEPS) return [...owners];
    this.#onNote?.(
      `CODEOWNERS: more than ${MAX_STEPS} comparisons of patterns and paths: no owners from ` +
        `${quote(path)} on`,
    );
    return [];
  }

  #matches(segments: Rule["segments"], parts: readonly string[]): boolean {
    this.#steps++;
    return this.#steps <= MAX_STEPS &&
      matches(
        segments,
        parts.length,
        (segment, part) => this.#matchesSegment(segment, parts[part]!),
      );
  }

  #matchesSegment(segment: Segment, text: string): boolean {
    this.#steps++;
    if (typeof segment === "string") return segment === text;
    return matches(segment, text.length, (character, at) => {
      this.#steps++;
      return character === "" || character === text[at];
    });
  }
}
