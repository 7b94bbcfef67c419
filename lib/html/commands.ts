/** Command lines that run a test again, to copy. */
import type { TestIdentity } from "../base/identity.ts";
import { shellWord } from "../base/quote.ts";

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

/** The commands of common runners, each as its words, by file extension. */
const RUNNERS: readonly [RegExp, (test: TestIdentity) => string[][]][] = [
  [/\.py$/, (test) => [["python", "-m", "pytest", pytestId(test)]]],
  [/\.[cm]?[jt]sx?$/, ({ file, name }) => [
    ["npx", "vitest", "run", file, "-t", titlePattern(name)],
    ["npx", "jest", file, "-t", titlePattern(name)],
    ["npx", "playwright", "test", file, "-g", titlePattern(name)],
  ]],
  [/\.(java|kts?|groovy|scala)$/, ({ class: className, name }) => [
    ["mvn", "test", `-Dtest=${className}#${name}`],
    ["./gradlew", "test", "--tests", `${className}.${name}`],
  ]],
  [/\.go$/, ({ file, name }) => [
    ["go", "test", `./${file.replace(/[^/]*$/, "")}`, "-run", goPattern(name), "-count", "1"],
  ]],
  [/\.rb$/, ({ file, name }) => [["bundle", "exec", "rspec", file, "-e", name]]],
  [/\.rs$/, ({ name }) => [["cargo", "test", name]]],
  [/\.cs$/, ({ class: className, name }) => [
    ["dotnet", "test", "--filter", `FullyQualifiedName~${className}.${name}`],
  ]],
  [/\.php$/, ({ file, name }) => [["vendor/bin/phpunit", file, "--filter", pattern(name)]]],
];

/** Reports of Go name the package as the class, and no file. */
function isGoTest({ file, name }: TestIdentity): boolean {
  return file === "" && /^(Test|Fuzz|Example)(?![a-z])\w*(\/|$)/.test(name);
}

/** The commands that run a test again, by the language of its file; none if unknown. */
export function rerunCommands(test: TestIdentity): string[] {
  if (isGoTest(test) && test.class !== "") {
    const words = ["go", "test", test.class.replace(/^-/, "./-"), "-run", goPattern(test.name)];
    return [[...words, "-count", "1"].map(shellWord).join(" ")];
  }
  // A leading dash would make it an option.
  const file = test.file.replace(/^-/, "./-");
  const runner = RUNNERS.find(([ending]) => ending.test(file))?.[1];
  return (runner?.({ ...test, file }) ?? []).map((words) => words.map(shellWord).join(" "));
}
