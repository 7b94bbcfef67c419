/** Command lines to copy. */
import type { TestIdentity } from "../base/identity.ts";

/** A word as a POSIX shell reads it, whatever is in it. */
export function shellQuote(text: string): string {
  return /^[\w./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The command that quarantines a test. */
export function quarantineCommand(testId: string): string {
  return `test-analytics quarantine add ${testId} --by "$USER" --owner WHO --reason WHY --expires 30d`;
}

type Runner = (test: TestIdentity) => string[];

const quoted = (...words: string[]) => words.map(shellQuote).join(" ");

/** By the end of the file's name. */
const RUNNERS: readonly [RegExp, Runner][] = [
  [/\.py$/, ({ file, name }) => [quoted("python", "-m", "pytest", file, "-k", name)]],
  [/\.[cm]?[jt]sx?$/, ({ file, name }) => [
    quoted("npx", "vitest", "run", file, "-t", name),
    quoted("npx", "jest", file, "-t", name),
    quoted("npx", "playwright", "test", file, "-g", name),
  ]],
  [/\.(java|kt|kts|groovy|scala)$/, ({ class: className, name }) => [
    quoted("mvn", "test", `-Dtest=${className}#${name}`),
    quoted("./gradlew", "test", "--tests", `${className}.${name}`),
  ]],
  [/\.go$/, ({ file, name }) => [
    quoted("go", "test", `./${file.replace(/[^/]*$/, "")}`, "-run", `^${name}$`, "-count", "1"),
  ]],
  [/\.rb$/, ({ file, name }) => [quoted("bundle", "exec", "rspec", file, "-e", name)]],
  [/\.rs$/, ({ name }) => [quoted("cargo", "test", name)]],
  [/\.(cs|fs|vb)$/, ({ class: className, name }) => [
    quoted("dotnet", "test", "--filter", `FullyQualifiedName~${className}.${name}`),
  ]],
  [/\.php$/, ({ file, name }) => [quoted("vendor/bin/phpunit", file, "--filter", name)]],
];

/** Commands of common runners for the language of the file; none when it is not known. */
export function rerunCommands(test: TestIdentity): string[] {
  // No option.
  const file = test.file.replace(/^-/, "./-");
  return RUNNERS.find(([pattern]) => pattern.test(file))?.[1]({ ...test, file }) ?? [];
}
