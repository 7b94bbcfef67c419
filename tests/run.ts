/**
 * `deno task test [FILES]` runs `deno test` with the packages of the tests. `deno task test --changed`
 * runs those tests only that belong to what differs from `main`: changed tests, tests that import a
 * changed file, and the tests that mirror it or that its first line names.
 */
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { groupsOf, testFiles, writeGroups } from "./groups.ts";
import { imports } from "./import_graph.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The files that take longest, which start first: at the end they would run alone. */
const LONGEST = [
  "tests/docs/guides_test.ts",
  "tests/property_embedded_test.ts",
  "tests/e2e/pages_test.ts",
  "tests/e2e/bundle_test.ts",
  "tests/property_server_test.ts",
  "tests/deploy/ci_test.ts",
  "tests/e2e/telemetry_end_test.ts",
  "tests/deploy/ci_ways_test.ts",
  "tests/e2e/up_test.ts",
  "tests/lib/cli/commands/watch_test.ts",
  "tests/lib/webhook_sender/send_webhooks_test.ts",
];

/** Whether generated files are what they would be now. */
const GENERATED = "tests/tools/documentation/main_test.ts";

/** Documents are checked together. */
const DOCUMENTS = ["tests/docs", "tests/readme_test.ts"];

function git(...args: string[]): string[] {
  const { success, stdout, stderr } = new Deno.Command("git", { args, cwd: ROOT }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
}

/** What differs from the branch `main`, files that are not added yet included. */
function changedFiles(): string[] {
  const [base = "HEAD"] = git("merge-base", "main", "HEAD");
  return [
    ...git("diff", "--name-only", base),
    ...git("ls-files", "--others", "--exclude-standard"),
  ];
}

/** The test that mirrors a file of the program. */
export function mirrorOf(file: string): string {
  return `tests/${file.replace(/\.ts$/, "_test.ts")}`;
}

/** The tests that the first line of a file names: `// Tests: tests/a_test.ts tests/b_test.ts`. */
export function namedTests(text: string): string[] {
  const [, names = ""] = /^\/\/ Tests: (.+)$/m.exec(text.split("\n", 1)[0]!) ?? [];
  return names.split(" ").filter((name) => name !== "");
}

/** The tests that belong to changed files. `graph` has the imports of each file. */
export function testsOf(changed: readonly string[], graph: Map<string, string[]>): string[] {
  const isTest = (file: string) => file.endsWith("_test.ts");
  // What tests share passes a change on; the program does not, or nearly all tests would run.
  const affected = new Set(changed);
  for (const file of affected) {
    for (const [importer, imported] of graph) {
      if (importer.startsWith("tests/") && imported.includes(file)) affected.add(importer);
    }
  }
  const found = new Set([...affected].filter((file) => isTest(file) && graph.has(file)));
  for (const file of changed) {
    if (graph.has(mirrorOf(file))) found.add(mirrorOf(file));
    if (file.endsWith(".md")) DOCUMENTS.forEach((one) => found.add(one));
    if (file.endsWith(".ts") && existsSync(ROOT + file)) {
      namedTests(readFileSync(ROOT + file, "utf8")).forEach((one) => found.add(one));
    }
  }
  if (changed.some((file) => file.endsWith(".ts"))) found.add("tests/architecture_test.ts");
  // What is generated from documents, routes and tools.
  if (changed.length > 0) found.add(GENERATED);
  return [...found].sort();
}

/** @returns the exit code */
async function main(args: string[]): Promise<number> {
  const rest = args.filter((arg) => arg !== "--changed");
  const files = rest.length < args.length ? testsOf(changedFiles(), imports()) : [];
  if (rest.length < args.length) {
    process.stderr.write(files.map((file) => `${file}\n`).join("") || "nothing has changed\n");
    if (files.length === 0) return 0;
  }
  const isAll = [...rest, ...files].every((arg) => arg.startsWith("-"));
  let child: Deno.ChildProcess;
  // Nothing waits between here and the start of the child: it always ends, and the folder is removed.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => child.kill(signal));
  }
  const folder = Deno.makeTempDirSync({ prefix: "test-analytics-groups-" });
  try {
    const all = isAll ? writeGroups(allGroups(), folder) : [];
    child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["test", "-A", "--parallel", "--config", `${ROOT}tests/deno.json`],
        ...[...rest, ...files, ...all],
      ],
      // Each process compiles the embedded database again: compiling it well takes longer than a test. Several
      // processes at a time use the cores already, without threads that collect garbage.
      env: { DENO_V8_FLAGS: process.env.DENO_V8_FLAGS ?? "--liftoff-only,--single-threaded-gc" },
    }).spawn();
    return (await child.status).code;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/**
 * All tests, those that take longest first: two groups that compute, then one that waits for processes and
 * timeouts. Those that wait, at the same time, would leave the cores idle.
 */
export function allGroups(): string[][] {
  const others = testFiles().filter((file) => !LONGEST.includes(file));
  const groups = [...LONGEST.map((file) => [file]), ...groupsOf(others)];
  const isWaiting = ([file = ""]: string[]) => /^tests\/(e2e|deploy)\//.test(file);
  const waiting = groups.filter(isWaiting);
  const computing = groups.filter((group) => !isWaiting(group));
  const ordered: string[][] = [];
  while (ordered.length < groups.length) {
    ordered.push(...computing.splice(0, 2), ...waiting.splice(0, 1));
  }
  return ordered;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
