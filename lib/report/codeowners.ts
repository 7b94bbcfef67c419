/**
 * `CODEOWNERS`: who owns which files, as GitHub reads it. Sections, as GitLab has them, are taken
 * too: in each of them the last pattern that matches counts, and a file has the owners of all.
 *
 *     # comment
 *     *.js       @acme/web dev@acme.example   # comment
 *     /docs/     @acme/writers
 *     [Database] @acme/data                   GitLab: owners of patterns without any
 *     db/
 *
 * In a pattern `*` and `?` match within a segment and `**` any number of segments. A pattern with a
 * slash at its beginning or in its middle starts at the root, others match at any depth. A pattern
 * that matches a folder matches all below it, except that `docs/*` ends at the first level.
 */

/** Who owns which files. */
export interface Codeowners {
  /** Owners of a file, `@acme/web` or an address, in the order of the file and without repetition. */
  ownersOf(path: string): string[];
}

/** What is read of a file before it is cut, with a note. GitHub takes 3 MB. */
const MAX_RULES = 20_000;
const MAX_OWNER_CHARACTERS = 190;
// As long as a file's name may be; comparing takes time by the product of both lengths.
const MAX_PATTERN_CHARACTERS = 255;

interface Rule {
  /** Glob of each segment; `null` is `**`. */
  segments: (string | null)[];
  /** What the first segment must be, when it is no glob and the pattern starts at the root. */
  firstSegment: string | null;
  /** True for `docs/`: it matches what is below, not a file of the name. */
  isFolder: boolean;
  /** True for `docs/*`: it matches files, not what is below a folder of the name. */
  isFile: boolean;
  owners: string[];
}

interface Section {
  defaultOwners: string[];
  rules: Rule[];
}

/**
 * Reads a CODEOWNERS file. Lines that cannot be understood are passed over, as everybody does.
 *
 * @param onNote called with what was passed over, one line each
 */
export function parseCodeowners(text: string, onNote?: (note: string) => void): Codeowners {
  const sections = new Map<string, Section>();
  let section: Section = { defaultOwners: [], rules: [] };
  sections.set("", section);
  let ruleCount = 0;
  for (const [index, line] of text.split(/\r\n?|\n/).entries()) {
    const where = `CODEOWNERS:${index + 1}`;
    const trimmed = line.replace(/^\ufeff/, "").trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    const header = /^\^?\[([^\]]+)\](?:\[\d+\])?(.*)$/.exec(trimmed);
    if (header) {
      const name = header[1]!.trim().toLowerCase();
      const defaultOwners = ownersIn(header[2]!, where, onNote);
      section = sections.get(name) ?? { defaultOwners, rules: [] };
      if (defaultOwners.length > 0) section.defaultOwners = defaultOwners;
      sections.set(name, section);
      continue;
    }
    if (++ruleCount > MAX_RULES) {
      onNote?.(`${where}: more than ${MAX_RULES} patterns: the rest was passed over`);
      break;
    }
    const [, pattern = "", rest = ""] = /^((?:\\.|[^\\\s])+)(.*)$/.exec(trimmed) ?? [];
    if (pattern.length > MAX_PATTERN_CHARACTERS) {
      onNote?.(
        `${where}: a pattern of ${pattern.length} characters, expected at most ` +
          `${MAX_PATTERN_CHARACTERS}: passed over`,
      );
      continue;
    }
    // GitLab: files that nobody owns in this section, whatever the patterns before say.
    const isExclusion = pattern.startsWith("!");
    const rule = compile(isExclusion ? pattern.slice(1) : pattern);
    if (!rule) {
      onNote?.(`${where}: no pattern was found: passed over`);
      continue;
    }
    const owners = isExclusion ? [] : ownersIn(rest, where, onNote);
    const named = owners.length > 0 || isExclusion ? owners : section.defaultOwners;
    section.rules.push({ ...rule, owners: named });
  }
  return { ownersOf: (path) => ownersOf(path, sections.values()) };
}

