/**
 * The folder of a checkout that the paths in a report begin at. In a monorepo, tools write the paths of a
 * package: `src/App.test.tsx` is `apps/admin/src/App.test.tsx` of the repository.
 */
import { realpath, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { readHead } from "./file_head.ts";

const MAX_CHARACTERS = 500;
const MAX_FILES = 20;

/**
 * A folder inside of a checkout, without `./` in front and a slash at the end; `""` for its root.
 *
 * @throws {SyntaxError | RangeError} when it leads elsewhere, or is too long
 */
export function readPathPrefix(text: string): string {
  const prefix = text.trim().replaceAll("\\", "/").replace(/^(?:\.\/+)+/, "").replace(/\/+$/, "");
  if (prefix === "" || prefix === ".") return "";
  if (prefix.length > MAX_CHARACTERS) {
    throw new RangeError(`${prefix.length} characters: expected at most ${MAX_CHARACTERS}`);
  }
  const isOutside = /^(?:\/|[A-Za-z]:)/.test(prefix) || prefix.split("/").includes("..");
  if (isOutside || /\p{Cc}/u.test(prefix)) {
    throw new SyntaxError("expected a folder inside of the checkout, such as packages/app");
  }
  return prefix;
}

/** The path of a test's file from the top of the repository. */
export function withPrefix(file: string, prefix: string): string {
  if (prefix === "" || file === "" || /^(?:[\\/]|.:|\.\.\/)/s.test(file)) return file;
  return file.startsWith(`${prefix}/`) ? file : `${prefix}/${file}`;
}

/**
 * Finds the prefix of a report below a folder of the checkout: of its first files that decides which does not
 * exist from the top of the checkout, but from a folder above the report. `deploy/ci/upload.sh` does the same.
 *
 * @param checkoutFolder `""` when unknown
 */
export async function findPathPrefix(report: string, checkoutFolder: string): Promise<string> {
  if (checkoutFolder === "") return "";
  try {
    const [top, folder] = await Promise.all(
      [checkoutFolder, dirname(report)].map((path) => realpath(path)),
    );
    const below = relative(top!, folder!).replaceAll("\\", "/");
    if (below === "" || /^(?:\.\.(?:\/|$)|\/|[A-Za-z]:)/.test(below)) return "";
    const segments = below.split("/");
    for (const file of await firstFiles(report)) {
      if (await exists(join(top!, file))) return "";
      for (let depth = segments.length; depth > 0; depth--) {
        const prefix = segments.slice(0, depth).join("/");
        if (await exists(join(top!, prefix, file))) return readPathPrefix(prefix);
      }
    }
  } catch {
    // A pipe, or a checkout that cannot be read: its paths stay as they are.
  }
  return "";
}

/** The relative paths of the first files that a report in XML names. */
async function firstFiles(report: string): Promise<string[]> {
  if (!(await stat(report)).isFile()) return [];
  const text = new TextDecoder().decode(await readHead(report));
  const files = [...text.matchAll(/\sfile="([^"&]+)"/g)].slice(0, MAX_FILES)
    .map(([, file = ""]) => file.replaceAll("\\", "/").replace(/^(?:\.\/+)+/, ""));
  return files.filter((file) => !/^(?:\/|[A-Za-z]:|\.\.\/)/.test(file));
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(() => true, () => false);
}

/** A prefix of the reports below a folder of an archive. */
export interface FolderPrefix {
  /** `""` for all reports. */
  folder: string;
  prefix: string;
}

/** Lines of folder and prefix, as an archive has them. */
export function formatPathPrefixes(prefixes: readonly FolderPrefix[]): string {
  return prefixes.map(({ folder, prefix }) => `${folder}\t${prefix}\n`).join("");
}

/** Reads the lines of {@linkcode formatPathPrefixes}; invalid ones are ignored. */
export function parsePathPrefixes(text: string): FolderPrefix[] {
  return text.split("\n").flatMap((line) => {
    const [folder, given, ...more] = line.split("\t");
    if (folder === undefined || given === undefined || more.length > 0) return [];
    try {
      return [{ folder, prefix: readPathPrefix(given) }];
    } catch {
      return [];
    }
  });
}

/** The prefix of a report: the prefix of the deepest folder that it is in. */
export function prefixOf(path: string, prefixes: readonly FolderPrefix[]): string {
  let found: FolderPrefix | undefined;
  for (const one of prefixes) {
    const isInside = one.folder === "" || path.startsWith(`${one.folder}/`);
    if (isInside && (!found || one.folder.length > found.folder.length)) found = one;
  }
  return found?.prefix ?? "";
}
