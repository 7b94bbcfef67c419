/** Command lines to copy. */
import type { TestIdentity } from "../base/identity.ts";
import { shellWord } from "../base/quote.ts";

/** The command that quarantines a test. */
export function quarantineCommand(testId: string): string {
  return `test-analytics quarantine add ${testId} --by "$USER" --owner WHO --reason WHY --expires 30d`;
}

type Runner = (test: TestIdentity) => string[];

const quoted = (...words: string[]) => words.map(shellWord).join(" ");

/** Escapes a name for runners that read it as a regular expression. */
function pattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** Reports join the titles of a test with ` > ` or ` › `; the runners match them joined by spaces. */
function titlePattern(name: string): string {
  return pattern(name.replaceAll(/ [>›] /g, " "));
}

/**
 * A test of pytest by its id: `-k` takes an expression, which a name with parentheses is not. Of a
 * class `tests.test_cart.TestCart` the last parts that begin with a capital letter are classes.
 */
function pytestId({ file, class: className, name }: TestIdentity): string {
  const classes = /(?:^|\.)((?:[A-Z]\w*\.)*[A-Z]\w*)$/.exec(className)?.[1]?.split(".") ?? [];
  return [file, ...classes, name].join("::");
}

/** Go matches each part between slashes separately. */
function goPattern(name: string): string {
  return name.split("/").map((part) => `^${pattern(part)}$`).join("/");
}

/** By file extension. */
const RUNNERS: readonly [RegExp, Runner][] = [
  [/\.py$/, (test) => [quoted("python", "-m", "pytest", pytestId(test))]],
  [/\.[cm]?[jt]sx?$/, ({ file, name }) => [
    quoted("npx", "vitest", "run", file, "-t", titlePattern(name)),
    quoted("npx", "jest", file, "-t", titlePattern(name)),
    quoted("npx", "playwright", "test", file, "-g", titlePattern(name)),
  ]],
  [/\.(java|kt|kts|groovy|scala)$/, ({ class: className, name }) => [
    quoted("mvn", "test", `-Dtest=${className}#${name}`),
    quoted("./gradlew", "test", "--tests", `${className}.${name}`),
  ]],
  [/\.go$/, ({ file, name }) => [
    quoted("go", "test", `./${file.replace(/[^/]*$/, "")}`, "-run", goPattern(name), "-count", "1"),
  ]],
  [/\.rb$/, ({ file, name }) => [quoted("bundle", "exec", "rspec", file, "-e", name)]],
  [/\.rs$/, ({ name }) => [quoted("cargo", "test", name)]],
  [/\.(cs|fs|vb)$/, ({ class: className, name }) => [
    quoted("dotnet", "test", "--filter", `FullyQualifiedName~${className}.${name}`),
  ]],
  [/\.php$/, ({ file, name }) => [quoted("vendor/bin/phpunit", file, "--filter", pattern(name))]],
];

/** Commands of common runners for the language of the test's file; none if unknown. */
export function rerunCommands(test: TestIdentity): string[] {
  // A leading dash would make it an option.
  const file = test.file.replace(/^-/, "./-");
  return RUNNERS.find(([ending]) => ending.test(file))?.[1]({ ...test, file }) ?? [];
}