function ownersIn(text: string, where: string, onNote?: (note: string) => void): string[] {
  const owners: string[] = [];
  for (const word of text.split(/\s+/)) {
    if (word.startsWith("#")) break;
    if (word === "") continue;
    // What has no @ is no owner, and a comma would make two tags of one.
    const isOwner = word.includes("@") && !word.includes(",") && !/\p{Cc}/u.test(word) &&
      word.length <= MAX_OWNER_CHARACTERS;
    if (isOwner) owners.push(word);
    else {onNote?.(
        `${where}: found ${JSON.stringify(word.slice(0, 40))}, expected an owner: passed over`,
      );}
  }
  return owners;
}

function compile(pattern: string): Omit<Rule, "owners"> | null {
  const inner = pattern.replace(/^\//, "").replace(/\/$/, "");
  if (inner === "") return null;
  const isAnchored = pattern.startsWith("/") || inner.includes("/");
  const segments = inner.split("/").map((segment) => segment === "**" ? null : segment)
    .filter((segment, at, all) => segment !== null || all[at - 1] !== null);
  const last = segments.at(-1)!;
  const first = segments[0]!;
  if (!isAnchored && first !== null) segments.unshift(null);
  return {
    segments,
    firstSegment: isAnchored && first !== null && !/[*?\\]/.test(first) ? first : null,
    isFolder: pattern.endsWith("/"),
    // `docs/*` is the one pattern that stops at its level; others own all below a folder they match.
    isFile: isAnchored && last === "*" && !pattern.endsWith("/"),
  };
}

function ownersOf(path: string, sections: Iterable<Section>): string[] {
  const parts = path.replaceAll("\\", "/").split("/").filter((part) => part !== "" && part !== ".");
  const owners = new Set<string>();
  for (const { rules } of sections) {
    const rule = rules.findLast((rule) => matches(rule, parts));
    for (const owner of rule?.owners ?? []) owners.add(owner);
  }
  return [...owners];
}

function matches(rule: Rule, parts: string[]): boolean {
  if (rule.firstSegment !== null && rule.firstSegment !== parts[0]) return false;
  // Counts parts that are matched: all of them, or those of a folder above the file.
  const isEnough = (count: number) =>
    count === parts.length ? !rule.isFolder : !rule.isFile && count > 0;
  if (!rule.segments.includes(null)) {
    // Most patterns: nothing to try, and thousands of them may be asked about thousands of files.
    const count = rule.segments.length;
    return count <= parts.length && isEnough(count) &&
      rule.segments.every((segment, at) => matchesGlob(segment!, parts[at]!));
  }
  let reached = new Set([0]);
  for (const segment of rule.segments) {
    const next = new Set<number>();
    for (const at of reached) {
      if (segment === null) { for (let to = at; to <= parts.length; to++) next.add(to); }
      else if (at < parts.length && matchesGlob(segment, parts[at]!)) next.add(at + 1);
    }
    if (next.size === 0) return false;
    reached = next;
  }
  // `a/**` is what is below a, and not a itself.
  if (rule.segments.at(-1) === null) return reached.has(parts.length) && !isOnlyPrefix(rule, parts);
  return [...reached].some(isEnough);
}

function isOnlyPrefix(rule: Rule, parts: string[]): boolean {
  return rule.segments.length - 1 >= parts.length && !rule.segments.slice(0, -1).includes(null);
}

/** Goes back to the last `*` alone, which is enough and keeps the time within length by length. */
function matchesGlob(glob: string, text: string): boolean {
  if (glob === text) return !glob.includes("\\");
  let g = 0, t = 0, star = -1, starText = 0;
  while (t < text.length) {
    const escaped = glob[g] === "\\" && g + 1 < glob.length;
    const literal = escaped ? glob[g + 1] : glob[g];
    if (!escaped && glob[g] === "*") {
      star = g++;
      starText = t;
    } else if (g < glob.length && (literal === text[t] || (!escaped && literal === "?"))) {
      g += escaped ? 2 : 1;
      t++;
    } else if (star >= 0) {
      g = star + 1;
      t = ++starText;
    } else {
      return false;
    }
  }
  while (glob[g] === "*") g++;
  return g === glob.length;
}
