/** The command line that runs a test again until it fails, to copy. */
import type { TestIdentity } from "../base/identity.ts";
import { shellWord } from "../base/quote.ts";

/** How often runners that repeat a test themselves do so. */
const REPEATS = 100;

/** Escapes a name for runners that read it as a regular expression. */
function pattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** Escapes a path likewise; a dot also matches itself. */
function pathPattern(path: string): string {
  return path.replaceAll(/[\\^$*+?()[\]{}|]/g, "\\$&");
}

/** Reports join the titles of a test with ` > ` or ` › `; the runners match them joined by spaces. */
function titlePattern(name: string): string {
  return pattern(name.replaceAll(/ [>›] /g, " "));
}

/**
 * A test of pytest by its id: `-k` takes an expression, which a name with parentheses is not. Of a
 * class `tests.test_cart.TestCart` the last parts that begin with a capital letter are classes, those
 * before the path of the file.
 */
function pytestId({ file, class: className, name }: TestIdentity): string {
  const classes = /(?:^|\.)((?:[A-Z]\w*\.)*[A-Z]\w*)$/.exec(className)?.[1] ?? "";
  const module = className.slice(0, className.length - classes.length).replace(/\.$/, "");
  const path = file || `${module.replaceAll(".", "/")}.py`;
  return [path, ...classes === "" ? [] : classes.split("."), name].join("::");
}

