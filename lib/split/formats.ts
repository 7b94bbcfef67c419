/** Shares as arguments of test runners. */
import { posix } from "node:path";
import type { DurationUnit } from "../analysis/durations.ts";

/** Formats of a share. */
export const SPLIT_FORMATS = [
  "lines",
  "pytest",
  "jest",
  "vitest",
  "rspec",
  "go",
  "gradle",
  "maven",
] as const;

type SplitFormat = typeof SPLIT_FORMATS[number];

type Arguments = (names: readonly string[]) => string[];

/** No path looks like an option. */
const PATHS: Arguments = (names) => names.map((name) => name.startsWith("-") ? `./${name}` : name);

/** The classes in files, each once: modules may have equal ones. */
const classesOf = (
  files: readonly string[],
  prefix: string,
) => [...new Set(files.map((file) => classOf(file, prefix)))];

/** The arguments by what is split; what is missing, the runner cannot select. */
const ARGUMENTS: Record<
  Exclude<SplitFormat, "lines">,
  Partial<Record<DurationUnit, Arguments>>
> = {
  pytest: { file: PATHS, test: PATHS },
  // Otherwise paths are regular expressions that also match others.
  jest: { file: (names) => ["--runTestsByPath", ...PATHS(names)] },
  vitest: { file: PATHS },
  rspec: { file: PATHS, test: PATHS },
  go: {
    file: (names) => PATHS([...new Set(names.map(packageOf))]),
    // Within parentheses go does not look for subtests: they run with their test.
    test: (names) => ["-run", `^(${[...new Set(names.map(testOf))].join("|")})$`],
  },
  gradle: {
    file: (names) => classesOf(names, "*.").flatMap((name) => ["--tests", name]),
    class: (names) => names.flatMap((name) => ["--tests", name]),
    test: (names) => names.flatMap((name) => ["--tests", name]),
  },
  maven: {
    file: (names) => [`-Dtest=${classesOf(names, "").join()}`],
    class: (names) => [`-Dtest=${names.join()}`],
    test: (names) => [`-Dtest=${names.join()}`],
  },
};

/**
 * A share for the runner: a name per line, or arguments in one line; `""` for an empty share.
 *
 * @throws {RangeError} when the runner cannot select such items, or a name has white space
 */
export function formatShare(
  names: readonly string[],
  { format, by }: { format: SplitFormat; by: DurationUnit },
): string {
  if (format === "lines") return names.map((name) => `${name}\n`).join("");
  const toArguments = ARGUMENTS[format][by];
  if (!toArguments) {
    const possible = Object.keys(ARGUMENTS[format]).join(" or ");
    throw new RangeError(`--format ${format} cannot select by ${by}: expected --by ${possible}`);
  }
  const spaced = names.find((name) => /\s/.test(name));
  if (spaced !== undefined) {
    throw new RangeError(
      `"${spaced}" has white space, which a shell would split: expected --format lines, which ` +
        "`mapfile -t` of Bash reads",
    );
  }
  return names.length === 0 ? "" : `${toArguments(names).join(" ")}\n`;
}

/** The regular expression of a test of Go, or of that of a subtest such as `TestCart/adds`. */
function testOf(name: string): string {
  const [test = ""] = name.split("/", 1);
  return test.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/**
 * The package of a Go source file, as the path of its folder, because `go test` rejects files of several packages. Any
 * other name is a package already.
 */
function packageOf(name: string): string {
  const path = name.replaceAll("\\", "/");
  if (!path.endsWith(".go")) return name;
  const folder = posix.dirname(path);
  return /^(?:\/|\.{1,2}(?:\/|$))/.test(folder) ? folder : `./${folder}`;
}

/** The class in a source file of the JVM: the path below the folder of its language, otherwise its name. */
function classOf(file: string, prefix: string): string {
  const path = file.replaceAll("\\", "/").replace(/\.[^./]*$/, "");
  const below = /(?:^|\/)(?:java|kotlin|groovy|scala)\/(.+)$/.exec(path)?.[1];
  return below ? below.replaceAll("/", ".") : prefix + path.slice(path.lastIndexOf("/") + 1);
}
