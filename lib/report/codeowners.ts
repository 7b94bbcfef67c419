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

/** Who owns which files. */
export interface Codeowners {
  /** Owners of a file, `@acme/web` or an address, in the order of the file and without repetition. */
  ownersOf(path: string): string[];
}

// Beyond these, CODEOWNERS is cut or a line is passed over, with a note. GitHub takes 3 MB.
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

/** One segment of a pattern; `null` is `**`. */
type Segment = { text: string; isGlob: boolean } | null;

interface Rule {
  /** What a whole path has to match. */
  segments: Segment[];
  owners: string[];
}

interface Section {
  defaultOwners: string[];
  rules: Rule[];
}

const BACKSLASH = 0x5c;
const QUESTION = 0x3f;
const STAR = 0x2a;
const ANY: Segment = { text: "*", isGlob: true };

/**
 * Reads a CODEOWNERS file. Lines that cannot be understood are passed over.
 *
 * @param onNote called with what was passed over, one line each
 */
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
      this.#note(`${where}: more than ${MAX_RULES} patterns: the rest was passed over`);
      return false;
    }
    const [, pattern = "", rest = ""] = /^((?:\\.|[^\\\s])+)(.*)$/.exec(line) ?? [];
    // GitLab: files without an owner in this section; overrides earlier patterns.
    const isExclusion = pattern.startsWith("!");
    const segments = compile(isExclusion ? pattern.slice(1) : pattern);
    if (pattern.length > MAX_PATTERN_CHARACTERS) {
      this.#note(
        `${where}: a pattern of ${pattern.length} characters, expected at most ` +
          `${MAX_PATTERN_CHARACTERS}: passed over`,
      );
    } else if (!segments) {
      this.#note(`${where}: no pattern was found: passed over`);
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
    this.#note(`${where}: more than ${MAX_SECTIONS} sections: the rest was passed over`);
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
        const shown = JSON.stringify(word.slice(0, 40));
        this.#note(`${where}: found ${shown}, expected an owner: passed over`);
      } else if (owners.push(word) === MAX_OWNERS) {
        this.#note(`${where}: ${MAX_OWNERS} owners: further ones are passed over`);
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

function compile(pattern: string): Segment[] | null {
  const inner = pattern.replace(/^\//, "").replace(/\/$/, "");
  if (inner === "") return null;
  const isFolder = pattern.endsWith("/");
  const isAnchored = pattern.startsWith("/") || inner.includes("/");
  const segments: Segment[] = isAnchored ? [] : [null];
  for (const text of inner.split("/")) {
    if (text !== "**") {
      const isGlob = /[*?]/.test(text);
      segments.push({ text: isGlob ? text : text.replace(/\\(.)/gs, "$1"), isGlob });
    } else if (segments.at(-1) !== null) segments.push(null);
  }
  const endsWithStars = segments.at(-1) === null;
  if (endsWithStars) segments.pop();
  // `a/**` and `a/` match what is below a, and not a itself.
  if (endsWithStars || isFolder) return [...segments, ANY, null];
  // `docs/*` is the one pattern that stops at its level.
  const isOneLevel = isAnchored && segments.at(-1)?.text === "*";
  return isOneLevel ? segments : [...segments, null];
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
      for (let at = rules.length - 1; at >= 0; at--) {
        if (!this.#matches(rules[at]!.segments, parts)) continue;
        for (const owner of rules[at]!.owners) if (owners.size < MAX_OWNERS) owners.add(owner);
        break;
      }
    }
    if (this.#steps <= MAX_STEPS) return [...owners];
    const shown = JSON.stringify(path.slice(0, 200));
    this.#onNote?.(`CODEOWNERS: too many patterns for so many files: no owners from ${shown} on`);
    return [];
  }

  /** Goes back to the last `**` alone, which is enough: no pattern takes more than S x P steps. */
  #matches(segments: readonly Segment[], parts: readonly string[]): boolean {
    let segmentAt = 0, partAt = 0, stars = -1, afterStars = 0;
    this.#steps++;
    while (partAt < parts.length) {
      const segment = segments[segmentAt];
      if (segment === null) {
        if (segmentAt === segments.length - 1) return true;
        stars = segmentAt++;
        afterStars = partAt;
      } else if (segment && this.#matchesSegment(segment, parts[partAt]!)) {
        segmentAt++;
        partAt++;
      } else if (stars !== -1 && this.#steps <= MAX_STEPS) {
        segmentAt = stars + 1;
        partAt = ++afterStars;
      } else {
        return false;
      }
    }
    if (segments[segmentAt] === null) segmentAt++;
    return segmentAt === segments.length;
  }

  /** The same with the characters of a segment and `*`. */
  #matchesSegment({ text: glob, isGlob }: NonNullable<Segment>, text: string): boolean {
    this.#steps++;
    if (!isGlob) return glob === text;
    let globAt = 0, textAt = 0, star = -1, afterStar = 0, steps = 0;
    while (textAt < text.length) {
      steps++;
      let character = glob.charCodeAt(globAt);
      const isEscaped = character === BACKSLASH && globAt + 1 < glob.length;
      if (isEscaped) character = glob.charCodeAt(globAt + 1);
      if (character === STAR && !isEscaped) {
        star = globAt++;
        afterStar = textAt;
      } else if (character === text.charCodeAt(textAt) || (character === QUESTION && !isEscaped)) {
        globAt += isEscaped ? 2 : 1;
        textAt++;
      } else if (star !== -1) {
        globAt = star + 1;
        textAt = ++afterStar;
      } else {
        break;
      }
    }
    this.#steps += steps;
    if (textAt < text.length) return false;
    while (glob[globAt] === "*") globAt++;
    return globAt === glob.length;
  }
}
