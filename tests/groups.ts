// Tests: tests/run_test.ts
/**
 * `deno test` loads each file in an isolate of its own: the modules of the program are compiled again for each,
 * 0.3 to 0.5 s of processor time. Files that share an isolate load them once: 50 files of `tests/routes`
 * took 28 s before their first test, together 1.3 s.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * Folders whose files share an isolate, in the order in which they start, and how many files at most: few
 * where they take long, so that no group is left over at the end while the other cores have nothing to do.
 */
const GROUP_SIZES = { e2e: 3, deploy: 3, docs: 12, tools: 12, db: 8, routes: 12, lib: 14 };

/**
 * Hooks outside of a `describe`, memory and arguments belong to all files of an isolate. An `afterEach` only
 * closes what tests of its file have opened.
 */
const ALONE = /^(before(Each)?|after)\(|memoryUsage|Deno\.args/m;

/** All files of tests in a folder, as paths from the root of the checkout. */
export function testFiles(folder = "tests"): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith("_test.ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .sort();
}

/** The files as groups, in the order in which they start: those that run alone, most of them short, come last. */
export function groupsOf(
  files: readonly string[],
  textOf: (file: string) => string = (file) => readFileSync(join(ROOT, file), "utf8"),
): string[][] {
  const shared = Object.entries(GROUP_SIZES).map(([folder, size]) => {
    const isShared = (file: string) =>
      file.startsWith(`tests/${folder}/`) && !ALONE.test(textOf(file));
    return chunks(files.filter(isShared), size);
  }).flat();
  const alone = files.filter((file) => !shared.flat().includes(file));
  return [...shared, ...alone.map((file) => [file])];
}

function chunks(files: string[], size: number): string[][] {
  const count = Math.ceil(files.length / size);
  return Array.from(
    { length: count },
    (_, index) => files.filter((_, position) => position % count === index),
  );
}

/**
 * Writes a module for each group. `deno test` starts files of one folder in the given order, but those of the
 * folder with the longest path first. @returns what it runs
 */
export function writeGroups(groups: readonly string[][], folder: string): string[] {
  return groups.map((files, index) => {
    const [, name = ""] = /^tests\/(.*)_test\.ts$/.exec(files[0]!) ?? [];
    const label = files.length === 1 ? name.replaceAll("/", "_") : `group_of_${name.split("/")[0]}`;
    const path = join(folder, `${index}_${label}_test.ts`);
    const lines = files.map((file) => `import "${pathToFileURL(join(ROOT, file)).href}";\n`);
    Deno.writeTextFileSync(path, lines.join(""));
    return path;
  });
}
