/**
 * The `buildpulse.yml` of an archive: what a reporter in the CI job knew of the run.
 *
 * Two forms are in use: flat, with keys that begin with a colon, and nested, which says its version.
 * Only the keys named here are looked at. Others can hold secrets of the CI provider, so neither
 * they nor any line of the file are quoted in errors.
 */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type YAMLMap,
} from "yaml";
import { parseTimestamp } from "../../base/time.ts";
import { quote, ReportError } from "../report_error.ts";

/** What an archive says of the run it comes from, unchecked; `""` where it says nothing. */
export interface ArchiveMetadata {
  /** `OWNER/NAME`. */
  repository: string;
  commit: string;
  tree: string;
  branch: string;
  buildUrl: string;
  /** Without empty ones. */
  tags: string[];
  /** Seconds since 1970, fractions cut. */
  recordedAt: number | null;
  /** Where the repository was checked out in the CI job. */
  checkoutFolder: string;
}

/** What each fact is called in the two forms, for reading and for error messages. */
export const METADATA_KEYS = {
  flat: {
    repository: ":repo_name_with_owner",
    commit: ":commit",
    tree: ":tree",
    branch: ":branch",
    buildUrl: ":build_url",
    tags: ":tags",
    recordedAt: ":timestamp",
  },
  nested: {
    repository: "git.repository",
    commit: "git.commit",
    tree: "git.tree",
    branch: "git.branch",
    buildUrl: "ci.build_url",
    tags: "tags",
    recordedAt: "timestamp",
  },
} as const;

const CHECKOUT_FOLDER_KEY = "git.checkout_folder";

const NANOSECONDS = 1_000_000_000n;
// A year of four digits has at most 21.
const MAX_NANOSECOND_DIGITS = 22;

/**
 * Reads either form. Of a key that stands there twice the last counts, as in the parsers of Ruby
 * and Go that these files are written for.
 *
 * @param file what errors call it
 * @throws {ReportError} `malformed`
 */
export function parseMetadata(text: string, file: string): ArchiveMetadata {
  const lines = new LineCounter();
  // All scalars stay text: a commit of digits alone is no number, and 19 digits of nanoseconds
  // do not fit one.
  const document = parseYaml(text, lines, file);
  const [error] = document.errors;
  if (error) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new ReportError({
      file,
      kind: "malformed",
      problem: `found no valid YAML (${error.code}), expected a mapping`,
      position: { line, column: col },
    });
  }
  const read = (node: unknown): unknown => isAlias(node) ? node.resolve(document) : node;
  const root = document.contents;
  if (!isMap(root)) throw malformed(file, "found no mapping, expected one");

  const get = (map: unknown, key: string): unknown => {
    const resolved = read(map);
    if (!isMap(resolved)) return undefined;
    const pair = resolved.items.findLast((pair) => isScalar(pair.key) && pair.key.value === key);
    return read(pair?.value);
  };
  const texts = (node: unknown): string[] => {
    if (isSeq(node)) return node.items.map((item) => scalarText(read(item)));
    return scalarText(node).split(",");
  };
  const form = isNested(root) ? "nested" : "flat";
  if (form === "nested") checkVersion(scalarText(get(root, "version")), file);
  const at = (path: string): unknown =>
    (form === "flat" ? [path] : path.split(".")).reduce<unknown>(
      (node, key) => get(node, key),
      root,
    );

  const keys = METADATA_KEYS[form];
  const repository = at(keys.repository);
  return {
    repository: isMap(repository)
      ? `${scalarText(get(repository, "owner"))}/${scalarText(get(repository, "name"))}`
      : scalarText(repository),
    commit: scalarText(at(keys.commit)),
    tree: scalarText(at(keys.tree)),
    branch: scalarText(at(keys.branch)),
    buildUrl: scalarText(at(keys.buildUrl)),
    tags: texts(at(keys.tags)).map((tag) => tag.trim()).filter((tag) => tag !== ""),
    recordedAt: readMoment(scalarText(at(keys.recordedAt)), file),
    // Our own: no other reporter tells it.
    checkoutFolder: form === "nested" ? scalarText(at(CHECKOUT_FOLDER_KEY)) : "",
  };
}

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
    throw malformed(file, "found YAML that is nested too deeply, expected a flat mapping");
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
  if (!isScalar(node) || typeof node.value !== "string") return "";
  const isNull = node.type === "PLAIN" && /^(~|null|Null|NULL)$/.test(node.value);
  return isNull ? "" : node.value.trim();
}

/** Nanoseconds since 1970, or RFC 3339. */
function readMoment(text: string, file: string): number | null {
  if (text === "") return null;
  if (/^\d+$/.test(text) && text.length <= MAX_NANOSECOND_DIGITS) {
    return Number(BigInt(text) / NANOSECONDS);
  }
  try {
    return parseTimestamp(text);
  } catch {
    throw malformed(
      file,
      `found the time stamp ${
        quote(text)
      }, expected nanoseconds since 1970 or RFC 3339 with a zone`,
    );
  }
}

function malformed(file: string, problem: string): ReportError {
  return new ReportError({ file, kind: "malformed", problem });
}