/** A method of Java, C# or Kotlin without its parameters: `adds(int)[2]` is `adds`. */
function methodName(name: string): string {
  return name.replace(/\s*[([].*$/s, "");
}

function playwrightWords({ file, class: className, name }: TestIdentity): string[] {
  const [, project, title = name] = /^\[([^\]]+)\] (.*)$/s.exec(name) ?? [];
  const only = project === undefined ? [] : [`--project=${project}`];
  const path = pathPattern(file || className);
  return ["npx", "playwright", "test", path, "-g", titlePattern(title), ...only, "--repeat-each"]
    .concat(String(REPEATS));
}

interface Runner {
  /** Whether tests of this identity are of its reports. The first runner that says so is taken. */
  has(test: TestIdentity): boolean;
  words(test: TestIdentity): string[];
  /** Whether it repeats the test itself. */
  repeats?: boolean;
}

const SCRIPT = /\.[cm]?[jt]sx?$/;
const METHOD = /^[a-z][\w$]*(\(.*\))?(\[.*\])?$/s;
const JAVA_CLASS = /^([\w$]+\.)*[A-Z][\w$]*$/;
const isOf = (ending: RegExp) => ({ file }: TestIdentity) => ending.test(file);

/** By what the reports of each tool have, and by the language of the file. */
const RUNNERS: readonly Runner[] = [
  {
    has: ({ file, name, class: className }) =>
      SCRIPT.test(file) && (className === file || name.includes(" > ")),
    words: ({ file, name }) => ["npx", "vitest", "run", file, "-t", titlePattern(name)],
  },
  {
    has: ({ file, class: className }) => file === "" && /^\.\/.*\.[cm]?[jt]sx?$/s.test(className),
    words: ({ class: path, name }) => ["deno", "test", "-A", path, "--filter", name],
  },
  {
    has: ({ file, name, class: className }) =>
      SCRIPT.test(file) && name.includes(" › ") || file === "" && SCRIPT.test(className),
    words: playwrightWords,
    repeats: true,
  },
  {
    has: ({ suite, file, name, class: className }) =>
      suite === "Root Suite" ||
      SCRIPT.test(file) && className !== "" && name !== className && name.endsWith(className),
    words: ({ file, name }) => ["npx", "mocha", ...file && [file], "-g", pattern(name)],
  },
  {
    has: ({ suite, file, class: className }) =>
      SCRIPT.test(file) && suite !== "" && (suite === className || suite === file),
    words: ({ file, name }) => ["bun", "test", file, "-t", pattern(name)],
  },
  {
    // Jest finds only files that end with `.test.ts` or `.spec.ts`, and folders `__tests__`.
    has: ({ file }) => /(^|\/)[^/]*_test\.[cm]?[jt]sx?$/.test(file) && !file.includes("__tests__/"),
    words: ({ file, name }) => ["deno", "test", "-A", file, "--filter", name],
  },
  {
    has: ({ file, name, class: className }) =>
      SCRIPT.test(file) || file === "" && name === className && name.includes(" "),
    words: (
      { file, name },
    ) => ["npx", "jest", ...file && [pathPattern(file)], "-t", titlePattern(name)],
  },
  {
    has: ({ suite, file, class: className }) =>
      /\.py$/.test(file) || file === "" && suite === "pytest" && /^[\w.]+$/.test(className),
    words: (test) => ["python", "-m", "pytest", pytestId(test)],
  },
  {
    // Reports of Go name the package as the class, and no file.
    has: ({ file, name, class: className }) =>
      file === "" && className !== "" && /^(Test|Fuzz|Example)(?![a-z])\w*(\/|$)/.test(name),
    words: ({ class: path, name }) => goWords(path.replace(/^-/, "./-"), name),
    repeats: true,
  },
  {
    has: isOf(/\.go$/),
    words: ({ file, name }) => goWords(`./${file.replace(/[^/]*$/, "")}`, name),
    repeats: true,
  },
  {
    // Gradle writes the method with its parentheses, Maven without. Without --rerun it would not run it twice.
    has: ({ file, name, class: className }) =>
      /\.kts?$/.test(file) || JAVA_CLASS.test(className) && /^[a-z].*\(\)$/s.test(name),
    words: (
      { class: className, name },
    ) => ["./gradlew", "test", "--rerun", "--tests", `${className}.${methodName(name)}`],
  },
  {
    has: ({ suite, file, name, class: className }) =>
      /\.(java|groovy|scala)$/.test(file) ||
      file === "" && suite === className && JAVA_CLASS.test(className) && METHOD.test(name),
    words: (
      { class: className, name },
    ) => ["mvn", "test", `-Dtest=${className}#${methodName(name)}`],
  },
  {
    has: ({ suite, file, name, class: className }) =>
      /\.(cs|fs|vb)$/.test(file) || suite.endsWith(".dll") ||
      file === "" && suite === className && JAVA_CLASS.test(className) && /^[A-Z]\w*$/.test(name),
    words: (
      { class: className, name },
    ) => ["dotnet", "test", "--filter", `FullyQualifiedName~${className}.${methodName(name)}`],
  },
  {
    has: ({ suite, file, name }) =>
      /\.rb$/.test(file) && !/^rspec/.test(suite) && /^test_/.test(name),
    words: ({ file, name }) => ["bundle", "exec", "ruby", "-Itest", file, "-n", name],
  },
  { has: isOf(/\.rb$/), words: ({ file, name }) => ["bundle", "exec", "rspec", file, "-e", name] },
  {
    has: ({ suite, file, name, class: className }) =>
      /\.rs$/.test(file) ||
      file === "" && suite === className && /^[a-z]\w*(-\w+)*::/.test(className) &&
        /^[\w:]+$/.test(name),
    words: ({ name }) => ["cargo", "test", name, "--", "--exact"],
  },
  {
    has: isOf(/\.php$/),
    words: ({ file, name }) => ["vendor/bin/phpunit", file, "--filter", pattern(name)],
  },
  {
    has: isOf(/\.exs$/),
    words: ({ file, name }) => ["mix", "test", file, "--only", `test:${name}`],
  },
];

function goWords(path: string, name: string): string[] {
  return [
    "go",
    "test",
    path,
    "-run",
    name.split("/").map((part) => `^${pattern(part)}$`).join("/"),
    `-count=${REPEATS}`,
  ];
}

/**
 * The command line that runs a test until it fails, with the runner that wrote its reports as far as
 * they show it, by names alone; `null` if it is unknown.
 */
export function rerunCommand(test: TestIdentity): string | null {
  // A leading dash would make it an option.
  const named = { ...test, file: test.file.replace(/^-/, "./-") };
  const runner = RUNNERS.find(({ has }) => has(named));
  if (!runner) return null;
  const line = runner.words(named).map(shellWord).join(" ");
  return runner.repeats ? line : `while ${line}; do :; done`;
}
