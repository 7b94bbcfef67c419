/**
 * The `buildpulse.yml` of an archive: the facts of the run that a reporter in the CI job recorded.
 *
 * Two forms are in use: flat, with keys that begin with a colon, and nested, with a version. Only the
 * keys named here are read. Others can hold secrets of the CI provider, so errors quote no line of
 * the file.
 */
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  parseDocument,
  type YAMLMap,
} from "yaml";
import { parseTimestamp } from "../../base/time.ts";
import { quote, ReportError } from "../report_error.ts";
import { limitError } from "./limits.ts";

/** The metadata of an archive, not validated; `""` for missing values. */
export interface ArchiveMetadata {
  /** That it was uploaded to; only archives of `receive` have it. */
  organization: string;
  /** `OWNER/NAME`. */
  repository: string;
  commit: string;
  tree: string;
  branch: string;
  buildUrl: string;
  /** Page of the repository. */
  repositoryUrl: string;
  /** Without empty ones, not split yet. */
  tags: string[];
  /** For {@link parseMetadataTimestamp}. */
  timestamp: string;
  /** Where the repository was checked out in the CI job. */
  checkoutFolder: string;
}

/** The keys of the two forms, for reading and for error messages. */
export const METADATA_KEYS = {
  flat: {
    repository: ":repo_name_with_owner",
    commit: ":commit",
    tree: ":tree",
    branch: ":branch",
    buildUrl: ":build_url",
    repositoryUrl: ":repository_url",
    tags: ":tags",
    recordedAt: ":timestamp",
  },
  nested: {
    repository: "git.repository",
    commit: "git.commit",
    tree: "git.tree",
    branch: "git.branch",
    buildUrl: "ci.build_url",
    repositoryUrl: "git.repository_url",
    tags: "tags",
    recordedAt: "timestamp",
  },
} as const;

const ORGANIZATION_KEY = "organization";
const CHECKOUT_FOLDER_KEY = "git.checkout_folder";

const NANOSECONDS = 1_000_000_000n;
// A year of four digits has at most 21.
const MAX_NANOSECOND_DIGITS = 22;

// The lexer's mark before a scalar without quotes.
const SCALAR_FOLLOWS = "\x1f";
// Real metadata has some 20 keys in 3 levels, and neither anchors nor aliases.
const MAX_TOKENS = 10_000;
const MAX_DEPTH = 20;

/**
 * Reads either form. Of a repeated key the last one counts, as in the Ruby and Go parsers that
 * these files are written for. @throws {ReportError} also for anchors, aliases, too many tokens or
 * levels
 */
export function parseMetadata(text: string, file: string): ArchiveMetadata {
  checkSize(text, file);
  const lines = new LineCounter();
  const document = parseYaml(text, lines, file);
  const [error] = document.errors;
  if (error) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new ReportError({
      file,
      kind: "malformed",
      problem: `found invalid YAML (${error.code}), expected a mapping`,
      position: { line, column: col },
    });
  }
  const root = document.contents;
  if (!isMap(root)) throw malformed(file, "found YAML that is not a mapping, expected one");

  const form = isNested(root) ? "nested" : "flat";
  if (form === "nested") checkVersion(scalarText(valueOf(root, "version")), file);
  const at = (path: string): unknown =>
    (form === "flat" ? [path] : path.split(".")).reduce<unknown>(valueOf, root);

  const keys = METADATA_KEYS[form];
  const repository = at(keys.repository);
  return {
    repository: isMap(repository)
      ? `${scalarText(valueOf(repository, "owner"))}/${scalarText(valueOf(repository, "name"))}`
      : scalarText(repository),
    // `null`, as of an unset variable, is text that identifies no commit.
    commit: plainText(at(keys.commit)),
    tree: scalarText(at(keys.tree)),
    branch: scalarText(at(keys.branch)),
    buildUrl: scalarText(at(keys.buildUrl)),
    repositoryUrl: scalarText(at(keys.repositoryUrl)),
    tags: tagsOf(at(keys.tags)),
    timestamp: scalarText(at(keys.recordedAt)),
    // Only our own archives have these.
    organization: form === "nested" ? scalarText(at(ORGANIZATION_KEY)) : "",
    checkoutFolder: form === "nested" ? scalarText(at(CHECKOUT_FOLDER_KEY)) : "",
  };
}

/** Seconds since 1970 of a `timestamp` in nanoseconds or RFC 3339. @throws {SyntaxError} */
export function parseMetadataTimestamp(text: string): number {
  if (/^\d+$/.test(text) && text.length <= MAX_NANOSECOND_DIGITS) {
    return Number(BigInt(text) / NANOSECONDS);
  }
  try {
    return parseTimestamp(text);
  } catch {
    throw new SyntaxError(
      `found ${quote(text)}, expected nanoseconds since 1970 or RFC 3339 with a zone`,
    );
  }
}

function valueOf(map: unknown, key: string): unknown {
  if (!isMap(map)) return undefined;
  return map.items.findLast((pair) => isScalar(pair.key) && pair.key.value === key)?.value;
}

function tagsOf(node: unknown): string[] {
  const texts = isSeq(node) ? node.items.map(scalarText) : scalarText(node).split(",");
  return texts.map((tag) => tag.trim()).filter((tag) => tag !== "");
}

/** Looks at the tokens before anything is built from them: 321 bytes of aliases took 60 seconds. */
function checkSize(text: string, file: string): void {
  let tokenCount = 0;
  let depth = 0;
  let levelsOfLine = 0;
  let isScalar = false;
  for (const token of new Lexer().lex(text)) {
    if (++tokenCount > MAX_TOKENS) {
      throw limitError(file, `more than ${MAX_TOKENS} YAML tokens, expected fewer`);
    }
    if (!isScalar) {
      if (/^[&*]/.test(token)) throw limitError(file, "a YAML anchor or alias, expected none");
      if (token === "[" || token === "{") depth++;
      else if (token === "]" || token === "}") depth--;
      else if (/^\r?\n/.test(token)) levelsOfLine = 0;
      else if (depth <= 0 && /^[-?:]$/.test(token)) levelsOfLine++;
      if (depth + levelsOfLine > MAX_DEPTH) {
        throw limitError(file, `YAML of more than ${MAX_DEPTH} levels, expected fewer`);
      }
    }
    isScalar = token === SCALAR_FOLLOWS;
  }
}

// All scalars stay text: a commit of digits is not a number, and 19 digits of nanoseconds do not fit
// into one.
function parseYaml(text: string, lineCounter: LineCounter, file: string): Document.Parsed {
  try {
    return parseDocument(text, {
      schema: "failsafe",
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: "silent",
      lineCounter,
    });
  } catch {
    // The parser calls itself for each level.
    throw limitError(file, "YAML that is nested too deeply, expected a flat mapping");
  }
}

function isNested(root: YAMLMap): boolean {
  return root.items.some(({ key }) =>
    isScalar(key) && (key.value === "version" || key.value === "git")
  );
}

function checkVersion(version: string, file: string): void {
  if (version === "" || /^1(\.\d+)?$/.test(version)) return;
  throw malformed(file, `found the version ${quote(version)}, expected 1.0`);
}

function scalarText(node: unknown): string {
  const isNull = isScalar(node) && node.type === "PLAIN" &&
    /^(~|null|Null|NULL)$/.test(String(node.value));
  return isNull ? "" : plainText(node);
}

function plainText(node: unknown): string {
  return isScalar(node) && typeof node.value === "string" ? node.value.trim() : "";
}

function malformed(file: string, problem: string): ReportError {
  return new ReportError({ file, kind: "malformed", problem });
}
