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

/** Not more, so that no group is left over at the end while the other cores have nothing to do. */
const GROUP_SIZE = 8;

/** Files elsewhere start processes most of the time. */
const GROUPED = /^tests\/(db|routes|lib)\//;

/** Hooks outside of a `describe`, memory and arguments belong to all files of an isolate. */
const ALONE = /^(before|after)(Each)?\(|memoryUsage|Deno\.args/m;

/** Projects whose tests are run by other tools. */
const PROJECTS = "tests/laboratory/projects/";

/** All files of tests in a folder, as paths from the root of the checkout. */
export function testFiles(folder = "tests"): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith("_test.ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((path) => !path.startsWith(PROJECTS))
    .sort();
}

/** The files as groups, in the order in which they start: those that run alone come first. */
export function groupsOf(
  files: readonly string[],
  textOf: (file: string) => string = (file) => readFileSync(join(ROOT, file), "utf8"),
): string[][] {
  const alone: string[][] = [];
  const folders = new Map<string, string[]>();
  for (const file of files) {
    const [, folder] = GROUPED.exec(file) ?? [];
    if (folder === undefined || ALONE.test(textOf(file))) alone.push([file]);
    else folders.set(folder, [...folders.get(folder) ?? [], file]);
  }
  const groups = ["db", "routes", "lib"].flatMap((folder) => chunks(folders.get(folder) ?? []));
  return [...alone, ...groups];
}

function chunks(files: string[]): string[][] {
  const count = Math.ceil(files.length / GROUP_SIZE);
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
