/**
 * The `buildpulse.yml` of an archive: the facts of the run that a reporter in the CI job recorded.
 *
 * Two forms are in use: flat, with keys that begin with a colon, and nested, with a version. Only the
 * keys named here are read. Others can hold secrets of the CI provider, so errors quote no line of
 * the file.
 */
import { isMap, isScalar, isSeq, Lexer, LineCounter, parseDocument } from "yaml";
import { parseTimestamp } from "../../base/time.ts";
import { excerpt, limitError, ReportError } from "../report_error.ts";

/** The metadata of an archive, not validated; `""` for missing values. */
export interface ArchiveMetadata {
  /** That it was uploaded to; only archives of `receive` have it. */
  organization: string;
  /** `OWNER/NAME`. */
  repository: string;
  commit: string;
  tree: string;
  branch: string;
  environment: string;
  job: string;
  workflow: string;
  shard: string;
  attempt: string;
  runner: string;
  exitCode: string;
  buildUrl: string;
  repositoryUrl: string;
  /** Name of the CI service, such as `jenkins`. */
  provider: string;
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
    environment: ":environment",
    job: ":job",
    workflow: ":workflow",
    shard: ":shard",
    attempt: ":attempt",
    runner: ":runner",
    exitCode: ":exit_code",
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
    environment: "ci.environment",
    job: "ci.job",
    workflow: "ci.workflow",
    shard: "ci.shard",
    attempt: "ci.attempt",
    runner: "ci.runner",
    exitCode: "ci.exit_code",
    buildUrl: "ci.build_url",
    repositoryUrl: "git.repository_url",
    tags: "tags",
    recordedAt: "timestamp",
  },
} as const;

/**
 * Keys under which the reporter in use writes the repository's address, each for another CI service, in
 * addition to {@linkcode METADATA_KEYS}.
 */
const REPOSITORY_URL_KEYS = [
  ":github_repo_url",
  ":circle_repository_url",
  ":semaphore_git_url",
  ":codebuild_source_repo_url",
  ":bitbucket_git_http_origin",
  ":build_repository_uri",
];
const PROVIDER_KEYS = { flat: ":ci_provider", nested: "ci.provider" };

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
 * Reads either form. The last of repeated keys counts, as in the Ruby and Go parsers that
 * these files are written for. @throws {ReportError} also for anchors, aliases, too many tokens or
 * levels
 */
export function parseMetadata(text: string, file: string): ArchiveMetadata {
  checkTokens(text, file);
  const lineCounter = new LineCounter();
  // All scalars stay text: a commit of digits is not a number, and 19 digits of nanoseconds do not
  // fit into one.
  const document = parseDocument(text, {
    schema: "failsafe",
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
    lineCounter,
  });
  const [error] = document.errors;
  const root = document.contents;
  if (error || !isMap(root)) {
    const { line, col: column } = lineCounter.linePos(error?.pos[0] ?? 0);
    throw new ReportError({
      file,
      kind: "malformed",
      problem: `found invalid YAML (${error?.code ?? "no mapping"}), expected a mapping`,
      position: { line, column },
    });
  }
  const isNested = root.has("version") || root.has("git");
  const keys = METADATA_KEYS[isNested ? "nested" : "flat"];
  const at = (path: string) => path.split(".").reduce<unknown>(valueOf, root);
  const textAt = (path: string) => textOf(at(path));
  const repository = at(keys.repository);
  return {
    repository: isMap(repository)
      ? `${textOf(valueOf(repository, "owner"))}/${textOf(valueOf(repository, "name"))}`
      : textOf(repository),
    // `null`, as of an unset variable, is text that identifies no commit.
    commit: trimmed(at(keys.commit)),
    tree: textAt(keys.tree),
    branch: textAt(keys.branch),
    environment: textAt(keys.environment),
    job: textAt(keys.job),
    workflow: textAt(keys.workflow),
    shard: textAt(keys.shard),
    attempt: textAt(keys.attempt),
    runner: textAt(keys.runner),
    exitCode: textAt(keys.exitCode),
    buildUrl: textAt(keys.buildUrl),
    repositoryUrl: textAt(keys.repositoryUrl) ||
      (isNested ? "" : REPOSITORY_URL_KEYS.map(textAt).find((url) => url !== "") ?? ""),
    provider: textAt(PROVIDER_KEYS[isNested ? "nested" : "flat"]),
    tags: tagsOf(at(keys.tags)),
    timestamp: textAt(keys.recordedAt),
    // Only our own archives have these.
    organization: isNested ? textAt(ORGANIZATION_KEY) : "",
    checkoutFolder: isNested ? textAt(CHECKOUT_FOLDER_KEY) : "",
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
      `found ${excerpt(text)}, expected nanoseconds since 1970 or RFC 3339 with a zone`,
    );
  }
}

/** Looks at the tokens before anything is built from them: 321 bytes of aliases took 60 seconds. */
function checkTokens(text: string, file: string): void {
  let tokenCount = 0;
  let flowDepth = 0;
  let lineDepth = 0;
  let isScalar = false;
  for (const token of new Lexer().lex(text)) {
    if (++tokenCount > MAX_TOKENS) throw limitError(file, `more than ${MAX_TOKENS} YAML tokens`);
    if (!isScalar && /^[&*]/.test(token)) {
      throw limitError(file, "a YAML anchor or alias", "none");
    }
    if (!isScalar && /^[[{]$/.test(token)) flowDepth++;
    else if (!isScalar && /^[\]}]$/.test(token)) flowDepth--;
    else if (/^\r?\n/.test(token)) lineDepth = 0;
    else if (!isScalar && flowDepth <= 0 && /^[-?:]$/.test(token)) lineDepth++;
    if (flowDepth + lineDepth > MAX_DEPTH) {
      throw limitError(file, `more than ${MAX_DEPTH} YAML levels`);
    }
    isScalar = token === SCALAR_FOLLOWS;
  }
}

// Nodes instead of plain values: making these from keys that are mappings takes exponential time.
function valueOf(node: unknown, key: string): unknown {
  if (!isMap(node)) return undefined;
  return node.items.findLast((pair) => isScalar(pair.key) && pair.key.value === key)?.value;
}

function tagsOf(node: unknown): string[] {
  const texts = isSeq(node) ? node.items.map(textOf) : textOf(node).split(",");
  return texts.map((tag) => tag.trim()).filter((tag) => tag !== "");
}

function textOf(node: unknown): string {
  const text = trimmed(node);
  const isNull = isScalar(node) && node.type === "PLAIN" && /^(?:~|null|Null|NULL)$/.test(text);
  return isNull ? "" : text;
}

function trimmed(node: unknown): string {
  // An escape in quotes can be an unpaired surrogate, which is invalid in JSON of the database.
  return isScalar(node) && typeof node.value === "string" ? node.value.trim().toWellFormed() : "";
}
